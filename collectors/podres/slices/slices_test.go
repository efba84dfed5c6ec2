package slices

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/goodput-exporter/goodput-exporter/internal/kube"
)

// server is an API server that has ResourceSlices in one version, and no other API.
type server struct {
	*httptest.Server
	version string
	status  int // of answers; 0 is 200
	items   []string
	events  chan string // for the watch that is open

	mu    sync.Mutex
	asked []string
}

func newServer(t *testing.T, version string, items ...string) *server {
	s := &server{version: version, items: items, events: make(chan string)}
	s.Server = httptest.NewServer(http.HandlerFunc(s.serve))
	t.Cleanup(func() { s.CloseClientConnections(); s.Close() })
	return s
}

func (s *server) serve(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	s.asked = append(s.asked, r.URL.Path+"?"+r.URL.Query().Get("fieldSelector"))
	status := s.status
	if r.URL.Path != "/apis/resource.k8s.io/"+s.version+"/resourceslices" {
		status = http.StatusNotFound
	}
	s.mu.Unlock()
	switch {
	case status != 0:
		w.WriteHeader(status)
		fmt.Fprintf(w, `{"kind":"Status","code":%d,"reason":"Because","message":"refused by the test"}`, status)
	case r.URL.Query().Get("watch") == "":
		fmt.Fprintf(w, `{"kind":"ResourceSliceList","metadata":{"resourceVersion":"5"},"items":[%s]}`, strings.Join(s.items, ","))
	default:
		_ = http.NewResponseController(w).Flush()
		for {
			select {
			case e := <-s.events:
				fmt.Fprintln(w, e)
				_ = http.NewResponseController(w).Flush()
			case <-r.Context().Done():
				return
			}
		}
	}
}

func (s *server) answer(status int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.status = status
}

func (s *server) requests() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string(nil), s.asked...)
}

// record is a log that may be read while it is written.
type record struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (r *record) Write(p []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.text.Write(p)
}

func (r *record) warnings() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return strings.Count(r.text.String(), "level=WARN")
}

// run follows the slices that a server has.
func run(t *testing.T, s *server) (*Slices, *record) {
	t.Helper()
	log := &record{}
	x, err := New(Config{Node: "node-a", API: kube.Config{Server: s.URL}, Logger: slog.New(slog.NewTextHandler(log, nil))})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error)
	go func() { done <- x.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("it ended with %v", err)
		}
	})
	return x, log
}

// until waits until something is true.
func until(t *testing.T, what string, check func() bool) {
	t.Helper()
	for end := time.Now().Add(10 * time.Second); !check(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("still not: %s", what)
		}
	}
}

func (s *Slices) is(device, uuid string) func() bool {
	return func() bool {
		got, ok := s.Resolve("node-a", device)
		return ok == (uuid != "") && got == uuid
	}
}

func TestNothingIsAskedBeforeADeviceIs(t *testing.T) {
	s := newServer(t, "v1", aSlice("s", "node-a", 1, 1, aDevice("gpu-0", "gpu", cardA)))
	x, _ := run(t, s)
	time.Sleep(50 * time.Millisecond)
	if asked := s.requests(); len(asked) > 0 || x.Why() != "" {
		t.Fatalf("it asked for %v, and says %q", asked, x.Why())
	}
	until(t, "the device is resolved", x.is("gpu-0", cardA))
	if got, want := s.requests()[0], "/apis/resource.k8s.io/v1/resourceslices?spec.nodeName=node-a,spec.driver=gpu.nvidia.com"; got != want {
		t.Errorf("it asked for %s, want %s", got, want)
	}
}

func TestSlicesChange(t *testing.T) {
	s := newServer(t, "v1", aSlice("s", "node-a", 1, 1, aDevice("gpu-0", "gpu", cardA)))
	x, log := run(t, s)
	until(t, "the device is resolved", x.is("gpu-0", cardA))
	event := func(kind, slice string) { s.events <- `{"type":"` + kind + `","object":` + slice + `}` }
	event("ADDED", aSlice("r", "node-a", 2, 2, aDevice("gpu-0", "gpu", cardB)))
	until(t, "half of a new generation ends the old one", x.is("gpu-0", ""))
	if why := x.Why(); !strings.Contains(why, "1 of the 2") {
		t.Errorf("it says %q", why)
	}
	event("ADDED", aSlice("q", "node-a", 2, 2, aDevice("gpu-1", "mig", migA)))
	until(t, "the whole new generation counts", x.is("gpu-0", cardB))
	event("DELETED", aSlice("s", "node-a", 1, 1))
	until(t, "the end of an old slice changes nothing", x.is("gpu-1", migA))
	event("DELETED", aSlice("q", "node-a", 2, 2))
	until(t, "a pool that lost a slice is not believed", x.is("gpu-0", ""))
	event("DELETED", aSlice("r", "node-a", 2, 2))
	until(t, "no slice, no complaint", func() bool { return x.Why() == "" })
	if n := log.warnings(); n > 0 {
		t.Errorf("%d warnings, want none", n)
	}
}

func TestOlderVersionsOfTheAPI(t *testing.T) {
	for _, version := range []string{"v1beta2", "v1beta1"} {
		t.Run(version, func(t *testing.T) {
			s := newServer(t, version, aSlice("s", "node-a", 1, 1, aDevice("gpu-0", "gpu", cardA)))
			x, log := run(t, s)
			until(t, "the device is resolved", x.is("gpu-0", cardA))
			if why, n := x.Why(), log.warnings(); why != "" || n > 0 {
				t.Errorf("it complains %d times: %q", n, why)
			}
		})
	}
}

func TestWhyNothingIsResolved(t *testing.T) {
	for name, c := range map[string]struct {
		version string
		status  int
		want    []string
	}{
		"a server that is too old": {version: "v1alpha3", want: []string{"v1, v1beta2, v1beta1 of resource.k8s.io", "--runtime-config"}},
		"no permission (JON-09)":   {version: "v1", status: http.StatusForbidden, want: []string{"component dra", "dra.enabled", "resourceslices"}},
		"a server that has failed": {version: "v1", status: http.StatusInternalServerError, want: []string{"500", "resourceslices"}},
	} {
		t.Run(name, func(t *testing.T) {
			s := newServer(t, c.version, aSlice("s", "node-a", 1, 1, aDevice("gpu-0", "gpu", cardA)))
			s.answer(c.status)
			x, log := run(t, s)
			if _, ok := x.Resolve("node-a", "gpu-0"); ok {
				t.Error("it resolves what it cannot know")
			}
			until(t, "it says why", func() bool { return x.Why() != "" })
			for _, word := range c.want {
				if why := x.Why(); !strings.Contains(why, word) {
					t.Errorf("it says %q, want %q in it", why, word)
				}
			}
			if c.status == 0 {
				return
			}
			s.answer(0)
			until(t, "the device is resolved", x.is("gpu-0", cardA))
			until(t, "it complains no more", func() bool { return x.Why() == "" })
			if n := log.warnings(); n != 1 {
				t.Errorf("it warned %d times, want once", n)
			}
		})
	}
}

// TestAServerIsUpgraded: the version that was read is there no more, and another is.
func TestAServerIsUpgraded(t *testing.T) {
	s := newServer(t, "v1beta1", aSlice("s", "node-a", 1, 1, aDevice("gpu-0", "gpu", cardA)))
	x, log := run(t, s)
	until(t, "the device is resolved", x.is("gpu-0", cardA))
	s.mu.Lock()
	s.version = "v1"
	s.mu.Unlock()
	s.CloseClientConnections()
	until(t, "the newer version is watched", func() bool {
		n := 0
		for _, asked := range s.requests() {
			if strings.Contains(asked, "/v1/") {
				n++
			}
		}
		return n >= 3 // once in vain, and then a list and a watch
	})
	if !x.is("gpu-0", cardA)() || x.Why() != "" || log.warnings() > 0 {
		t.Errorf("the device was forgotten, or it was complained %d times: %q", log.warnings(), x.Why())
	}
}

// TestAServerThatIsLost: what was known stays while nobody tells anything else.
func TestAServerThatIsLost(t *testing.T) {
	s := newServer(t, "v1", aSlice("s", "node-a", 1, 1, aDevice("gpu-0", "gpu", cardA)))
	x, _ := run(t, s)
	until(t, "the device is resolved", x.is("gpu-0", cardA))
	s.answer(http.StatusInternalServerError)
	s.CloseClientConnections()
	until(t, "it says what is wrong", func() bool { return strings.Contains(x.Why(), "500") })
	if !x.is("gpu-0", cardA)() {
		t.Error("the device is forgotten")
	}
}

func TestMistakesOfTheCaller(t *testing.T) {
	for want, cfg := range map[string]Config{
		"which node's":            {API: kube.Config{Server: "https://127.0.0.1:1"}},
		"KUBERNETES_SERVICE_HOST": {Node: "node-a"},
		"/no/such/token":          {Node: "node-a", API: kube.Config{Server: "https://127.0.0.1:1", TokenFile: "/no/such/token"}},
	} {
		if _, err := New(cfg); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("the error is %v, want %q in it", err, want)
		}
	}
}
