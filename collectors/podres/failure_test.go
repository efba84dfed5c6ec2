package podres

import (
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc/codes"

	"github.com/goodput-exporter/goodput-exporter/exporter/fact"
)

func TestPathsWithoutAKubelet(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	long := abandoned(t, filepath.Join(dir, "s"))
	deep := filepath.Join(dir, strings.Repeat("x", 120))
	if err := os.Rename(long, deep); err != nil {
		t.Fatal(err)
	}
	refused(t, reader(t, dir), fact.ReasonConnect, dir, "is a directory", "mounted before it existed")
	refused(t, reader(t, file), fact.ReasonConnect, file, "no socket")
	refused(t, reader(t, filepath.Join(file, "x")), fact.ReasonConnect, "not a directory")
	refused(t, reader(t, deep), fact.ReasonConnect, "at most 107 bytes")
}

func TestCallsThatAreRefused(t *testing.T) {
	const secret = "what the server wrote"
	for name, c := range map[string]struct {
		a      answer
		reason fact.Reason
		says   string
	}{
		"too many calls":               {refuses(codes.ResourceExhausted, secret+": rejected by rate limit"), fact.ReasonStatus, "too often"},
		"a kubelet before 1.20":        {refuses(codes.Unimplemented, secret), fact.ReasonDialect, "1.20"},
		"a guard before the kubelet":   {refuses(codes.PermissionDenied, secret), fact.ReasonAuth, "PermissionDenied"},
		"a fault of the kubelet":       {refuses(codes.Internal, secret), fact.ReasonStatus, "Internal"},
		"a fault that has no name":     {refuses(codes.Unknown, secret), fact.ReasonStatus, "log"},
		"a kubelet that is on its way": {refuses(codes.Unavailable, secret), fact.ReasonTruncated, "restarted"},
		"an answer that is no answer":  {says(message{0x0f}), fact.ReasonParse, "does not speak pod-resources v1"},
		"more devices than there are":  {says(listed(pod("serving", "acme-0", container("vllm", many(maxDevices+1))))), fact.ReasonTooLarge, "65536"},
	} {
		t.Run(name, func(t *testing.T) {
			k := serve(t, "")
			k.lists(c.a)
			r := reader(t, k.path)
			refused(t, r, c.reason, k.path, "List", c.says)
			if got := r.Read(t.Context()); strings.Contains(got.Detail, secret) {
				t.Errorf("%q repeats what was sent", got.Detail)
			}
			k.lists(says(listed(vllm("acme-0", cardA))))
			if got := must(t, r).Claims; len(got) != 1 {
				t.Errorf("afterwards %+v", got)
			}
		})
	}
}

// What listens at the path may be anything.
func TestAListenerThatIsNoKubelet(t *testing.T) {
	for name, c := range map[string]struct {
		does    func(net.Conn)
		timeout time.Duration
		reason  fact.Reason
	}{
		"one that says nothing":       {func(c net.Conn) { _, _ = io.Copy(io.Discard, c) }, 100 * time.Millisecond, fact.ReasonTimeout},
		"one that hangs up":           {func(net.Conn) {}, patient, fact.ReasonTruncated},
		"one that speaks HTTP/1 only": {func(c net.Conn) { _, _ = c.Write([]byte("HTTP/1.1 400 Bad Request\r\n\r\n")) }, patient, fact.ReasonTruncated},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "s")
			l, err := net.Listen("unix", path)
			if err != nil {
				t.Fatal(err)
			}
			var serving sync.WaitGroup
			serving.Go(func() {
				for {
					conn, err := l.Accept()
					if err != nil {
						return
					}
					serving.Go(func() { c.does(conn); conn.Close() })
				}
			})
			r := New(Config{Sockets: []string{path}, Timeout: c.timeout})
			refused(t, r, c.reason, path)
			r.Close()
			l.Close()
			serving.Wait()
		})
	}
}
