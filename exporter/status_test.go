package exporter

import (
	"context"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/goodput-exporter/goodput-exporter/exporter/fact"
	"github.com/goodput-exporter/goodput-exporter/exporter/fold"
)

func TestStatusPageSaysWhatHolds(t *testing.T) {
	e := polledOnce(t, func(_ context.Context, t fact.Target) fact.Poll {
		if t.ID == "d" {
			return fact.Poll{Reason: fact.ReasonAuth, Detail: "give a <token>"}
		}
		return fact.Poll{Sample: &fact.EngineSample{}}
	}, io.Discard)
	_, body := get(t, serve(t, e), "/", "")
	for _, want := range []string{
		"round 1 ended", "one is due every 10s", "http://10.0.0.7:8000/metrics",
		"between 76.9 % and 86.6 % of 104 sequences since 2023-11-14 22:13 UTC",
		"95 % of sequences meet ttft&lt;=250ms,tpot&lt;=25ms, over 30d",
		"unknown: no tpot histogram", "warming up: no judgement window has been committed yet",
		"never seen: auth, give a &lt;token&gt;", "stalled: work is in flight, and nothing moves",
		"no ledger: the page has no http_requests_total",
	} {
		if !strings.Contains(body, want) {
			t.Errorf("%q is not on the page", want)
		}
	}
	if strings.Contains(body, "<script") || strings.Contains(body, "<token>") {
		t.Error("the page has a script or unescaped text")
	}
	if t.Failed() {
		t.Log(body)
	}
}

// TestShareIsNeverBetterThanTheTruth: ends are rounded outwards.
func TestShareIsNeverBetterThanTheTruth(t *testing.T) {
	for name, c := range map[string]struct {
		lower, upper, of uint64
		want             string
	}{
		"all":                         {10, 10, 10, "100.0 %"},
		"all but one of many":         {999999, 999999, 1000000, "99.9 %"},
		"an interval":                 {1, 2, 3, "between 33.3 % and 66.7 %"},
		"an interval near all":        {999998, 999999, 1000000, "between 99.9 % and 100.0 %"},
		"none":                        {0, 0, 7, "0.0 %"},
		"an interval from none":       {0, 1, 1000000, "between 0.0 % and 0.1 %"},
		"what floats would round off": {29, 29, 100, "29.0 %"},
	} {
		if got := share(&fold.SLO{Lower: c.lower, Upper: c.upper, Requests: c.of}); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}

func TestPhasesInWords(t *testing.T) {
	down := map[string]fact.Poll{"a": {Reason: fact.ReasonTimeout, Detail: "no first byte"}}
	for name, c := range map[string]struct {
		engine fold.Engine
		want   string
		bad    bool
	}{
		"down with a failed poll":    {fold.Engine{ID: "a", Phase: fold.PhaseDown}, "down: timeout, no first byte", true},
		"down, but not polled":       {fold.Engine{ID: "b", Phase: fold.PhaseDown}, "down", true},
		"gone":                       {fold.Engine{ID: "a", Phase: fold.PhaseDown, Gone: true}, "gone: is no target any more", false},
		"judging":                    {fold.Engine{Phase: fold.PhaseJudging}, "judging", false},
		"a phase that is not known":  {fold.Engine{Phase: "odd"}, "odd", true},
		"warming up is no complaint": {fold.Engine{Phase: fold.PhaseWarming}, "warming up", false},
	} {
		if words, bad := phaseInWords(&c.engine, down); words != c.want || bad != c.bad {
			t.Errorf("%s: %q, bad %v", name, words, bad)
		}
	}
}

func TestTexts(t *testing.T) {
	for got, want := range map[string]string{
		span(30 * 24 * time.Hour): "30d", span(90 * time.Minute): "90m", span(250 * time.Millisecond): "250ms", span(1500 * time.Microsecond): "1.5ms", span(0): "0s",
		percent(0.999): "99.9 %", percent(0.95): "95 %", roughly(-time.Second): "0s", roughly(1234 * time.Microsecond): "1ms", roughly(61400 * time.Millisecond): "1m1s",
		shownURL(secretURL): "http://10.0.0.7:8000/metrics", shownURL("http://h/p#frag"): "http://h/p",
	} {
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	for _, hidden := range []string{"", "alice:s3cret@10.0.0.7", "ftp://alice:s3cret@h/x", "http://a b/", "http:///metrics"} {
		if got := shownURL(hidden); got != "" {
			t.Errorf("of %q %q is shown", hidden, got)
		}
	}
}
