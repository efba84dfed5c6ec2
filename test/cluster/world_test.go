package cluster

import (
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/goodput-exporter/goodput-exporter/exporter/sim"
)

// alone runs a test once more in a network of its own, where it may give pods addresses that are no loopback ones, and reports
// whether it is already there. Pods whose address is a loopback one are not polled.
func alone(t *testing.T, addresses ...string) bool {
	t.Helper()
	const inside = "GOODPUT_ALONE"
	if os.Getenv(inside) != "" {
		run(t, "ip", "link", "set", "lo", "up")
		for _, a := range addresses {
			run(t, "ip", "addr", "add", a+"/32", "dev", "lo")
		}
		return true
	}
	if _, err := exec.LookPath("ip"); err != nil {
		t.Fatal("the command ip is missing, which gives pods addresses: install iproute2")
	}
	cmd := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$", "-test.v")
	cmd.Env = append(os.Environ(), inside+"=1")
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  syscall.CLONE_NEWUSER | syscall.CLONE_NEWNET,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}}, GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}},
		Pdeathsig: syscall.SIGKILL,
	}
	out, err := cmd.CombinedOutput()
	t.Logf("in a network of its own:\n%s", out)
	if err != nil {
		t.Errorf("in a network of its own: %v", err)
	}
	return false
}

func run(t *testing.T, name string, args ...string) {
	t.Helper()
	if out, err := exec.Command(name, args...).CombinedOutput(); err != nil {
		t.Fatalf("%s %q: %v: %s", name, args, err, out)
	}
}

// engines are simulated engines in real time.
type engines struct {
	mu    sync.Mutex
	world *sim.World
}

func newEngines(t *testing.T) *engines {
	t.Helper()
	s, ok := sim.ScenarioNamed("fleet")
	if !ok {
		t.Fatal("there is no scenario called fleet")
	}
	w, err := sim.New(s.Config(9, unix(time.Now())))
	if err != nil {
		t.Fatal(err)
	}
	return &engines{world: w}
}

func unix(t time.Time) float64 { return float64(t.UnixNano()) / 1e9 }

// serve serves the page of an engine at an address, until it is stopped.
func (e *engines) serve(t *testing.T, engine, address string) (stop func()) {
	t.Helper()
	return e.page(t, address, func() (string, []byte, bool) {
		text, up := e.world.Page(engine)
		return e.world.ContentType(engine), text, up
	})
}

// serveGPUs serves the page of the node's dcgm-exporter.
func (e *engines) serveGPUs(t *testing.T, address string) {
	t.Helper()
	e.page(t, address, func() (string, []byte, bool) { return sim.GPUContentType, e.world.GPUPage(sim.GPURegime48), true })
}

// page serves what there is to see of the world at the moment.
func (e *engines) page(t *testing.T, address string, see func() (kind string, text []byte, up bool)) (stop func()) {
	t.Helper()
	listener, err := net.Listen("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		e.mu.Lock()
		defer e.mu.Unlock()
		e.world.Run(unix(time.Now()))
		kind, text, up := see()
		if !up || r.URL.Path != "/metrics" {
			http.Error(w, "not here", http.StatusNotFound)
			return
		}
		w.Header().Set("Content-Type", kind)
		_, _ = w.Write(text)
	})}
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(func() { server.Close() })
	return func() { server.Close() }
}

// body is what a page holds.
func body(t *testing.T, url string) string {
	t.Helper()
	resp, err := http.Get(url)
	if err != nil {
		return ""
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
