package cluster

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// admin is the token of somebody who may do everything.
const admin = "admin-of-the-tests"

// programs is where kube-apiserver and etcd are; `make cluster` says it.
func programs(t testing.TB) string {
	dir := os.Getenv("GOODPUT_KUBE")
	if dir == "" {
		t.Skip("GOODPUT_KUBE does not say where kube-apiserver and etcd are: run `make cluster`")
	}
	return dir
}

// cluster is an API server and what it keeps its objects in. Nothing else of a cluster is there: pods are bound to nodes and
// given their status by the tests, as the scheduler and the kubelet would.
type cluster struct {
	*client
	t    testing.TB
	dir  string // of certificates, keys, logs and etcd's data
	etcd string // its URL
	port int    // of the API server
	pki  *authority

	etcdProcess, server *process
}

// newCluster starts both servers. They end with the test.
func newCluster(t testing.TB, flags ...string) *cluster {
	t.Helper()
	bin, dir := programs(t), t.TempDir()
	c := &cluster{t: t, dir: dir, port: freePort(t), pki: newAuthority(t, dir)}
	peer, clients := freePort(t), freePort(t)
	c.etcd = fmt.Sprintf("http://127.0.0.1:%d", clients)
	c.etcdProcess = start(t, filepath.Join(dir, "etcd.log"), filepath.Join(bin, "etcd"),
		"--data-dir="+filepath.Join(dir, "etcd"), "--listen-client-urls="+c.etcd, "--advertise-client-urls="+c.etcd,
		fmt.Sprintf("--listen-peer-urls=http://127.0.0.1:%d", peer), "--unsafe-no-fsync", "--log-level=warn")
	write(t, filepath.Join(dir, "tokens.csv"), admin+",admin,admin,system:masters\n")
	write(t, filepath.Join(dir, "audit.yaml"), auditPolicy)
	c.client = &client{base: fmt.Sprintf("https://127.0.0.1:%d", c.port), token: admin, http: c.pki.client()}
	c.startServer(flags...)
	c.must(c.create("/api/v1/namespaces/default/serviceaccounts", object{"metadata": object{"name": "default"}}))
	return c
}

// auditPolicy writes down every request of a service account once it is answered.
const auditPolicy = `
apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived, ResponseStarted]
rules:
- level: Metadata
  userGroups: ["system:serviceaccounts"]
- level: None
`

// startServer starts the API server and waits until it is ready.
func (c *cluster) startServer(flags ...string) {
	c.t.Helper()
	c.server = c.apiServer(c.port, flags...)
}

// apiServer starts an API server on a port: there may be several over one etcd, as in a cluster with several masters.
func (c *cluster) apiServer(port int, flags ...string) *process {
	c.t.Helper()
	at := func(name string) string { return filepath.Join(c.dir, name) }
	log := at(fmt.Sprintf("apiserver-%d.log", port))
	p := start(c.t, log, filepath.Join(programs(c.t), "kube-apiserver"), append([]string{
		"--etcd-servers=" + c.etcd, "--bind-address=127.0.0.1", fmt.Sprintf("--secure-port=%d", port), "--endpoint-reconciler-type=none", "--advertise-address=192.0.2.1",
		"--tls-cert-file=" + at("server.crt"), "--tls-private-key-file=" + at("server.key"), "--token-auth-file=" + at("tokens.csv"),
		"--authorization-mode=RBAC", "--service-account-issuer=" + issuer, "--service-account-key-file=" + at("accounts.key"),
		"--service-account-signing-key-file=" + at("accounts.key"), "--service-cluster-ip-range=10.0.0.0/24",
		"--audit-policy-file=" + at("audit.yaml"), "--audit-log-path=" + at("audit.log"), "--cert-dir=" + at("unused"),
	}, flags...)...)
	probe := *c.client
	probe.base = fmt.Sprintf("https://127.0.0.1:%d", port)
	c.t.Helper()
	until(c.t, time.Minute, "the API server is ready", func() error {
		if p.ended() {
			c.t.Fatalf("the API server ended:\n%s", tail(log))
		}
		return probe.do(http.MethodGet, "/readyz", nil, nil)
	})
	return p
}

// compact makes etcd forget all history up to now.
func (c *cluster) compact() {
	c.t.Helper()
	var head struct {
		Header struct {
			Revision string `json:"revision"`
		} `json:"header"`
	}
	etcd := &client{base: c.etcd, http: http.DefaultClient}
	c.must(etcd.do(http.MethodPost, "/v3/kv/range", object{"key": "Lw=="}, &head))
	c.must(etcd.do(http.MethodPost, "/v3/kv/compaction", object{"revision": head.Header.Revision, "physical": true}, nil))
}

func (c *cluster) must(err error) {
	c.t.Helper()
	if err != nil {
		c.t.Fatal(err)
	}
}

// process is a program that runs, and is killed when the test ends.
type process struct {
	cmd  *exec.Cmd
	done chan struct{}
}

func start(t testing.TB, log, name string, args ...string) *process {
	t.Helper()
	out, err := os.OpenFile(log, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	p := &process{cmd: exec.Command(name, args...), done: make(chan struct{})}
	p.cmd.Stdout, p.cmd.Stderr = out, out
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} // a test that times out leaves nobody behind
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() { defer close(p.done); _ = p.cmd.Wait() }()
	t.Cleanup(p.kill)
	return p
}

func (p *process) kill() { _ = p.cmd.Process.Kill(); <-p.done }

func (p *process) ended() bool {
	select {
	case <-p.done:
		return true
	default:
		return false
	}
}

// until waits for something to become true, for at most as long as is given.
func until(t testing.TB, most time.Duration, what string, check func() error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), most)
	defer cancel()
	var err error
	for {
		if err = check(); err == nil {
			return
		}
		select {
		case <-ctx.Done():
			t.Fatalf("after %v still not: %s: %v", most, what, err)
		case <-time.After(20 * time.Millisecond):
		}
	}
}

func freePort(t testing.TB) int {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port
}

func write(t testing.TB, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// tail is the end of a log.
func tail(path string) string {
	text, err := os.ReadFile(path)
	if err != nil {
		return err.Error()
	}
	return string(text[max(0, len(text)-4000):])
}

var errNotYet = errors.New("not yet")
