package gpu

import (
	"context"
	"errors"
	"net/http"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/goodput-exporter/goodput-exporter/exporter/fact"
)

// scripted is a source that a test tells what to bring.
type scripted struct {
	name   string
	brings func() fact.Reason
	closed atomic.Bool // by a goroutine that the source does not wait for
}

func (s *scripted) Name() string { return s.name }
func (s *scripted) Close() error { s.closed.Store(true); return nil }

func (s *scripted) Read(context.Context) fact.GPUReading {
	if why := s.brings(); why != "" {
		return fact.GPUReading{Source: s.name, Reason: why, Detail: s.name + " failed"}
	}
	return fact.GPUReading{Source: s.name, GPUs: []fact.GPU{{UUID: "GPU-a"}}}
}

// auto is an Auto over scripted sources.
type auto struct {
	*Auto
	t           *testing.T
	page, child fact.Reason // what they bring
	installed   bool
	opened      []*scripted
	log         logged
}

func newAuto(t *testing.T) *auto {
	t.Helper()
	a := &auto{t: t, installed: true}
	var err error
	a.Auto, err = NewAuto(AutoConfig{Page: PageConfig{Timeout: time.Second, MaxBody: 1 << 20}, Child: ChildConfig{Interval: time.Second}, Logger: a.log.logger()})
	if err != nil {
		t.Fatal(err)
	}
	a.Auto.page = &scripted{name: NamePage, brings: func() fact.Reason { return a.page }}
	a.open = func(fact.Reason) (Source, error) {
		if !a.installed {
			return nil, errors.New("goodput-dcgm is not installed")
		}
		s := &scripted{name: NameChild, brings: func() fact.Reason { return a.child }}
		a.opened = append(a.opened, s)
		return s, nil
	}
	t.Cleanup(func() {
		a.Close()
		for _, s := range a.opened {
			if !s.closed.Load() {
				t.Error("a child was left")
			}
		}
	})
	return a
}

// read reads once a second for a while, and holds the last reading against what is wanted.
func (a *auto) read(d time.Duration, source string, reason fact.Reason, says string) {
	a.t.Helper()
	var r fact.GPUReading
	for range int(d/time.Second) + 1 {
		r = a.Read(a.t.Context())
		time.Sleep(time.Second)
	}
	if r.Source != source || r.Reason != reason || !strings.Contains(r.Detail, says) || a.Name() != source {
		a.t.Errorf("got %s (%s) %q %q, want %s %q %q", r.Source, a.Name(), r.Reason, r.Detail, source, reason, says)
	}
}

// choices are the sources in the log, in their order.
func (a *auto) choices(want string) {
	a.t.Helper()
	var got []string
	for _, line := range a.log.lines("source of GPU telemetry") {
		_, rest, _ := strings.Cut(line, " gpu_source=")
		name, _, _ := strings.Cut(rest, " ")
		got = append(got, name)
	}
	if strings.Join(got, " ") != want {
		a.t.Errorf("logged %q, want %q", got, want)
	}
}

func TestThePageComesFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newAuto(t)
		if a.Name() != NameNone {
			t.Errorf("chosen before it was asked: %s", a.Name())
		}
		a.read(time.Hour, NamePage, "", "chosen since the dcgm-exporter page brings GPUs")
		if len(a.opened) != 0 {
			t.Error("a child was started although there is a page")
		}
		a.choices("dcgm-exporter")
	})
}

func TestThenTheChildThenNone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newAuto(t)
		a.page, a.child = fact.ReasonRefused, fact.ReasonStarting
		a.read(0, NameChild, fact.ReasonStarting, "chosen since there are no GPUs from dcgm-exporter failed")
		a.choices("")
		a.child = ""
		a.read(time.Hour, NameChild, "", "chosen since")
		a.choices("dcgm")
		a.child = fact.ReasonExited
		a.read(50*time.Second, NameChild, fact.ReasonExited, "dcgm failed; chosen")
		a.read(20*time.Second, NameNone, fact.ReasonNoSource, "none through DCGM: dcgm failed; install")
		a.choices("dcgm none")
		a.page = ""
		a.read(2*time.Minute, NamePage, "", "")
		a.choices("dcgm none dcgm-exporter")
	})
}

func TestAPageThatDiesForLongIsReplaced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newAuto(t)
		a.read(time.Minute, NamePage, "", "")
		a.page = fact.ReasonNotMetrics // a reload of a few seconds
		a.read(10*time.Second, NamePage, fact.ReasonNotMetrics, "")
		a.page = ""
		a.read(time.Minute, NamePage, "", "")
		a.page = fact.ReasonRefused
		a.read(2*time.Minute, NameChild, "", "")
		a.page = "" // no reason to change at once what works
		a.read(9*time.Minute, NameChild, "", "")
		a.read(time.Hour, NamePage, "", "chosen since the dcgm-exporter page brings GPUs again")
		if !a.opened[0].closed.Load() {
			t.Error("the child goes on beside the page")
		}
		a.choices("dcgm-exporter dcgm dcgm-exporter")
	})
}

func TestAPageThatComesAndGoesDoesNotTakeTheSourceAlong(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newAuto(t)
		begun := time.Now()
		changes, last := 0, ""
		// At its worst for the rule: there for a little longer than it must be, away for a little longer than patience.
		for time.Since(begun) < 24*time.Hour {
			minute := int(time.Since(begun)/time.Minute) % 15
			if a.page = ""; minute >= 12 {
				a.page = fact.ReasonRefused
			}
			if r := a.Read(t.Context()); r.Source != last {
				changes, last = changes+1, r.Source
			}
			time.Sleep(5 * time.Second)
		}
		if changes > 5 || last != NameChild {
			t.Errorf("the source changed %d times in a day, at last to %s", changes, last)
		}
		a.page = "" // from now on it stays
		a.read(3*time.Hour, NamePage, "", "")
	})
}

func TestAChildThatFailsIsReplacedByAPageAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newAuto(t)
		a.page = fact.ReasonRefused
		a.read(3*time.Minute, NameChild, "", "")
		a.page, a.child = "", fact.ReasonExited
		a.read(70*time.Second, NamePage, "", "")
		a.choices("dcgm dcgm-exporter")
	})
}

// TestDEP05: what we start ourselves is not in the way of what the operator has: see also TestDEP05 of goodput-dcgm.
func TestDEP05(t *testing.T) {
	own, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	child := ChildConfig{Path: own, Interval: time.Second, Embedded: true, Env: []string{roleKey + "=well"}}
	opened := func(page fact.Reason, engine bool) (*Child, error) {
		a, err := NewAuto(AutoConfig{Page: PageConfig{Timeout: time.Second, MaxBody: 1}, Child: child})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := a.openChild(page); err == nil || !strings.Contains(err.Error(), "for a while") {
			t.Errorf("just after the start: %v", err)
		}
		a.begun = a.begun.Add(-time.Hour)
		a.listens = func(address string) bool { return engine && address == DefaultAddress }
		s, err := a.openChild(page)
		if err != nil {
			return nil, err
		}
		s.Close()
		return s.(*Child), nil
	}
	for sentence, c := range map[string]struct {
		page     fact.Reason
		engine   bool // nv-hostengine listens
		embedded bool
		says     string
	}{
		"nobody is there":                         {fact.ReasonRefused, false, true, ""},
		"there is no pod with a page":             {fact.ReasonConnect, false, true, ""},
		"a host engine is there":                  {fact.ReasonRefused, true, false, ""},
		"the exporter fails":                      {fact.ReasonStatus, false, false, "no host engine is embedded"},
		"the exporter is slow":                    {fact.ReasonTimeout, false, false, "no host engine is embedded"},
		"the exporter wants to see a token":       {fact.ReasonAuth, false, false, "no host engine is embedded"},
		"the exporter reloads, and is empty":      {fact.ReasonNotMetrics, true, false, "no host engine is embedded"},
		"the exporter's own host engine is stale": {fact.ReasonStale, false, false, "no host engine is embedded"},
	} {
		switch c0, err := opened(c.page, c.engine); {
		case c.says != "":
			if err == nil || !strings.Contains(err.Error(), c.says) {
				t.Errorf("%s: got %v", sentence, err)
			}
		case err != nil || c0.cfg.Embedded != c.embedded || (c0.cfg.Address == DefaultAddress) == c.embedded:
			t.Errorf("%s: %v, %+v", sentence, err, c0)
		}
	}
	t.Run("an embedded one gives way when the page is back", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			a := newAuto(t)
			a.cfg.Child.Embedded = true
			a.page = fact.ReasonRefused
			a.read(3*time.Minute, NameChild, "", "")
			a.page = ""
			a.read(3*time.Minute, NamePage, "", "")
			synctest.Wait() // a child is closed beside the readings
			if !a.opened[0].closed.Load() {
				t.Error("it goes on beside the page")
			}
		})
	})
}

func TestANodeWithoutGPUsStaysQuiet(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newAuto(t)
		a.page, a.child = fact.ReasonRefused, fact.ReasonExited
		for range 24 * 3600 {
			if r := a.Read(t.Context()); r.GPUs != nil || r.Reason == "" {
				t.Fatalf("got %s", shown(t, r))
			}
			time.Sleep(time.Second)
		}
		a.choices("none")
		if n := len(a.opened); n < 40 || n > 60 {
			t.Errorf("%d children in a day", n)
		}
		a.installed = false
		a.read(2*time.Hour, NameNone, fact.ReasonNoSource, "goodput-dcgm is not installed; install")
		a.choices("none")
	})
}

func TestAutoOverRealSources(t *testing.T) {
	page := read(t, page48)
	status := http.StatusOK
	address := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(status)
		w.Write(page)
	})
	own, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	a, err := NewAuto(AutoConfig{
		Page:     PageConfig{URL: address, Timeout: 10 * time.Second, MaxBody: 1 << 20},
		Child:    ChildConfig{Path: own, Interval: 20 * time.Second, Env: []string{roleKey + "=well"}},
		Patience: time.Millisecond,
	})
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	if r := a.Read(t.Context()); r.Source != NamePage || len(r.GPUs) != 2 {
		t.Errorf("got %s", shown(t, r))
	}
	status = http.StatusInternalServerError
	time.Sleep(2 * time.Millisecond)
	a.cfg.Patience = time.Hour // for the child to come up in
	a.good = time.Time{}
	r := await(t, a, func(r fact.GPUReading) bool { return r.Source == NameChild && r.Reason == "" })
	if len(r.GPUs) != 1 || !strings.Contains(r.Detail, "HTTP 500") {
		t.Errorf("got %s", shown(t, r))
	}
	a.Close()
	if r := a.Read(t.Context()); r.Reason != fact.ReasonNoSource || r.Detail != "closed" {
		t.Errorf("closed: %s", shown(t, r))
	}
}

func TestAutoWithoutAnInterval(t *testing.T) {
	if _, err := NewAuto(AutoConfig{Page: PageConfig{Timeout: time.Second, MaxBody: 1}}); err == nil || !strings.Contains(err.Error(), "interval 0s") {
		t.Errorf("got %v", err)
	}
}
