package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"log/slog"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/goodput-exporter/goodput-exporter/exporter/config"
	"github.com/goodput-exporter/goodput-exporter/exporter/fold"
)

// spansOnly is a configuration that takes spans in.
func spansOnly(t *testing.T, spans string) *config.Config {
	t.Helper()
	cfg, err := config.Parse([]byte("slos: [{name: chat, clauses: {ttft: 250ms}, objective: 0.95}]\nspans: "+spans+"\n"), "goodput.yaml")
	if err != nil {
		t.Fatal(err)
	}
	return cfg
}

// mustFollow has an intake follow a configuration.
func mustFollow(t *testing.T, in *intake, spans string) {
	t.Helper()
	settle, _, err := in.follow(spansOnly(t, spans))
	if err != nil {
		t.Fatal(err)
	}
	settle()
}

// newCertificate writes a certificate for 127.0.0.1 and its key.
func newCertificate(t *testing.T) (cert, key string) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test"}, NotAfter: time.Now().Add(time.Hour), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &private.PublicKey, private)
	if err != nil {
		t.Fatal(err)
	}
	pkcs, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	cert, key = filepath.Join(dir, "tls.crt"), filepath.Join(dir, "tls.key")
	for path, block := range map[string]*pem.Block{cert: {Type: "CERTIFICATE", Bytes: der}, key: {Type: "PRIVATE KEY", Bytes: pkcs}} {
		if err := os.WriteFile(path, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return cert, key
}

// accepts reports whether somebody listens.
func accepts(address string) bool {
	conn, err := net.DialTimeout("tcp", address, time.Second)
	if err == nil {
		conn.Close()
	}
	return err == nil
}

// TestReloadsOfTheReceiver: what may change while it runs, and what that leaves of what was taken in before.
func TestReloadsOfTheReceiver(t *testing.T) {
	cert, key := newCertificate(t)
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	addresses := strings.NewReplacer("A", freeAddress(t), "B", freeAddress(t), "TAKEN", taken.Addr().String(), "CERT", cert, "KEY", key)
	for name, c := range map[string]struct {
		before, after string
		refused       string   // what the error says; "": it is followed
		open, shut    []string // addresses
		taken         string   // name of spans that are taken then; "": none
		scheme, at    string   // where they are sent to
	}{
		"names change at the same address": {
			before: `{listen: "A"}`, after: `{listen: "A", names: [other]}`, open: []string{"A"}, taken: "other", at: "A",
		},
		"another address is opened and the one before closed": {
			before: `{listen: "A"}`, after: `{listen: "B"}`, open: []string{"B"}, shut: []string{"A"}, taken: "llm_request", at: "B",
		},
		"a second protocol comes beside the first": {
			before: `{listen: "A"}`, after: `{listen: "A", grpc_listen: "B"}`, open: []string{"A", "B"}, taken: "llm_request", at: "A",
		},
		"one protocol goes and the other stays": {
			before: `{listen: "A", grpc_listen: "B"}`, after: `{listen: "A"}`, open: []string{"A"}, shut: []string{"B"}, taken: "llm_request", at: "A",
		},
		"spans are no longer taken in": {
			before: `{listen: "A"}`, after: `{}`, shut: []string{"A"},
		},
		"TLS begins at the same address": {
			before: `{listen: "A"}`, after: `{listen: "A", tls_config: {cert_file: "CERT", key_file: "KEY"}}`, open: []string{"A"}, taken: "llm_request", scheme: "https", at: "A",
		},
		"a port that is taken leaves all as it was, names included": {
			before: `{listen: "A"}`, after: `{listen: "A", names: [other], grpc_listen: "TAKEN"}`, refused: "spans.grpc_listen: cannot listen at TAKEN", open: []string{"A"}, taken: "llm_request", at: "A",
		},
		"a taken port in place of one's own": {
			before: `{listen: "A"}`, after: `{listen: "TAKEN"}`, refused: "spans.listen: cannot listen at TAKEN", open: []string{"A"}, taken: "llm_request", at: "A",
		},
		"certificates that are not there leave the plain listener": {
			before: `{listen: "A"}`, after: `{listen: "A", tls_config: {cert_file: nowhere.crt, key_file: nowhere.key}}`, refused: "nowhere", open: []string{"A"}, taken: "llm_request", at: "A",
		},
		"a token that is not there leaves the open listener": {
			before: `{listen: "A"}`, after: `{listen: "A", bearer_token_file: nowhere}`, refused: "nowhere", open: []string{"A"}, taken: "llm_request", at: "A",
		},
		"listeners do not change places": {
			before: `{listen: "A", grpc_listen: "B"}`, after: `{listen: "B", grpc_listen: "A"}`, refused: "spans come in under the other protocol", open: []string{"A", "B"}, taken: "llm_request", at: "A",
		},
	} {
		t.Run(name, func(t *testing.T) {
			in := newIntake(slog.New(slog.DiscardHandler), nil)
			defer in.shut()
			mustFollow(t, in, addresses.Replace(c.before))
			before := sendSpans(t, "http", addresses.Replace("A"), exportOf(t, nil, sentSpan{id: 1}))
			if before != 200 {
				t.Fatalf("status %d before", before)
			}
			settle, _, err := in.follow(spansOnly(t, addresses.Replace(c.after)))
			switch {
			case c.refused == "" && err != nil:
				t.Fatal(err)
			case c.refused != "" && (err == nil || !strings.Contains(err.Error(), addresses.Replace(c.refused))):
				t.Fatalf("error %v, want %q in it", err, addresses.Replace(c.refused))
			case err == nil:
				settle()
			}
			for _, a := range c.open {
				if !accepts(addresses.Replace(a)) {
					t.Errorf("nobody listens at %s", a)
				}
			}
			for _, a := range c.shut {
				if accepts(addresses.Replace(a)) {
					t.Errorf("somebody listens at %s still", a)
				}
			}
			stats, _ := in.stats()
			if c.taken == "" {
				if stats != nil {
					t.Errorf("it is said that spans are taken in: %+v", stats)
				}
				return
			}
			if c.scheme == "" {
				c.scheme = "http"
			}
			if status := sendSpans(t, c.scheme, addresses.Replace(c.at), exportOf(t, nil, sentSpan{id: 2, name: c.taken}, sentSpan{id: 3, name: "neither"})); status != 200 {
				t.Errorf("status %d after", status)
			}
			if came := in.Drain(); len(came) != 2 {
				t.Errorf("%d spans are handed over, want the one from before and the one from after", len(came))
			}
			stats, _ = in.stats()
			if got := tally(stats.Spans, "taken"); got != 2 || tally(stats.Spans, "other_name") != 1 || len(stats.Messages) != 1 || stats.Messages[0].Count != 2 {
				t.Errorf("counted %+v", stats)
			}
		})
	}
}

func tally(all []fold.Tally, name string) uint64 {
	for _, t := range all {
		if t.Name == name {
			return t.Count
		}
	}
	return 0
}

// TestAChangeThatIsCalledBackLeavesNothing: when the exporter refuses the rest of a configuration, its listeners go again.
func TestAChangeThatIsCalledBackLeavesNothing(t *testing.T) {
	a, b := freeAddress(t), freeAddress(t)
	in := newIntake(slog.New(slog.DiscardHandler), nil)
	defer in.shut()
	mustFollow(t, in, fmt.Sprintf("{listen: %q}", a))
	_, back, err := in.follow(spansOnly(t, fmt.Sprintf("{listen: %q, grpc_listen: %q, names: [other]}", a, b)))
	if err != nil {
		t.Fatal(err)
	}
	back()
	if accepts(b) {
		t.Error("the new listener is still there")
	}
	if status := sendSpans(t, "http", a, exportOf(t, nil, sentSpan{id: 1}, sentSpan{id: 2, name: "other"})); status != 200 || len(in.Drain()) != 1 {
		t.Errorf("status %d: what was asked for before is not done", status)
	}
}

// TestTheIntakeLeavesNoGoroutine after many changes.
func TestTheIntakeLeavesNoGoroutine(t *testing.T) {
	a, b := freeAddress(t), freeAddress(t)
	before := runtime.NumGoroutine()
	in := newIntake(slog.New(slog.DiscardHandler), nil)
	for range 5 {
		mustFollow(t, in, fmt.Sprintf("{listen: %q, grpc_listen: %q}", a, b))
		mustFollow(t, in, fmt.Sprintf("{listen: %q}", a))
		mustFollow(t, in, "{}")
	}
	in.shut()
	for deadline := time.Now().Add(5 * time.Second); runtime.NumGoroutine() > before && time.Now().Before(deadline); {
		<-time.After(10 * time.Millisecond)
	}
	if n := runtime.NumGoroutine(); n > before {
		t.Errorf("%d goroutines before, %d after", before, n)
	}
}

// TestServedReceiverReloads through the whole of serve's reload: the series say so, and a taken port leaves all as it was.
func TestServedReceiverReloads(t *testing.T) {
	a, b := freeAddress(t), freeAddress(t)
	const text = "slos: [{name: chat, clauses: {ttft: 250ms}, objective: 0.95}]\nengines: {targets: [{id: a, url: \"http://127.0.0.1:1/metrics\"}]}\nspans: {listen: %q%s}\n"
	file := writeFile(t, "goodput.yaml", fmt.Sprintf(text, a, ""))
	logs := newLockedBuffer()
	s, err := newServed(file, slog.New(slog.NewTextHandler(logs, nil)))
	if err != nil {
		t.Fatal(err)
	}
	defer s.wait()
	reload := func(address, more string) error {
		t.Helper()
		if err := os.WriteFile(file, fmt.Appendf(nil, text, address, more), 0o600); err != nil {
			t.Fatal(err)
		}
		return s.reload()
	}
	if in := s.inputs(); in.Spans == nil || in.Spans.Room != 65_536 || in.AccessFilesBroken != 0 {
		t.Fatalf("inputs %+v", in)
	}
	if err := reload(b, ""); err != nil || !accepts(b) || accepts(a) {
		t.Errorf("the reload to another address: %v, %v, %v", err, accepts(b), accepts(a))
	}
	if err := reload(b, ", buffer: 1000"); err != nil || s.inputs().Spans.Room != 1000 {
		t.Errorf("the reload of the buffer: %v, %+v", err, s.inputs().Spans)
	}
	token := writeFile(t, "token", "secret-token")
	if err := reload(b, fmt.Sprintf(", bearer_token_file: %q", token)); err != nil {
		t.Fatal(err)
	}
	if status := sendSpans(t, "http", b, exportOf(t, nil, sentSpan{id: 1})); status != 401 {
		t.Errorf("without the token the answer is %d", status)
	}
	if err := reload(a, ", grpc_listen: \""+b+"\""); err == nil || !strings.Contains(err.Error(), "under the other protocol") || s.inputs().ReloadOK || !accepts(b) {
		t.Errorf("error %v", err)
	}
	if err := os.WriteFile(file, []byte(strings.Replace(fmt.Sprintf(text, a, ""), fmt.Sprintf("spans: {listen: %q}\n", a), "", 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := s.reload(); err != nil || accepts(b) || s.inputs().Spans != nil {
		t.Errorf("without spans: %v, %v", err, s.inputs().Spans)
	}
	if !strings.Contains(logs.String(), "Taking spans in") || strings.Contains(logs.String(), "secret-token") {
		t.Errorf("the log: %s", logs)
	}
}

// TestAStartOnATakenPortSaysWhatToDo.
func TestAStartOnATakenPortSaysWhatToDo(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	_, err = newServed(writeFile(t, "goodput.yaml", fmt.Sprintf("slos: [{name: chat, clauses: {ttft: 250ms}, objective: 0.95}]\nengines: {targets: [{id: a, url: \"http://127.0.0.1:1\"}]}\nspans: {listen: %q}\n", taken.Addr())), slog.New(slog.DiscardHandler))
	if err == nil || !strings.Contains(err.Error(), "spans.listen: cannot listen at "+taken.Addr().String()) || !strings.Contains(err.Error(), "choose another port") {
		t.Errorf("error %v", err)
	}
}
