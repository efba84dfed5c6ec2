package podres

import (
	"context"
	"net"
	"path/filepath"
	"sync/atomic"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protowire"
)

// message is a protobuf message being written, field by field.
type message []byte

func (m message) with(number protowire.Number, value []byte) message {
	return protowire.AppendBytes(protowire.AppendTag(m, number, protowire.BytesType), value)
}

func (m message) text(number protowire.Number, value string) message {
	return m.with(number, []byte(value))
}

// listed is an answer of List: pods.
func listed(pods ...message) (m message) {
	for _, p := range pods {
		m = m.with(1, p)
	}
	return m
}

// pod is NAMESPACE, NAME and its containers, with what else a kubelet writes there: CPUs, which are no strings.
func pod(namespace, name string, containers ...message) message {
	m := message(nil).text(1, name).text(2, namespace)
	for _, c := range containers {
		m = m.with(3, c)
	}
	return m
}

func container(name string, parts ...message) message {
	m := message(nil).text(1, name)
	for _, p := range parts {
		m = append(m, p...)
	}
	m = protowire.AppendVarint(protowire.AppendTag(m, 3, protowire.VarintType), 7)                               // cpu_ids, one by one
	return m.with(3, []byte{1, 2, 3}).with(4, message(nil).text(1, "memory").with(3, message(nil).with(1, nil))) // packed; memory
}

// devices are the devices of one resource, as a field of a container.
func devices(resource string, ids ...string) message {
	return message(nil).with(2, ofResource(resource, ids...))
}

// allocatable is an answer of GetAllocatableResources.
func allocatable(resources ...message) (m message) {
	for _, r := range resources {
		m = m.with(1, r)
	}
	return m
}

func ofResource(resource string, ids ...string) message {
	m := message(nil).text(1, resource)
	for _, id := range ids {
		m = m.text(2, id)
	}
	return m.with(3, message(nil).with(1, nil)) // NUMA nodes
}

// claimed is a resource claim of the namespace serving with its devices, as a field of a container.
func claimed(name string, given ...message) message {
	m := message(nil).text(2, name).text(3, "serving")
	for _, g := range given {
		m = m.with(4, g)
	}
	return message(nil).with(5, m)
}

// given is one device of a claim; the share is "" for a whole one.
func given(driver, pool, device, share string) message {
	m := message(nil).with(1, message(nil).text(1, "k8s."+driver+"/claim=1f0e-"+device))
	m = m.text(2, driver).text(3, pool).text(4, device)
	if share != "" {
		m = m.text(5, share)
	}
	return m
}

// The UUIDs of tests.
const (
	cardA = "GPU-aaaaaaaa-0000-4000-8000-000000000001"
	cardB = "GPU-bbbbbbbb-0000-4000-8000-000000000002"
	migA  = "MIG-aaaaaaaa-0000-5000-8000-000000000003"
)

// answer is what a kubelet says to a call.
type answer func(ctx context.Context) ([]byte, error)

func says(m message) answer { return func(context.Context) ([]byte, error) { return m, nil } }

func refuses(code codes.Code, text string) answer {
	return func(context.Context) ([]byte, error) { return nil, status.Error(code, text) }
}

// kubelet is a gRPC server on a unix socket that says by method what a test wants.
type kubelet struct {
	path     string
	server   *grpc.Server
	accepted atomic.Int32 // connections
	newest   atomic.Pointer[net.Conn]
	list     atomic.Pointer[answer]
	may      atomic.Pointer[answer]
}

// serve starts a kubelet, on a path of its own unless one is given, that lists these pods and has nothing to give out.
func serve(t testing.TB, path string, pods ...message) *kubelet {
	t.Helper()
	if path == "" {
		path = filepath.Join(t.TempDir(), "kubelet.sock")
	}
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	k := &kubelet{path: path}
	k.lists(says(listed(pods...)))
	k.allows(says(nil))
	k.server = grpc.NewServer(grpc.ForceServerCodecV2(wireCodec{}), grpc.UnknownServiceHandler(k.handle))
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = k.server.Serve(watched{l, k})
	}()
	t.Cleanup(func() { k.server.Stop(); <-done })
	return k
}

func (k *kubelet) lists(a answer)  { k.list.Store(&a) }
func (k *kubelet) allows(a answer) { k.may.Store(&a) }

func (k *kubelet) handle(_ any, stream grpc.ServerStream) error {
	var got []byte
	if err := stream.RecvMsg(&got); err != nil {
		return err
	}
	a := refuses(codes.Unimplemented, "unknown method")
	switch method, _ := grpc.MethodFromServerStream(stream); {
	case len(got) > 0:
		a = refuses(codes.InvalidArgument, "the request has no fields")
	case method == "/v1.PodResourcesLister/List":
		a = *k.list.Load()
	case method == "/v1.PodResourcesLister/GetAllocatableResources":
		a = *k.may.Load()
	}
	said, err := a(stream.Context())
	if err != nil {
		return err
	}
	return stream.SendMsg(said)
}

// wireCodec sends and takes bytes.
type wireCodec struct{}

func (wireCodec) Name() string { return "proto" }

func (wireCodec) Marshal(v any) (mem.BufferSlice, error) {
	return mem.BufferSlice{mem.SliceBuffer(v.([]byte))}, nil
}

func (wireCodec) Unmarshal(data mem.BufferSlice, v any) error {
	*v.(*[]byte) = data.Materialize()
	return nil
}

// hangUp ends the newest connection and goes on listening.
func (k *kubelet) hangUp() { (*k.newest.Load()).Close() }

type watched struct {
	net.Listener
	k *kubelet
}

func (w watched) Accept() (net.Conn, error) {
	conn, err := w.Listener.Accept()
	if err == nil {
		w.k.newest.Store(&conn)
		w.k.accepted.Add(1)
	}
	return conn, err
}
