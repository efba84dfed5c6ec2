package engine

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/goodput-exporter/goodput-exporter/exporter/fact"
)

// authority signs certificates for a test.
type authority struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
	pem  []byte
}

func newAuthority(t *testing.T) *authority {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	made := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test authority"}, IsCA: true, BasicConstraintsValid: true,
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour), KeyUsage: x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, made, made, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return &authority{cert, key, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})}
}

// issue makes a certificate that ends at a time.
func (a *authority) issue(t *testing.T, serial int64, name string, ends time.Time) (cert, key []byte) {
	t.Helper()
	k, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	made := &x509.Certificate{
		SerialNumber: big.NewInt(serial), Subject: pkix.Name{CommonName: name}, DNSNames: []string{name}, NotBefore: time.Now().Add(-time.Hour), NotAfter: ends,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth, x509.ExtKeyUsageServerAuth},
	}
	if ip := net.ParseIP(name); ip != nil {
		made.DNSNames, made.IPAddresses = nil, []net.IP{ip}
	}
	der, err := x509.CreateCertificate(rand.Reader, made, a.cert, &k.PublicKey, a.key)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(k)
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: secret})
}

// secureServer serves a page under a certificate for a name; tune may ask for certificates of clients.
func secureServer(t *testing.T, a *authority, name string, tune func(*tls.Config), h http.HandlerFunc) string {
	t.Helper()
	cert, key := a.issue(t, 100, name, time.Now().Add(24*time.Hour))
	pair, err := tls.X509KeyPair(cert, key)
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewUnstartedServer(h)
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.TLS = &tls.Config{Certificates: []tls.Certificate{pair}}
	if tune != nil {
		tune(server.TLS)
	}
	server.StartTLS()
	t.Cleanup(server.Close)
	return server.URL
}

func put(t *testing.T, path string, text []byte) string {
	t.Helper()
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func fetcherWith(t *testing.T, cfg FetcherConfig) *Fetcher {
	t.Helper()
	cfg.Timeout, cfg.MaxBody = patient, testMaxBody
	f, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(f.Close)
	return f
}

func mustRead(t *testing.T, f *Fetcher, target fact.Target) {
	t.Helper()
	if p := f.Poll(t.Context(), target); p.Sample == nil {
		t.Fatalf("%s: %s", p.Reason, p.Detail)
	}
}

func mustFail(t *testing.T, f *Fetcher, target fact.Target, reason fact.Reason, text string) {
	t.Helper()
	p := f.Poll(t.Context(), target)
	if p.Sample != nil || p.Reason != reason || !strings.Contains(p.Detail, text) {
		t.Fatalf("got  %s: %s\nwant %s: ...%s...", p.Reason, p.Detail, reason, text)
	}
}

// HTP-05: a key guards the page; its file is read again when it is rotated, its owner alone sees it, and a refusal is not
// an outage of the engine.
func TestATokenFileIsFollowed(t *testing.T) {
	var wanted atomic.Value
	wanted.Store("Bearer first-token")
	server := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != wanted.Load() {
			http.Error(w, "got "+r.Header.Get("Authorization"), http.StatusUnauthorized)
			return
		}
		classicPage([]byte(metricsPage))(w, r)
	})
	var stray atomic.Value
	open := serve(t, func(w http.ResponseWriter, r *http.Request) {
		stray.Store(r.Header.Get("Authorization"))
		classicPage([]byte(metricsPage))(w, r)
	})
	token := put(t, filepath.Join(t.TempDir(), "token"), []byte("first-token\n"))
	f := fetcherWith(t, FetcherConfig{Of: map[string]Access{"guarded": {BearerTokenFile: token}}})
	guarded := fact.Target{ID: "guarded", URL: server}
	mustRead(t, f, guarded)

	mustRead(t, f, fact.Target{ID: "open", URL: open})
	if got := stray.Load(); got != "" {
		t.Errorf("another target was shown %q", got)
	}

	wanted.Store("Bearer second-token")
	mustFail(t, f, guarded, fact.ReasonAuth, "HTTP 401 Unauthorized")
	put(t, token, []byte("second-token"))
	mustRead(t, f, guarded)

	// Gone for a moment, as in a rotation: what it held is used, and the loss can be seen.
	if err := os.Remove(token); err != nil {
		t.Fatal(err)
	}
	mustRead(t, f, guarded)
	if got := f.BrokenFiles(); !slices.Equal(got, []string{token}) {
		t.Errorf("broken: %v", got)
	}
	for what, text := range map[string]string{"an empty file": " \n", "two lines": "a\nb"} {
		put(t, token, []byte(text))
		mustRead(t, f, guarded)
		if len(f.BrokenFiles()) != 1 {
			t.Errorf("%s: not seen to be broken", what)
		}
	}
	put(t, token, []byte("second-token\r\n"))
	mustRead(t, f, guarded)
	if got := f.BrokenFiles(); len(got) > 0 {
		t.Errorf("broken: %v", got)
	}
}

// SEC-05: a target that its source does not vouch for is shown no token, no password and no certificate, while its server is
// believed under the same authority as any other.
func TestAnAnonymousTargetIsShownNothing(t *testing.T) {
	dir := t.TempDir()
	a := newAuthority(t)
	cert, key := a.issue(t, 7, "exporter", time.Now().Add(time.Hour))
	var shown atomic.Value
	server := secureServer(t, a, "127.0.0.1", func(c *tls.Config) { c.ClientAuth = tls.RequestClientCert }, func(w http.ResponseWriter, r *http.Request) {
		shown.Store(r.Header.Get("Authorization") + " " + strings.Repeat("certificate", len(r.TLS.PeerCertificates)))
		classicPage([]byte(metricsPage))(w, r)
	})
	for name, c := range map[string]struct {
		access Access
		want   string // shown to a target that is vouched for
	}{
		"a token":                   {Access{BearerTokenFile: put(t, filepath.Join(dir, "token"), []byte("s3cret"))}, "Bearer s3cret certificate"},
		"a user with a password":    {Access{Username: "u", PasswordFile: put(t, filepath.Join(dir, "password"), []byte("p"))}, "Basic dTpw certificate"},
		"nothing but a certificate": {Access{}, " certificate"},
	} {
		t.Run(name, func(t *testing.T) {
			c.access.CAFile = put(t, filepath.Join(dir, "ca"), a.pem)
			c.access.CertFile, c.access.KeyFile = put(t, filepath.Join(dir, "cert"), cert), put(t, filepath.Join(dir, "key"), key)
			f := fetcherWith(t, FetcherConfig{Access: c.access, Of: map[string]Access{"a": c.access}})
			for _, step := range []struct {
				anonymous bool
				want      string
			}{{false, c.want}, {true, " "}, {false, c.want}} {
				mustRead(t, f, fact.Target{ID: "a", URL: server, Anonymous: step.anonymous})
				if got := shown.Load(); got != step.want {
					t.Errorf("anonymous %v: shown %q, want %q", step.anonymous, got, step.want)
				}
			}
		})
	}
}

func TestAFileThatWasNeverThereIsSaid(t *testing.T) {
	var asked atomic.Bool
	server := serve(t, func(w http.ResponseWriter, r *http.Request) { asked.Store(true) })
	secure := strings.Replace(server, "http:", "https:", 1)
	none := filepath.Join(t.TempDir(), "none")
	for text, a := range map[string]Access{
		"bearer_token_file " + none + " cannot be used: no such file or directory; nothing was sent": {BearerTokenFile: none},
		"password_file " + none + " cannot be used: no such file or directory; nothing was sent":     {Username: "u", PasswordFile: none},
		"ca_file " + none + " cannot be used: no such file or directory; nothing was sent":           {CAFile: none},
		"cert_file " + none + " and key_file x cannot be used: no such file":                         {CertFile: none, KeyFile: "x"},
	} {
		f := fetcherWith(t, FetcherConfig{Access: a})
		reason := fact.ReasonAuth
		if a.CAFile+a.CertFile != "" {
			reason = fact.ReasonConnect
		}
		mustFail(t, f, fact.Target{ID: "a", URL: secure}, reason, text)
		if len(f.BrokenFiles()) == 0 {
			t.Errorf("%s: no file is broken", text)
		}
	}
	if asked.Load() {
		t.Error("the engine was asked")
	}
}

// TestBasicAuthFromAFile: the password comes from a file, and a user in the URL goes before it.
func TestBasicAuthFromAFile(t *testing.T) {
	server := serve(t, func(w http.ResponseWriter, r *http.Request) {
		user, password, _ := r.BasicAuth()
		if r.URL.Path != "/"+user+"-"+password {
			http.Error(w, password, http.StatusForbidden)
			return
		}
		classicPage([]byte(metricsPage))(w, r)
	})
	file := put(t, filepath.Join(t.TempDir(), "password"), []byte(testPassword+"\n"))
	f := fetcherWith(t, FetcherConfig{Access: Access{Username: testUser, PasswordFile: file}})
	mustRead(t, f, fact.Target{ID: "a", URL: server + "/" + testUser + "-" + testPassword})
	mustRead(t, f, fact.Target{ID: "b", URL: strings.Replace(server, "://", "://bob:other@", 1) + "/bob-other"})
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	g := fetcherWith(t, FetcherConfig{Access: Access{Username: testUser, PasswordFile: file}})
	mustRead(t, g, fact.Target{ID: "b", URL: strings.Replace(server, "://", "://bob:other@", 1) + "/bob-other"})
}

// HTP-09: a client certificate is rotated at 60 s and the old one ends at 120 s, by the server's clock.
func TestCertificatesAreFollowed(t *testing.T) {
	a := newAuthority(t)
	begun := time.Now()
	var now atomic.Pointer[time.Time]
	now.Store(&begun)
	at := func(s time.Duration) { clock := begun.Add(s * time.Second); now.Store(&clock) }
	pool := x509.NewCertPool()
	pool.AddCert(a.cert)
	var serial atomic.Int64
	server := secureServer(t, a, "127.0.0.1", func(c *tls.Config) {
		c.ClientAuth, c.ClientCAs, c.Time = tls.RequireAndVerifyClientCert, pool, func() time.Time { return *now.Load() }
	}, func(w http.ResponseWriter, r *http.Request) {
		serial.Store(r.TLS.PeerCertificates[0].SerialNumber.Int64())
		classicPage([]byte(metricsPage))(w, r)
	})
	dir := t.TempDir()
	ca, crt, key := put(t, filepath.Join(dir, "ca.crt"), a.pem), filepath.Join(dir, "tls.crt"), filepath.Join(dir, "tls.key")
	oldCert, oldKey := a.issue(t, 1, "old", begun.Add(120*time.Second))
	put(t, crt, oldCert)
	put(t, key, oldKey)
	f := fetcherWith(t, FetcherConfig{Access: Access{CAFile: ca, CertFile: crt, KeyFile: key}})
	target := fact.Target{ID: "a", URL: server}
	shown := func(want int64) {
		t.Helper()
		mustRead(t, f, target)
		if serial.Load() != want {
			t.Errorf("certificate %d was shown, want %d", serial.Load(), want)
		}
	}
	shown(1)
	at(60)
	newCert, newKey := a.issue(t, 2, "new", begun.Add(time.Hour))
	put(t, crt, newCert) // and the old key: the moment in between
	shown(1)
	if got := f.BrokenFiles(); !slices.Equal(got, []string{crt, key}) {
		t.Errorf("broken in the middle of the rotation: %v", got)
	}
	put(t, key, newKey)
	shown(2) // on a new connection: the idle one was made with the old certificate
	if got := f.BrokenFiles(); len(got) > 0 {
		t.Errorf("broken after the rotation: %v", got)
	}
	at(121)
	shown(2)
	if err := os.Remove(crt); err != nil {
		t.Fatal(err)
	}
	shown(2)
	if got := f.BrokenFiles(); !slices.Equal(got, []string{crt, key}) {
		t.Errorf("broken without a certificate: %v", got)
	}
	// The old certificate would be refused by now: the test can fail.
	put(t, crt, oldCert)
	put(t, key, oldKey)
	mustFail(t, f, target, fact.ReasonConnect, "the server refused the TLS connection")
}

// TestAnAuthorityIsFollowed: the engine's own certificate comes from another authority from one poll to the next.
func TestAnAuthorityIsFollowed(t *testing.T) {
	before, after := newAuthority(t), newAuthority(t)
	old := secureServer(t, before, "127.0.0.1", nil, classicPage([]byte(metricsPage)))
	next := secureServer(t, after, "127.0.0.1", nil, classicPage([]byte(metricsPage)))
	ca := put(t, filepath.Join(t.TempDir(), "ca.crt"), before.pem)
	f := fetcherWith(t, FetcherConfig{Access: Access{CAFile: ca}})
	mustRead(t, f, fact.Target{ID: "old", URL: old})
	mustFail(t, f, fact.Target{ID: "next", URL: next}, fact.ReasonConnect, "signed by an unknown authority")
	put(t, ca, []byte("half of a fi"))
	mustRead(t, f, fact.Target{ID: "old", URL: old})
	if len(f.BrokenFiles()) != 1 {
		t.Error("a file without a certificate is not seen to be broken")
	}
	put(t, ca, after.pem)
	mustRead(t, f, fact.Target{ID: "next", URL: next})
	mustFail(t, f, fact.Target{ID: "old", URL: old}, fact.ReasonConnect, "signed by an unknown authority")
}

func TestNamesOfCertificates(t *testing.T) {
	a := newAuthority(t)
	server := secureServer(t, a, "vllm.example", nil, classicPage([]byte(metricsPage)))
	ca := put(t, filepath.Join(t.TempDir(), "ca.crt"), a.pem)
	f := fetcherWith(t, FetcherConfig{Of: map[string]Access{
		"host": {CAFile: ca}, "named": {CAFile: ca, ServerName: "vllm.example"}, "other": {CAFile: ca, ServerName: "vllm.example.org"}, "any": {InsecureSkipVerify: true},
	}})
	mustFail(t, f, fact.Target{ID: "host", URL: server}, fact.ReasonConnect, "it is for another host")
	mustFail(t, f, fact.Target{ID: "other", URL: server}, fact.ReasonConnect, "it is for another host")
	mustFail(t, f, fact.Target{ID: "default", URL: server}, fact.ReasonConnect, "certificate is not accepted")
	mustRead(t, f, fact.Target{ID: "named", URL: server})
	mustRead(t, f, fact.Target{ID: "any", URL: server})
}

// TestProxiesAreUsedWhenAskedFor: the environment's never, that of the configuration with its password and nothing else.
func TestProxiesAreUsedWhenAskedFor(t *testing.T) {
	var proxied atomic.Int32
	proxy := serve(t, func(w http.ResponseWriter, r *http.Request) {
		proxied.Add(1)
		if r.URL.Host != "engine.invalid" || r.Header.Get("Proxy-Authorization") != "Basic "+testBasic {
			http.Error(w, r.Header.Get("Proxy-Authorization"), http.StatusBadRequest)
			return
		}
		classicPage([]byte(metricsPage))(w, r)
	})
	t.Setenv("HTTP_PROXY", proxy)
	t.Setenv("http_proxy", proxy)
	via := strings.Replace(proxy, "://", "://"+testUser+":"+testPassword+"@", 1)
	f := fetcherWith(t, FetcherConfig{Of: map[string]Access{"via": {Proxy: via}}})
	p := f.Poll(t.Context(), fact.Target{ID: "direct", URL: "http://engine.invalid/metrics"})
	if p.Sample != nil || proxied.Load() != 0 {
		t.Errorf("the environment's proxy was used: %+v", p)
	}
	mustRead(t, f, fact.Target{ID: "via", URL: "http://engine.invalid/metrics"})
	if proxied.Load() != 1 {
		t.Error("the proxy was not used")
	}
}

// TestNoSecretLeaves: whatever a server makes of what it is shown, no text for people and no label repeats it.
func TestNoSecretLeaves(t *testing.T) {
	token := put(t, filepath.Join(t.TempDir(), "token"), []byte(testPassword))
	var asked atomic.Int32
	other := serve(t, func(http.ResponseWriter, *http.Request) { asked.Add(1) })
	model := `vllm:num_requests_running{engine="0",model_name="` + testPassword + `"} 7` + "\n"
	for name, h := range map[string]http.HandlerFunc{
		"in a model's name": classicPage([]byte(model)),
		"in a bad line":     classicPage([]byte(metricsPage + testPassword + "\n")),
		"in a status":       spoken("HTTP/1.1 500 " + testPassword + "\r\nContent-Length: 0\r\n\r\n"),
		"in a header":       spoken("HTTP/1.1 200 OK\r\n" + testPassword + "\r\n\r\n"),
		"to another host":   redirect(http.StatusFound, other+"/"+testPassword),
	} {
		server := serve(t, h)
		for how, target := range map[string]fact.Target{
			"token": {ID: "token", URL: server}, "url": {ID: "url", URL: strings.Replace(server, "://", "://u:"+testPassword+"@", 1)},
		} {
			f := fetcherWith(t, FetcherConfig{Of: map[string]Access{"token": {BearerTokenFile: token}}})
			if p := f.Poll(t.Context(), target); p.Sample != nil || p.Detail == "" || strings.Contains(p.Detail, testPassword) {
				t.Errorf("%s, %s: %+v", name, how, p)
			}
		}
	}
	if asked.Load() != 0 {
		t.Error("another host was asked")
	}
}

// TestALabelThatRepeatsAUserMakesThePageUnusable in every form in which the user of a URL is sent.
func TestALabelThatRepeatsAUserMakesThePageUnusable(t *testing.T) {
	server := serve(t, func(w http.ResponseWriter, r *http.Request) {
		user, _, _ := r.BasicAuth()
		shown := map[string]string{"/header": strings.TrimPrefix(r.Header.Get("Authorization"), "Basic "), "/user": user}[r.URL.Path]
		classicPage([]byte(`vllm:num_requests_running{engine="0",model_name="`+shown+`"} 7`+"\n"))(w, r)
	})
	f := fetcherWith(t, FetcherConfig{})
	for name, c := range map[string]struct {
		user, path string
		refused    bool
	}{
		"a user and password as the header has them": {"somebody:" + testPassword, "/header", true},
		"a token in the user's place":                {testPassword, "/user", true},
		"a user's name is no secret":                 {"somebody:" + testPassword, "/user", false},
	} {
		p := f.Poll(t.Context(), fact.Target{ID: name, URL: strings.Replace(server, "://", "://"+c.user+"@", 1) + c.path})
		if refused := p.Sample == nil && strings.Contains(p.Detail, "repeats a"); refused != c.refused {
			t.Errorf("%s: refused %t, want %t: %+v", name, refused, c.refused, p)
		}
	}
}

// TestFilesThatHangHoldNobodyUp who asks which files are broken.
func TestFilesThatHangHoldNobodyUp(t *testing.T) {
	missing := filepath.Join(t.TempDir(), "token")
	f := fetcherWith(t, FetcherConfig{Access: Access{BearerTokenFile: missing}})
	f.Poll(t.Context(), fact.Target{ID: "a", URL: "http://engine.invalid/metrics"})
	e := f.entrance(fact.Target{ID: "a"})
	e.mu.Lock() // as while a file is read
	defer e.mu.Unlock()
	if got := f.BrokenFiles(); !slices.Equal(got, []string{missing}) {
		t.Errorf("broken files %q", got)
	}
}

// TestARotationClosesOldConnections: what was made under the old certificates does not stay open until it times out.
func TestARotationClosesOldConnections(t *testing.T) {
	a := newAuthority(t)
	cert, key := a.issue(t, 100, "127.0.0.1", time.Now().Add(time.Hour))
	pair, err := tls.X509KeyPair(cert, key)
	if err != nil {
		t.Fatal(err)
	}
	closed := make(chan struct{}, 1)
	server := httptest.NewUnstartedServer(classicPage([]byte(metricsPage)))
	server.TLS = &tls.Config{Certificates: []tls.Certificate{pair}}
	server.Config.ConnState = func(_ net.Conn, s http.ConnState) {
		if s == http.StateClosed {
			closed <- struct{}{}
		}
	}
	server.StartTLS()
	t.Cleanup(server.Close)
	ca := put(t, filepath.Join(t.TempDir(), "ca.crt"), a.pem)
	f := fetcherWith(t, FetcherConfig{Access: Access{CAFile: ca}})
	target := fact.Target{ID: "a", URL: server.URL}
	mustRead(t, f, target)
	put(t, ca, append(newAuthority(t).pem, a.pem...))
	mustRead(t, f, target)
	select {
	case <-closed:
	case <-time.After(patient): // idle connections live for a minute
		t.Error("the old connection is still open")
	}
}
