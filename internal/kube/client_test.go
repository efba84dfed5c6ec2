package kube

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"log/slog"
	"math/big"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/goodput-exporter/goodput-exporter/internal/kube/kubetest"
)

// realServer is an API server over TLS that wants a token, with the files that lead to it.
type realServer struct {
	*kubetest.Server
	http      *httptest.Server
	config    Config
	mu        sync.Mutex
	want      string // the token
	tokenFile string
}

func newRealServer(t *testing.T) *realServer {
	t.Helper()
	dir := t.TempDir()
	s := &realServer{Server: kubetest.New("/api/v1", "pods"), want: "first", tokenFile: filepath.Join(dir, "token")}
	s.http = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		ok := r.Header.Get("Authorization") == "Bearer "+s.want
		s.mu.Unlock()
		if !ok {
			kubetest.Refuse(w, 401, "Unauthorized", "Unauthorized")
			return
		}
		s.Server.ServeHTTP(w, r)
	}))
	s.http.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, 0)
	s.http.EnableHTTP2 = true
	s.http.StartTLS()
	t.Cleanup(s.http.Close)
	s.config = Config{Server: s.http.URL, TokenFile: s.tokenFile, CAFile: filepath.Join(dir, "ca.crt")}
	write(t, s.tokenFile, "first\n")
	write(t, s.config.CAFile, string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.http.Certificate().Raw})))
	return s
}

// rotate changes the token that the server wants.
func (s *realServer) rotate(token string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.want = token
}

// write replaces a file as the kubelet does.
func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path+".new", []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(path+".new", path); err != nil {
		t.Fatal(err)
	}
}

func newClient(t *testing.T, c Config) *Client {
	t.Helper()
	client, err := NewClient(c)
	if err != nil {
		t.Fatal(err)
	}
	return client
}

func ask(c *Client) error {
	_, _, err := list[thing](context.Background(), c, things, "0")
	return err
}

// TestCredentialsAreReadAgain: the kubelet replaces a token within an hour, and authorities change with a cluster.
func TestCredentialsAreReadAgain(t *testing.T) {
	s := newRealServer(t)
	c := newClient(t, s.config)
	if err := ask(c); err != nil {
		t.Fatal(err)
	}
	s.rotate("second")
	err := ask(c)
	if e, is := errors.AsType[*StatusError](err); !is || e.Code != 401 {
		t.Fatalf("error %v", err)
	}
	write(t, s.tokenFile, "second")
	if err := ask(c); err != nil {
		t.Fatal(err)
	}
	authorities, err := os.ReadFile(s.config.CAFile)
	if err != nil {
		t.Fatal(err)
	}
	write(t, s.config.CAFile, "half of it")
	if err := ask(c); err != nil {
		t.Errorf("a file that cannot be used does not leave those of before: %v", err)
	}
	write(t, s.config.CAFile, strangeAuthority(t))
	if err := ask(c); err == nil || !strings.Contains(err.Error(), "certificate") {
		t.Errorf("with the authorities of another cluster: %v", err)
	}
	write(t, s.config.CAFile, string(authorities))
	if err := ask(c); err != nil {
		t.Errorf("authorities that are new: %v", err)
	}
}

// strangeAuthority makes the certificate of an authority that has signed nothing here.
func strangeAuthority(t *testing.T) string {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	of := &x509.Certificate{SerialNumber: big.NewInt(1), IsCA: true, BasicConstraintsValid: true, NotAfter: time.Now().Add(time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, of, of, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))
}

// TestTokenOfTheSameMoment: a token that was replaced while a request was on its way is read again at once.
func TestTokenOfTheSameMoment(t *testing.T) {
	s := newRealServer(t)
	c := newClient(t, s.config)
	s.http.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") == "Bearer first" {
			write(t, s.tokenFile, "second")
			kubetest.Refuse(w, 401, "Unauthorized", "Unauthorized")
			return
		}
		s.Server.ServeHTTP(w, r)
	})
	if err := ask(c); err != nil {
		t.Error(err)
	}
}

// TestStrangers: whoever is not the cluster's API server gets no token, and no error tells one.
func TestStrangers(t *testing.T) {
	s := newRealServer(t)
	stranger := httptest.NewTLSServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { t.Errorf("asked with %v", r.Header) }))
	defer stranger.Close()
	stranger.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, 0)
	elsewhere := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { t.Errorf("asked with %v", r.Header) }))
	defer elsewhere.Close()
	s.Fail(func(w http.ResponseWriter, r *http.Request) bool {
		http.Redirect(w, r, elsewhere.URL, http.StatusFound)
		return true
	})
	t.Setenv("HTTPS_PROXY", elsewhere.URL)
	err := ask(newClient(t, s.config))
	if err == nil || !strings.Contains(err.Error(), "answers 302") {
		t.Errorf("error %v", err)
	}
	c := s.config
	c.Server = strings.Replace(stranger.URL, "127.0.0.1", "localhost", 1)
	err2 := ask(newClient(t, c))
	if err2 == nil || !strings.Contains(err2.Error(), "certificate") {
		t.Errorf("error %v", err2)
	}
	if text := fmt.Sprint(err, err2); strings.Contains(text, "first") || strings.Contains(text, "fieldSelector") {
		t.Errorf("errors tell too much: %s", text)
	}
}

func TestConfig(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "empty"), "")
	env := func(pairs ...string) func(string) string {
		return func(key string) string {
			for i := 0; i < len(pairs); i += 2 {
				if pairs[i] == key {
					return pairs[i+1]
				}
			}
			return ""
		}
	}
	for name, c := range map[string]struct {
		config Config
		want   string // the base URL, or an error after !
	}{
		"no pod":                          {Config{getenv: env()}, "!this is no pod: run in one, or give the API server's URL in engines.kubernetes.api.server"},
		"a server by its URL":             {Config{Server: "https://api.example:6443/"}, "https://api.example:6443"},
		"a server beneath a path":         {Config{Server: "https://rancher.example/k8s/c-1"}, "https://rancher.example/k8s/c-1"},
		"kubectl proxy":                   {Config{Server: "http://127.0.0.1:8001"}, "http://127.0.0.1:8001"},
		"a password in the URL":           {Config{Server: "https://u:hunter2@api"}, "!holds a user"},
		"what cannot be read":             {Config{Server: "https://u:hunter2@[api"}, "!cannot be read"},
		"no scheme":                       {Config{Server: "api.example:6443"}, "!is not one of a server"},
		"a query":                         {Config{Server: "https://api?x=hunter2"}, "!is not one of a server"},
		"a token in the clear":            {Config{Server: "http://api", TokenFile: "t"}, "!would have the token sent in the clear"},
		"a token that is not there":       {Config{Server: "https://api", TokenFile: filepath.Join(dir, "none")}, "!no such file or directory; in a pod, automountServiceAccountToken must not be false"},
		"an empty token":                  {Config{Server: "https://api", TokenFile: filepath.Join(dir, "empty")}, "!the file is empty"},
		"authorities that are not there":  {Config{Server: "https://api", CAFile: filepath.Join(dir, "none")}, "!the authorities of the Kubernetes API"},
		"authorities that are none":       {Config{Server: "https://api", CAFile: filepath.Join(dir, "empty")}, "!it holds no PEM certificate"},
		"the service account of this pod": {Config{getenv: env("KUBERNETES_SERVICE_HOST", "10.96.0.1", "KUBERNETES_SERVICE_PORT", "443")}, "!" + serviceAccountToken},
	} {
		t.Run(name, func(t *testing.T) {
			client, err := NewClient(c.config)
			wrong, isWrong := strings.CutPrefix(c.want, "!")
			switch {
			case isWrong && (err == nil || !strings.Contains(err.Error(), wrong)):
				t.Errorf("error %v, want %q in it", err, wrong)
			case isWrong && strings.Contains(err.Error(), "hunter2"):
				t.Errorf("the error tells a secret: %v", err)
			case !isWrong && err != nil:
				t.Error(err)
			case !isWrong && client.base.String() != c.want:
				t.Errorf("base %s", client.base)
			}
		})
	}
	for host, want := range map[string]string{
		"10.96.0.1": "https://10.96.0.1:443", "fd00:10:96::1": "https://[fd00:10:96::1]:443", "[fd00::1]": "https://[fd00::1]:443", "kubernetes.default": "https://kubernetes.default:443",
	} {
		_, u, err := Config{getenv: env("KUBERNETES_SERVICE_HOST", host, "KUBERNETES_SERVICE_PORT", "443")}.settled()
		if err != nil || u.String() != want {
			t.Errorf("host %q: %v, %v; want %s", host, u, err, want)
		}
	}
}

// TestChurnLeaksNothing: a thousand changes over connections that break, and nothing is left of it: no goroutine, no connection, no memory.
func TestChurnLeaksNothing(t *testing.T) {
	s := newRealServer(t)
	c := newClient(t, s.config)
	before := runtime.NumGoroutine()
	ctx, cancel := context.WithCancel(t.Context())
	b := &box{}
	done := make(chan struct{})
	go func() { Follow[thing](ctx, c, things, b); close(done) }()
	until(t, func() bool { return b.state().Up })
	for i := range 1000 {
		name := fmt.Sprintf("p%d", i%50)
		switch i % 5 {
		case 4:
			s.Delete("serving", name)
		default:
			s.Put(object(name, fmt.Sprint(i)))
		}
		if i%250 == 249 {
			s.Break()
		}
	}
	s.Put(object("last", "red"))
	until(t, func() bool { return strings.Contains(b.String(), "last=red") })
	if _, _, open := s.Asked(); open != 1 {
		t.Errorf("%d watches are open", open)
	}
	if n := len(b.have); n != 41 { // of 50 names, the ten whose last change was a deletion are gone
		t.Errorf("%d objects", n)
	}
	cancel()
	<-done
	c.Close()
	until(t, func() bool { return runtime.NumGoroutine() <= before })
}

// until waits for what other goroutines do over real connections.
func until(t *testing.T, is func() bool) {
	t.Helper()
	for end := time.Now().Add(30 * time.Second); !is(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			buf := make([]byte, 1<<20)
			t.Fatalf("it does not come to that\n%s", bytes.TrimSpace(buf[:runtime.Stack(buf, true)]))
		}
	}
}
