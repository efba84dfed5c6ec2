package web

import (
	"reflect"
	"testing"

	"github.com/goodput-exporter/goodput-exporter/exporter/fold"
)

func TestSumsOfStepFunctions(t *testing.T) {
	for name, c := range map[string]struct {
		tracks []track
		want   []stretch
	}{
		"one engine is its own sum": {
			[]track{{"a", []step{{0, 60, 1}, {60, 120, 2}}, 0, 120}},
			[]stretch{{0, 60, 1, nil}, {60, 120, 2, nil}}},
		"windows that end at different times are added where both are": {
			[]track{{"a", []step{{0, 60, 1}, {60, 120, 2}}, 0, 120}, {"b", []step{{30, 90, 10}}, 30, 90}},
			[]stretch{{0, 30, 1, nil}, {30, 60, 11, nil}, {60, 90, 12, nil}, {90, 120, 2, nil}}},
		"a missing window is named and is no 0": {
			[]track{{"a", []step{{0, 60, 1}, {60, 120, 1}}, 0, 120}, {"b", []step{{0, 60, 5}}, 0, 120}},
			[]stretch{{0, 60, 6, nil}, {60, 120, 1, []int{1}}}},
		"where nothing is known there is a gap": {
			[]track{{"a", []step{{0, 60, 1}, {120, 180, 1}}, 0, 180}},
			[]stretch{{0, 60, 1, nil}, {120, 180, 1, nil}}},
		"an engine that came later is not missing before": {
			[]track{{"a", []step{{0, 60, 1}, {60, 120, 1}}, 0, 120}, {"b", []step{{60, 120, 5}}, 60, 120}},
			[]stretch{{0, 60, 1, nil}, {60, 120, 6, nil}}},
		"a window with a rate of 0 is a 0": {
			[]track{{"a", []step{{0, 60, 0}}, 0, 60}},
			[]stretch{{0, 60, 0, nil}}},
		"no engine": {nil, nil},
	} {
		t.Run(name, func(t *testing.T) {
			if got := add(c.tracks); !reflect.DeepEqual(got, c.want) {
				t.Errorf("%v, want %v", got, c.want)
			}
		})
	}
}

func TestGapsAreMeasured(t *testing.T) {
	ts := []track{{"a", []step{{0, 200, 1}}, 0, 200}, {"b", []step{{50, 60, 1}}, 0, 200}, {"c", []step{{0, 199.5, 1}}, 0, 200}}
	if got := gaps(ts, add(ts)); !reflect.DeepEqual(got, []gap{{"b", 190}}) {
		t.Errorf("%v", got)
	}
}

// TestTheCurveEndsWhereAllAreKnown: the newest windows of engines end at different times.
func TestTheCurveEndsWhereAllAreKnown(t *testing.T) {
	ends := func(end float64, gone bool) *fold.Engine {
		return &fold.Engine{Gone: gone, Past: fold.Past{Windows: []fold.PastWindow{{Start: end - 60, End: end}}}}
	}
	for name, c := range map[string]struct {
		engines []*fold.Engine
		want    float64
	}{
		"the earliest end of those that go on":   {[]*fold.Engine{ends(990, false), ends(960, false)}, 960},
		"one that has stopped is not waited for": {[]*fold.Engine{ends(990, false), ends(500, false)}, 990},
		"one that is gone is not waited for":     {[]*fold.Engine{ends(990, false), ends(960, true)}, 990},
		"when all have stopped, the newest end":  {[]*fold.Engine{ends(400, false), ends(500, false)}, 500},
		"an engine without windows is no engine": {[]*fold.Engine{ends(990, false), {}}, 990},
		"without any window there is nothing":    {[]*fold.Engine{{}}, 0},
	} {
		if got := horizonOf(c.engines, 60, 1000); got != c.want {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}

// TestRatesAreThoseOfTheLedgersOwnTime: an account that was put off began before its window.
func TestRatesAreThoseOfTheLedgersOwnTime(t *testing.T) {
	w := fold.PastWindow{Start: 60, End: 120, From: 0, Ledger: fold.Ledger{Arrived: exactly(240)}}
	if s, ok := arrivedCurve(&w); !ok || s != (step{0, 120, 2}) {
		t.Errorf("%v %v", s, ok)
	}
	if _, ok := arrivedCurve(&fold.PastWindow{Start: 0, End: 60}); ok {
		t.Error("unknown arrivals have a rate")
	}
	if _, ok := finishedCurve(&fold.PastWindow{Start: 0, End: 60}); ok {
		t.Error("an unknown throughput has a rate")
	}
	o := chat()
	unjudged := fold.PastWindow{Start: 0, End: 60, Verdicts: []fold.Verdict{{Objective: o, Sequences: known(60)}}}
	if _, ok := qualifiedCurve("chat", true)(&unjudged); ok {
		t.Error("a window that was not judged has goodput")
	}
	if _, ok := sequencesCurve("chat")(&unjudged); ok {
		t.Error("a window that was not judged is compared with goodput")
	}
}
