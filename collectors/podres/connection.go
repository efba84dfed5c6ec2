package podres

import (
	"context"
	"errors"
	"net"
	"os"
	"sync/atomic"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/mem"
)

// The methods of the kubelet's pod-resources v1, which it has since 1.20. Newer ones have Get too, which asks for one pod.
const (
	listMethod        = "/v1.PodResourcesLister/List"
	allocatableMethod = "/v1.PodResourcesLister/GetAllocatableResources"
)

// maxReply is what the kubelet's own clients allow: the answer tells every device of every pod, and exceeds gRPC's 4 MiB
// on a busy node.
const maxReply = 16 << 20 // bytes

// connection is one connection to one socket. It never connects anew: gRPC would, but after delays of its own and without
// telling the errors of the system apart.
type connection struct {
	path   string
	socket os.FileInfo
	raw    net.Conn
	client *grpc.ClientConn
}

var errSpent = errors.New("the connection has ended")

func dial(ctx context.Context, path string) (*connection, error) {
	socket, err := lookAt(path)
	if err != nil {
		return nil, err
	}
	raw, err := new(net.Dialer).DialContext(ctx, "unix", path)
	if err != nil {
		return nil, err
	}
	var spent atomic.Bool
	client, err := grpc.NewClient("passthrough:///localhost",
		grpc.WithContextDialer(func(context.Context, string) (net.Conn, error) {
			if spent.Swap(true) {
				return nil, errSpent
			}
			return raw, nil
		}),
		grpc.WithTransportCredentials(insecure.NewCredentials()), // a socket of the node, whose file says who may
		grpc.WithUserAgent("goodput-exporter"),
		grpc.WithDisableServiceConfig(), grpc.WithDisableRetry(), grpc.WithIdleTimeout(0),
		grpc.WithDefaultCallOptions(grpc.ForceCodecV2(bytesCodec{}), grpc.MaxCallRecvMsgSize(maxReply)),
	)
	if err != nil {
		raw.Close()
		return nil, err
	}
	return &connection{path: path, socket: socket, raw: raw, client: client}, nil
}

func (c *connection) current() bool { return same(c.path, c.socket) }

// call hands over the answer's bytes, which are valid until take returns.
func (c *connection) call(ctx context.Context, method string, take func(reply []byte) error) *failure {
	var r reply
	if err := c.client.Invoke(ctx, method, request{}, &r); err != nil {
		return explainCall(c.path, method, err)
	}
	defer r.buffer.Free()
	if err := take(r.buffer.ReadOnlyData()); err != nil {
		return explainReply(c.path, method, err)
	}
	return nil
}

func (c *connection) close() {
	c.client.Close()
	c.raw.Close() // gRPC closes it, unless it was never asked for it
}

// request is the message of both methods: it has no fields.
type request struct{}

// reply is an answer as bytes, which are gRPC's until they are freed.
type reply struct{ buffer mem.Buffer }

// bytesCodec leaves answers as they are: of a large one, little is read.
type bytesCodec struct{}

func (bytesCodec) Name() string { return "proto" }

func (bytesCodec) Marshal(any) (mem.BufferSlice, error) { return nil, nil }

func (bytesCodec) Unmarshal(data mem.BufferSlice, v any) error {
	v.(*reply).buffer = data.MaterializeToBuffer(mem.DefaultBufferPool())
	return nil
}
