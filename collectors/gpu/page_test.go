package gpu

import (
	"context"
	"encoding/pem"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/goodput-exporter/goodput-exporter/exporter/fact"
)

func pageAt(t testing.TB, cfg PageConfig) *Page {
	t.Helper()
	if cfg.Timeout == 0 {
		cfg.Timeout = 10 * time.Second
	}
	if cfg.MaxBody == 0 {
		cfg.MaxBody = 1 << 20
	}
	p, err := NewPage(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Close() })
	return p
}

func serve(t testing.TB, h http.HandlerFunc) string {
	t.Helper()
	server := httptest.NewUnstartedServer(h)
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.Start()
	t.Cleanup(server.Close)
	return server.URL + "/metrics"
}

func TestAPageIsRead(t *testing.T) {
	body := read(t, page48)
	address := serve(t, func(w http.ResponseWriter, r *http.Request) { w.Write(body) })
	before := unix(time.Now())
	p := pageAt(t, PageConfig{URL: address})
	r := p.Read(t.Context())
	if len(r.GPUs) != 2 || r.Source != p.Name() || r.Reason != "" || r.At < before || r.At > unix(time.Now())+1 || r.Driver != "580.65.06" {
		t.Errorf("got %s", shown(t, r))
	}
	for _, g := range r.GPUs {
		if g.SampledAt != 0 {
			t.Errorf("%s: the page does not say when it was sampled, and we say %v", g.UUID, g.SampledAt)
		}
	}
}

func TestPagesThatBringNothing(t *testing.T) {
	for sentence, c := range map[string]struct {
		answer http.HandlerFunc
		reason fact.Reason
		says   string
	}{
		"an empty page during a reload": {func(http.ResponseWriter, *http.Request) {}, fact.ReasonNotMetrics, "reloads"},
		"a collector failed":            {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(500) }, fact.ReasonStatus, "collectors failed"},
		"no such path":                  {http.NotFound, fact.ReasonStatus, "HTTP 404"},
		"guarded":                       {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(401) }, fact.ReasonAuth, "guarded"},
		"elsewhere":                     {func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/other", http.StatusFound) }, fact.ReasonRedirect, "not followed"},
		"too large":                     {func(w http.ResponseWriter, _ *http.Request) { w.Write(make([]byte, 1<<20+1)) }, fact.ReasonTooLarge, "1048576 bytes"},
		"cut off": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "100")
			w.Write([]byte("DCGM_FI_DEV_GPU_TEMP{UUID=\"GPU-a\"} 6"))
		}, fact.ReasonTruncated, "thrown away whole"},
		"no answer at all": {func(w http.ResponseWriter, _ *http.Request) {
			c, _, _ := w.(http.Hijacker).Hijack()
			c.Close()
		}, fact.ReasonConnect, "without an HTTP answer"},
	} {
		t.Run(sentence, func(t *testing.T) {
			address := serve(t, c.answer)
			r := pageAt(t, PageConfig{URL: address + "?token=geheim"}).Read(t.Context())
			if r.GPUs != nil || r.Reason != c.reason || !strings.Contains(r.Detail, c.says) || !strings.HasPrefix(r.Detail, address+": ") || strings.Contains(r.Detail, "geheim") {
				t.Errorf("got %s: %s", r.Reason, r.Detail)
			}
		})
	}
}

func TestAPageIsBoundInTime(t *testing.T) {
	stop := make(chan struct{})
	address := serve(t, func(w http.ResponseWriter, r *http.Request) {
		io.WriteString(w, "DCGM_FI_DEV_GPU_TEMP{UUID=\"GPU-a\"} 61\n")
		w.(http.Flusher).Flush()
		<-stop
	})
	defer close(stop)
	if r := pageAt(t, PageConfig{URL: address, Timeout: 30 * time.Millisecond}).Read(t.Context()); r.Reason != fact.ReasonTimeout || r.GPUs != nil {
		t.Errorf("its own timeout: %s %s", r.Reason, r.Detail)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Millisecond)
	defer cancel()
	if r := pageAt(t, PageConfig{URL: address}).Read(ctx); r.Reason != fact.ReasonTimeout {
		t.Errorf("the round's deadline: %s %s", r.Reason, r.Detail)
	}
	gone, stopped := context.WithCancel(t.Context())
	stopped()
	if r := pageAt(t, PageConfig{URL: address}).Read(gone); r.Reason != fact.ReasonTimeout {
		t.Errorf("cancelled: %s %s", r.Reason, r.Detail)
	}
}

func TestNobodyListens(t *testing.T) {
	server := httptest.NewServer(http.NotFoundHandler())
	address := server.URL
	server.Close()
	if r := pageAt(t, PageConfig{URL: address}).Read(t.Context()); r.Reason != fact.ReasonRefused || !strings.Contains(r.Detail, "nothing listens") {
		t.Errorf("got %s: %s", r.Reason, r.Detail)
	}
	p := pageAt(t, PageConfig{URL: address})
	p.Close()
	if r := p.Read(t.Context()); r.Reason != fact.ReasonNoSource {
		t.Errorf("closed: %s", r.Reason)
	}
}

func TestAPageBehindADoor(t *testing.T) {
	dir := t.TempDir()
	file := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	var want string
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != want {
			w.WriteHeader(401)
			return
		}
		io.WriteString(w, "DCGM_FI_DEV_GPU_TEMP{UUID=\"GPU-a\"} 61\n")
	}))
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.StartTLS()
	defer server.Close()
	ca := file("ca", string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})))
	token := file("token", "one\n")
	p := pageAt(t, PageConfig{URL: server.URL, Access: Access{BearerTokenFile: token, CAFile: ca}})
	check := func(sentence string, p *Page, header string, reason fact.Reason, says string) {
		t.Helper()
		want = header
		if r := p.Read(t.Context()); r.Reason != reason || !strings.Contains(r.Detail, says) {
			t.Errorf("%s: got %s %s", sentence, r.Reason, r.Detail)
		}
	}
	check("a token", p, "Bearer one", "", "")
	file("token", "two")
	check("a token that was rotated", p, "Bearer two", "", "")
	file("token", "")
	check("a token in the middle of its rotation", p, "Bearer two", "", "")
	check("a user in files", pageAt(t, PageConfig{URL: server.URL, Access: Access{Username: "u", PasswordFile: file("password", "p"), CAFile: ca}}), "Basic dTpw", "", "")
	withUser, _ := url.Parse(server.URL)
	withUser.User = url.UserPassword("u", "p")
	check("a user in the url", pageAt(t, PageConfig{URL: withUser.String(), Access: Access{CAFile: ca}}), "Basic dTpw", "", "")
	check("an unknown authority", pageAt(t, PageConfig{URL: server.URL}), "", fact.ReasonConnect, "certificate is not accepted")
	check("no such token", pageAt(t, PageConfig{URL: server.URL, Access: Access{BearerTokenFile: filepath.Join(dir, "none")}}), "", fact.ReasonAuth, "bearer_token_file "+filepath.Join(dir, "none")+" cannot be used: no such file")
	check("no authority in the file", pageAt(t, PageConfig{URL: server.URL, Access: Access{CAFile: token}}), "", fact.ReasonAuth, "no PEM certificate")
}

func TestPageSettings(t *testing.T) {
	good := PageConfig{URL: DefaultPageURL, Timeout: time.Second, MaxBody: 1}
	for says, spoil := range map[string]func(*PageConfig){
		"the url is not":             func(c *PageConfig) { c.URL = "ftp://secret@x" },
		"timeout 0s":                 func(c *PageConfig) { c.Timeout = 0 },
		"body limit 0":               func(c *PageConfig) { c.MaxBody = 0 },
		"exclude each other":         func(c *PageConfig) { c.Access = Access{BearerTokenFile: "a", Username: "b", PasswordFile: "c"} },
		"password_file go together":  func(c *PageConfig) { c.Access = Access{Username: "b"} },
		"cert_file and key_file go":  func(c *PageConfig) { c.Access = Access{KeyFile: "b"} },
		"such as http://127.0.0.1:9": func(c *PageConfig) { c.URL = "" },
	} {
		cfg := good
		spoil(&cfg)
		if _, err := NewPage(cfg); err == nil || !strings.Contains(err.Error(), says) || strings.Contains(err.Error(), "secret") {
			t.Errorf("got %v, want %q", err, says)
		}
	}
}

// page is one card's rows.
func cardPage(uuid string, watts, joules float64) string {
	return fmt.Sprintf("DCGM_FI_DEV_POWER_USAGE{UUID=%q} %v\nDCGM_FI_DEV_GPU_ENERGY_JOULES_TOTAL{UUID=%q} %v\n", uuid, watts, uuid, joules)
}

func TestACardWhoseSamplingStopped(t *testing.T) {
	d := NewDecoder("", 0)
	var r fact.GPUReading
	for at := 0.0; at <= 600; at += 15 {
		step := collections(at)
		r = d.Decode([]byte(cardPage("GPU-a", 300, 1000)+cardPage("GPU-b", 300, 1000+step*9000)+cardPage("GPU-c", 0, 1000)+"DCGM_FI_DEV_GPU_TEMP{UUID=\"GPU-d\"} 61\n"), at)
		a, b, c, e := r.GPUs[0], r.GPUs[1], r.GPUs[2], r.GPUs[3]
		if stuck := at > DefaultStuckAfter.Seconds(); a.Lost != stuck || a.Power.Known == stuck || stuck == (len(r.Warnings) == 0) {
			t.Fatalf("at %v: %+v %q", at, a, r.Warnings)
		}
		if !b.Power.Known || !c.Energy.Known || !e.Temperature.Known {
			t.Fatalf("at %v a card was withheld that moves, draws nothing, or tells no energy: %s", at, shown(t, r))
		}
	}
	if want := "GPU-a shows the same values, energy included, for more than 10m0s"; !strings.HasPrefix(r.Warnings[0], want) || dropped(r, dropStale) != 2 {
		t.Errorf("warned %q, dropped %+v", r.Warnings, r.Dropped)
	}
	if r = d.Decode([]byte(cardPage("GPU-a", 300, 1001)), 615); r.GPUs[0].Lost || !r.GPUs[0].Power.Known {
		t.Errorf("it moves again: %s", shown(t, r))
	}
}

// collections counts the collections of an exporter that collects every 30 s.
func collections(at float64) float64 { return float64(int(at / 30)) }

func TestAPageOnWhichNothingMoves(t *testing.T) {
	d := NewDecoder("", time.Minute)
	page := []byte(cardPage("GPU-a", 300, 1000) + "DCGM_FI_PROF_SM_ACTIVE{UUID=\"GPU-a\",GPU_I_ID=\"1\"} 0.5\n")
	for at := 0.0; at <= 60; at += 15 {
		if r := d.Decode(page, at); len(r.GPUs) != 2 || r.Reason != "" {
			t.Fatalf("at %v: %s", at, shown(t, r))
		}
	}
	r := d.Decode(page, 75)
	if r.GPUs != nil || r.Reason != fact.ReasonStale || dropped(r, dropStale) != 3 {
		t.Errorf("got %s", shown(t, r))
	}
}
