package gpu

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/goodput-exporter/goodput-exporter/exporter/fact"
)

func TestAPageThatHasToBeFound(t *testing.T) {
	body := read(t, page48)
	var asked string
	first := serve(t, func(w http.ResponseWriter, r *http.Request) { asked = "first"; w.Write(body) })
	second := serve(t, func(w http.ResponseWriter, r *http.Request) { asked = "second"; w.Write(body) })
	var address, why string
	p := pageAt(t, PageConfig{Locate: func() (string, string) { return address, why }})
	for _, c := range []struct {
		sentence, address, why string
		reason                 fact.Reason
		says, asks             string
	}{
		{"nowhere yet", "", "no pod with app=nvidia-dcgm-exporter runs on node-a", fact.ReasonConnect, "dcgm-exporter: there is no page to read: no pod with app=nvidia-dcgm-exporter runs on node-a", ""},
		{"in a pod", first, "pod gpu/dcgm-1", "", "the page of pod gpu/dcgm-1", "first"},
		{"in another one", second, "pod gpu/dcgm-2", "", "the page of pod gpu/dcgm-2", "second"},
		{"in one that does not answer", "http://127.0.0.1:1/metrics", "pod gpu/dcgm-3", fact.ReasonRefused, "http://127.0.0.1:1/metrics (pod gpu/dcgm-3): connection refused", ""},
		{"at what is no address", "127.0.0.1:9400", "pod gpu/dcgm-4", fact.ReasonConnect, "no address of a page", ""},
		{"back again", first, "pod gpu/dcgm-1\nlevel=error", "", "the page of pod gpu/dcgm-1level=error", "first"},
		{"nowhere any more", "", "it is gone", fact.ReasonConnect, "it is gone", ""},
	} {
		asked, address, why = "", c.address, c.why
		r := p.Read(t.Context())
		if r.Source != NamePage || r.Reason != c.reason || !strings.Contains(r.Detail, c.says) || asked != c.asks || (r.GPUs == nil) != (c.reason != "") {
			t.Errorf("%s: asked %q, got %s", c.sentence, asked, shown(t, r))
		}
	}
}

func TestAFoundPageIsShownCredentialsOnlyWhereItIsTrusted(t *testing.T) {
	body := read(t, page48)
	var shownTo string
	address := serve(t, func(w http.ResponseWriter, r *http.Request) { shownTo = r.Header.Get("Authorization"); w.Write(body) })
	token := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(token, []byte("s3cret\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	located := func() (string, string) {
		return strings.Replace(address, "http://", "http://someone:else@", 1), "pod a/b"
	}
	for _, trusted := range []bool{false, true} {
		want := map[bool]string{true: "Bearer s3cret"}[trusted]
		p := pageAt(t, PageConfig{Locate: located, Trusted: trusted, Access: Access{BearerTokenFile: token}})
		if r := p.Read(t.Context()); r.Reason != "" || shownTo != want {
			t.Errorf("trusted %v: shown %q, want %q; %s", trusted, shownTo, want, shown(t, r))
		}
	}
}

func TestAnotherExportersPageIsNoStuckOne(t *testing.T) {
	body := read(t, page48)
	first := serve(t, func(w http.ResponseWriter, r *http.Request) { w.Write(body) })
	second := serve(t, func(w http.ResponseWriter, r *http.Request) { w.Write(body) })
	address := first
	p := pageAt(t, PageConfig{Locate: func() (string, string) { return address, "pod a/b" }, StuckAfter: time.Nanosecond})
	lost := func() bool { r := p.Read(t.Context()); return r.Reason != "" || r.GPUs[0].Lost }
	if lost() || !lost() {
		t.Error("the second reading of one page is not stuck, or the first is")
	}
	if address = second; lost() {
		t.Error("the first page of another exporter is stuck")
	}
}

func TestAPageIsAtOnePlaceOrLookedFor(t *testing.T) {
	_, err := NewPage(PageConfig{URL: DefaultPageURL, Locate: func() (string, string) { return "", "" }, Timeout: time.Second, MaxBody: 1})
	if err == nil || !strings.Contains(err.Error(), "exclude each other") {
		t.Errorf("got %v", err)
	}
	a, err := NewAuto(AutoConfig{Page: PageConfig{Locate: func() (string, string) { return "", "none runs here" }, Timeout: time.Second, MaxBody: 1}, Child: ChildConfig{Path: "/nowhere", Interval: time.Second}})
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	if r := a.Read(t.Context()); !strings.Contains(r.Detail, "none runs here") {
		t.Errorf("got %s", shown(t, r))
	}
}

func TestBrokenFilesOfAPagesAccess(t *testing.T) {
	body := read(t, page48)
	address := serve(t, func(w http.ResponseWriter, _ *http.Request) { w.Write(body) })
	dir := t.TempDir()
	file := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	good, empty, gone, text := file("good", "x\n"), file("empty", ""), filepath.Join(dir, "gone"), file("text", "no certificate\n")
	for sentence, c := range map[string]struct {
		access Access
		want   string // names, of dir
	}{
		"nothing to read":            {Access{}, ""},
		"a token":                    {Access{BearerTokenFile: good}, ""},
		"a token that is gone":       {Access{BearerTokenFile: gone}, "gone"},
		"an empty token":             {Access{BearerTokenFile: empty}, "empty"},
		"a password that is gone":    {Access{Username: "me", PasswordFile: gone}, "gone"},
		"authorities that are none":  {Access{BearerTokenFile: good, CAFile: text}, "text"},
		"a certificate that is gone": {Access{CertFile: gone, KeyFile: text}, "gone"},
		"a pair that is none":        {Access{CertFile: good, KeyFile: text}, "good text"},
		"two of them":                {Access{BearerTokenFile: gone, CAFile: text}, "gone text"},
	} {
		p := pageAt(t, PageConfig{URL: address, Access: c.access})
		if p.BrokenFiles() != nil {
			t.Errorf("%s: broken before it was needed", sentence)
		}
		p.Read(t.Context())
		var names []string
		for _, path := range NewFiles(p, time.Minute).BrokenFiles() {
			names = append(names, filepath.Base(path))
		}
		if got := strings.Join(names, " "); got != c.want {
			t.Errorf("%s: got %q, want %q", sentence, got, c.want)
		}
	}
}
