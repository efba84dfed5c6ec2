package kubernetes

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/goodput-exporter/goodput-exporter/internal/kube"
	"github.com/goodput-exporter/goodput-exporter/internal/kube/kubetest"
)

// cluster is an API server over HTTP, and a watcher of it that runs.
type cluster struct {
	*testing.T
	*kubetest.Server
	http *httptest.Server
	*Watcher
	log *buffer
}

// buffer is written to by several goroutines.
type buffer struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

func (b *buffer) String() string { b.mu.Lock(); defer b.mu.Unlock(); return b.text.String() }

func newCluster(t *testing.T, c Config, pods ...kubetest.Object) *cluster {
	t.Helper()
	k := &cluster{T: t, Server: kubetest.New("/api/v1", "pods"), log: &buffer{}}
	for _, p := range pods {
		k.Put(p)
	}
	k.http = httptest.NewServer(k.Server)
	k.http.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, 0)
	if c.Node == "" && c.Scope == "" {
		c.Node = "node-a"
	}
	c.API, c.Logger = kube.Config{Server: k.http.URL}, slog.New(slog.NewTextHandler(k.log, nil))
	var err error
	if k.Watcher, err = New(c); err != nil {
		t.Fatal(err)
	}
	return k
}

// run follows the pods until the test ends.
func (k *cluster) run() {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() { _ = k.Watcher.Run(ctx); close(done) }()
	k.Cleanup(func() { cancel(); <-done; k.http.CloseClientConnections(); k.http.Close() })
}

// comes waits until the engines are these.
func (k *cluster) comes(want string) {
	k.Helper()
	k.until(func() bool { return text(k.List()) == want }, func() string { return fmt.Sprintf("targets %q, want %q", text(k.List()), want) })
}

func (k *cluster) until(is func() bool, say func() string) {
	k.Helper()
	for end := time.Now().Add(20 * time.Second); !is(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(end) {
			k.Fatalf("%s\n%+v\n%s", say(), k.Status(), k.log)
		}
	}
}

func never() string { return "it does not come to that" }
