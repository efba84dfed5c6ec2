package fold

import (
	"fmt"
	"slices"
	"testing"

	"github.com/goodput-exporter/goodput-exporter/exporter/fact"
)

// TestATargetThatIsLeavingIsTold: by its name, its pod and its process, and never by its address.
func TestATargetThatIsLeavingIsTold(t *testing.T) {
	elsewhere := inPod("c", "http://10.0.0.3:8000/metrics", "", "vllm-0", "prod") // the pod that came for a's, by its name
	here := inPod("c", page1, "", "vllm-0", "prod")
	for name, c := range map[string]struct {
		before, now, leaving []fact.Target
		from                 fact.Origin
		target, how          string // how or why
	}{
		"its name":                                     {two, two[1:], two[:1], fact.Origin{Engine: "a"}, "a", ByEngine},
		"its name, and there is no other target":       {two[:1], nil, two[:1], fact.Origin{Engine: "a"}, "a", ByEngine},
		"the uid of its pod":                           {pods, pods[1:], pods[:1], fact.Origin{PodUID: "u1", Peer: "10.0.0.2"}, "a", ByPod},
		"the name of its pod":                          {pods, pods[1:], pods[:1], fact.Origin{PodName: "vllm-0"}, "a", ByPod},
		"its process, through a Collector":             {two, two[1:], two[:1], fact.Origin{Instance: "ia", Peer: "10.0.0.9"}, "a", ByInstance},
		"its process, and there is no other target":    {two, nil, two[:1], fact.Origin{Instance: "ia"}, "a", ByInstance},
		"its process, from its address":                {two, two[1:], two[:1], fact.Origin{Instance: "ia", Peer: "10.0.0.1"}, "a", ByInstance},
		"its process, from the address of another":     {two, two[1:], two[:1], fact.Origin{Instance: "ia", Peer: "10.0.0.2"}, "", UnmatchedAmbiguous},
		"its address alone":                            {two, two[1:], two[:1], fact.Origin{Peer: "10.0.0.1"}, "", UnmatchedNothing},
		"its address, and there is no other target":    {two, nil, two[:1], fact.Origin{Peer: "10.0.0.1"}, "", UnmatchedNoTarget},
		"another process at its address":               {two, two[1:], two[:1], fact.Origin{Instance: "ix", Peer: "10.0.0.1"}, "", UnmatchedNothing},
		"another process, and there is no other":       {two, nil, two[:1], fact.Origin{Instance: "ix"}, "", UnmatchedNoTarget},
		"the address of another":                       {two, two[1:], two[:1], fact.Origin{Peer: "10.0.0.2"}, "b", ByAddress},
		"the pod's name, of two by now":                {namesakes[:1], []fact.Target{elsewhere}, namesakes[:1], fact.Origin{PodName: "vllm-0"}, "", UnmatchedAmbiguous},
		"that, from the address of the new one":        {namesakes[:1], []fact.Target{elsewhere}, namesakes[:1], fact.Origin{PodName: "vllm-0", Peer: "10.0.0.3"}, "c", ByAddress},
		"that, from the address of the old one":        {namesakes[:1], []fact.Target{elsewhere}, namesakes[:1], fact.Origin{PodName: "vllm-0", Peer: "10.0.0.1"}, "", UnmatchedAmbiguous},
		"that, from the address of both":               {namesakes[:1], []fact.Target{here}, namesakes[:1], fact.Origin{PodName: "vllm-0", Peer: "10.0.0.1"}, "", UnmatchedAmbiguous},
		"another pod, while only the leaving says its": {pods, two[1:], pods[:1], fact.Origin{PodUID: "u9", PodName: "vllm-9", Peer: "10.0.0.2"}, "b", ByAddress},
		"nothing":                       {two, two[1:], two[:1], fact.Origin{}, "", UnmatchedNothing},
		"its name, when it has left":    {two, two[1:], nil, fact.Origin{Engine: "a"}, "", UnmatchedEngine},
		"its process, when it has left": {two, two[1:], nil, fact.Origin{Instance: "ia"}, "", UnmatchedNothing},
		"its process, when it is back":  {two, two, nil, fact.Origin{Instance: "ia"}, "a", ByInstance},
	} {
		t.Run(name, func(t *testing.T) {
			m := &Matcher{}
			m.know(c.before, nil, 100)
			m.match(fromA, 100)
			m.know(nil, c.before, 105) // all were leaving
			m.know(c.now, c.leaving, 110)
			if target, how, why := m.match(&c.from, 111); target != c.target || how+why != c.how {
				t.Errorf("matched to %q by %q, unmatched for %q; want %q, %q", target, how, why, c.target, c.how)
			}
		})
	}
}

// TestWhatComesOfAnEngineThatIsGone: spans that were on their way when it went are its last window's.
func TestWhatComesOfAnEngineThatIsGone(t *testing.T) {
	named := func(ends ...float64) []fact.Span {
		return each(spansAt(ends...), func(_ int, s *fact.Span) { s.Origin = &fact.Origin{Engine: "a"} })
	}
	s := hear(t, objective_("x", 0.25, 0.025)).page(100, done(0)).heard(112, named(110)...).page(130, done(2))
	s.targets = nil
	s.heard(132)
	s.heard(136, named(120)...)
	equal(t, "committed early", len(s.windows), 0)
	s.heard(145)
	equal(t, "windows", len(s.windows), 1)
	equal(t, "its spans", s.windows[0].Spans, WindowSpans{Expected: true, Seen: 2, Complete: true})
	equal(t, "matched", fmt.Sprint(s.engine().Spans.Matched), fmt.Sprint([]Tally{{ByEngine, 2}}))
	s.heard(146, named(121)...)
	if un := s.last.Unmatched.Counts; !slices.Equal(un, []Tally{{UnmatchedNoTarget, 1}}) {
		t.Errorf("when its windows are committed and the grace is over: unmatched %v", un)
	}
}
