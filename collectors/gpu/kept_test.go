package gpu

import (
	"bytes"
	"encoding/base64"
	"net/http"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/goodput-exporter/goodput-exporter/collectors/gpu/frame"
	"github.com/goodput-exporter/goodput-exporter/exporter/fact"
)

// TestWhatWasKeptIsReadAgain: a Replayer makes of pages what the source made of them.
func TestWhatWasKeptIsReadAgain(t *testing.T) {
	page := read(t, page48)
	status := http.StatusOK
	p := pageAt(t, PageConfig{Keep: true, URL: serve(t, func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(status)
		w.Write(page)
	})})
	again := NewReplayer()
	for _, body := range []string{string(page), "\n", strings.ReplaceAll(string(page), " 61", " 62")} {
		page = []byte(body)
		live := p.Read(t.Context())
		kept := p.Kept()
		if len(kept) != 1 || !bytes.Equal(kept[0].Body, page) || kept[0].ContentType != TypePage || p.Kept() != nil {
			t.Fatalf("kept %d of %q", len(kept), live.Reason)
		}
		replayed := again.Read(&kept[0])
		live.At, replayed.At = 0, 0
		live.Detail = strings.TrimPrefix(live.Detail, p.place.address()+": ")
		if !reflect.DeepEqual(live, replayed) {
			t.Errorf("live %s, replayed %s", shown(t, live), shown(t, replayed))
		}
	}
	status = http.StatusInternalServerError
	if r := p.Read(t.Context()); r.Reason != fact.ReasonStatus || p.Kept() != nil {
		t.Error("something is kept of a page that was not had")
	}
	quiet := pageAt(t, PageConfig{URL: p.cfg.URL})
	status = http.StatusOK
	if r := quiet.Read(t.Context()); r.Reason != "" || quiet.Kept() != nil {
		t.Error("something is kept that nobody asked for")
	}
}

func keeping(c *ChildConfig) { c.Keep = true }

// TestFramesThatWereKeptAreReadAgain: errors and identities over two lives of the child are those that it had.
func TestFramesThatWereKeptAreReadAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		xid := func(at int64) frame.Event {
			return frame.Event{Kind: frame.Card, ID: 0, Field: frame.FieldXID, Time: at, Int: 31}
		}
		life := func(frames ...*frame.Frame) func(*fake) {
			return func(f *fake) {
				for _, fr := range frames {
					f.bring(fr)
					time.Sleep(time.Second)
				}
				f.die(nil)
			}
		}
		// Ids have moved, one card does not say who it is, and the host engine tells of an error that was counted.
		second := tick(h100(0, frame.String(frame.FieldUUID, 0, nowUS, "GPU-other")), h100(1, frame.String(frame.FieldUUID, 0, nowUS, "<<<NOT_FOUND>>>")),
			h100(2, frame.String(frame.FieldUUID, 0, nowUS, "GPU-00000000")))
		second.Events = []frame.Event{{Kind: frame.Card, ID: 2, Field: frame.FieldXID, Time: nowUS, Int: 31}}
		n := raiseWith(t, keeping,
			life(&frame.Frame{At: now, Interval: 1, Entities: []frame.Entity{h100(0), h100(1)}, Events: []frame.Event{xid(nowUS - 5)}},
				&frame.Frame{At: now + 1, Interval: 1, Entities: []frame.Entity{h100(0), h100(1)}, Events: []frame.Event{xid(nowUS - 1), xid(nowUS)}}),
			life(second), silent)
		after(5 * time.Second)
		kept, live := n.child.Kept(), n.child.newest
		n.child.Close()
		var firsts []bool
		again, got := NewReplayer(), fact.GPUReading{}
		for i := range kept {
			firsts = append(firsts, kept[i].First)
			got = again.Read(&kept[i])
			if i == 1 && (len(got.GPUs) != 2 || len(got.GPUs[0].XIDs) != 1 || got.GPUs[0].XIDs[0].Count != 3) {
				t.Errorf("after two frames %s", shown(t, got))
			}
		}
		for i := range live.GPUs {
			live.GPUs[i].Node = "" // of the configuration
		}
		if len(live.GPUs) != 2 || len(live.GPUs[0].XIDs) != 1 || live.GPUs[0].XIDs[0].Count != 3 {
			t.Errorf("in its second life the child says %s", shown(t, live))
		}
		if !reflect.DeepEqual(firsts, []bool{true, false, true}) || !reflect.DeepEqual(got, live) {
			t.Errorf("firsts %v, live %s, replayed %s", firsts, shown(t, live), shown(t, got))
		}
	})
}

func TestKeptFramesAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := raiseWith(t, keeping, healthy)
		after(2 * maxKept * time.Second)
		kept := n.child.Kept()
		n.child.Close()
		if len(kept) != maxKept || kept[0].First {
			t.Errorf("%d kept", len(kept))
		}
	})
}

func TestWhatIsNoFrameInARecording(t *testing.T) {
	for body, reason := range map[string]fact.Reason{
		"": fact.ReasonParse, "{": fact.ReasonParse, "DCGM_FI_DEV_GPU_TEMP 61\n": fact.ReasonParse, `{"version":1,"at":"now"}`: fact.ReasonParse, `{"version":1}`: fact.ReasonParse,
		`{"version":99,"at":1}`: fact.ReasonDialect, strings.Repeat(" ", frame.MaxBytes+1): fact.ReasonParse,
	} {
		if r := NewReplayer().Read(&Raw{At: 5, ContentType: TypeFrame, Body: []byte(body)}); r.Reason != reason || r.GPUs != nil || r.Detail == "" {
			t.Errorf("%.40q: got %s", body, shown(t, r))
		}
	}
}

func TestSecretsOfAPageAreMasked(t *testing.T) {
	dir := t.TempDir()
	files := map[string]string{"token": "t0ken-of-a-file", "password": "pass-of-a-file"}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	address := strings.TrimPrefix(serve(t, func(w http.ResponseWriter, r *http.Request) { w.Write([]byte("x 1\n")) }), "http://")
	for sentence, c := range map[string]struct {
		cfg    PageConfig
		secret []string
	}{
		"a password and a query in the url": {PageConfig{URL: "http://me:pass-of-url@" + address + "?key=query%20secret"}, []string{"pass-of-url", "query secret"}},
		"a token of a file":                 {PageConfig{URL: "http://" + address, Access: Access{BearerTokenFile: filepath.Join(dir, "token")}}, []string{"t0ken-of-a-file"}},
		"a password of a file": {PageConfig{URL: "http://" + address, Access: Access{Username: "me", PasswordFile: filepath.Join(dir, "password")}},
			[]string{"pass-of-a-file", base64.StdEncoding.EncodeToString([]byte("me:pass-of-a-file"))}},
	} {
		c.cfg.Keep = true
		p := pageAt(t, c.cfg)
		p.Read(t.Context())
		kept := p.Kept()
		if len(kept) != 1 {
			t.Fatalf("%s: kept %d", sentence, len(kept))
		}
		for _, s := range c.secret {
			if got := kept[0].Mask("a " + s + " b"); got != "a <secret> b" {
				t.Errorf("%s: %q", sentence, got)
			}
		}
		if got := kept[0].Mask("nothing secret"); got != "nothing secret" {
			t.Errorf("%s: %q", sentence, got)
		}
	}
}

func TestAutoKeepsWhatItsChoiceKept(t *testing.T) {
	body := read(t, page48)
	a, err := NewAuto(AutoConfig{
		Page:  PageConfig{URL: serve(t, func(w http.ResponseWriter, _ *http.Request) { w.Write(body) }), Timeout: 10 * time.Second, MaxBody: 1 << 20, Keep: true},
		Child: ChildConfig{Path: "/nowhere", Interval: time.Second},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	f := NewFiles(a, time.Minute)
	if f.Kept() != nil {
		t.Error("kept before a choice was made")
	}
	f.Read(t.Context())
	if kept := f.Kept(); len(kept) != 1 || !bytes.Equal(kept[0].Body, body) {
		t.Errorf("kept %d", len(kept))
	}
	if NewFiles(&given{}, time.Minute).Kept() != nil {
		t.Error("a source that keeps nothing kept something")
	}
}
