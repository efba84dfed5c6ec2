package main

import (
	"net"
	"path/filepath"
	"strings"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/encoding/protowire"
)

// protoField appends a field that holds bytes, a text or another message, to a message in the protobuf encoding.
func protoField(m []byte, n protowire.Number, v []byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(m, n, protowire.BytesType), v)
}

// kubeletThatLists listens on a unix socket as a kubelet does, and answers List with a message.
func kubeletThatLists(t *testing.T, list []byte) (socket string) {
	t.Helper()
	socket = filepath.Join(t.TempDir(), "kubelet.sock")
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	server := grpc.NewServer(grpc.ForceServerCodecV2(bytesAsTheyAre{}), grpc.UnknownServiceHandler(func(_ any, s grpc.ServerStream) error {
		var asked []byte
		if err := s.RecvMsg(&asked); err != nil {
			return err
		}
		if method, _ := grpc.MethodFromServerStream(s); strings.HasSuffix(method, "/List") {
			return s.SendMsg(list)
		}
		return s.SendMsg([]byte(nil))
	}))
	go func() { _ = server.Serve(l) }()
	t.Cleanup(server.Stop)
	return socket
}

// bytesAsTheyAre is a codec of messages that are bytes already.
type bytesAsTheyAre struct{}

func (bytesAsTheyAre) Name() string { return "proto" }

func (bytesAsTheyAre) Marshal(v any) (mem.BufferSlice, error) {
	return mem.BufferSlice{mem.SliceBuffer(v.([]byte))}, nil
}

func (bytesAsTheyAre) Unmarshal(data mem.BufferSlice, v any) error {
	*v.(*[]byte) = data.Materialize()
	return nil
}
