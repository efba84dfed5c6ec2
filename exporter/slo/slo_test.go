package slo

import (
	"math"
	"regexp"
	"slices"
	"testing"

	"github.com/goodput-exporter/goodput-exporter/exporter/fact"
)

func TestMeets(t *testing.T) {
	every := []Clause{{fact.TTFT, 1}, {fact.TPOT, .1}, {fact.E2E, 3}, {fact.Queue, .5}, {fact.Prefill, .5}, {fact.Decode, 2}, {fact.Inference, 2.2}}
	fine := fact.Request{TTFT: 1, E2E: 3, Queue: .5, Prefill: .125, Decode: 2, OutputTokens: 21}
	for name, c := range map[string]struct {
		request fact.Request
		clauses []Clause
		missed  []fact.Family
	}{
		"a latency equal to its threshold meets it": {request: fine, clauses: every},
		"each clause is missed on its own": {
			request: fact.Request{TTFT: 2, E2E: 5, Queue: 1, Prefill: 1, Decode: 3, OutputTokens: 21}, clauses: every,
			missed: []fact.Family{fact.TTFT, fact.TPOT, fact.E2E, fact.Queue, fact.Prefill, fact.Decode, fact.Inference},
		},
		"inference is prefill and decode": {
			request: fact.Request{Prefill: 1, Decode: 1.5}, clauses: []Clause{{fact.Inference, 2.25}}, missed: []fact.Family{fact.Inference},
		},
		"one token has no TPOT and meets the clause": {
			request: fact.Request{Decode: 9, OutputTokens: 1}, clauses: []Clause{{fact.TPOT, .1}},
		},
		"a latency that is not a number is missed": {
			request: fact.Request{TTFT: math.NaN()}, clauses: []Clause{{fact.TTFT, 1}}, missed: []fact.Family{fact.TTFT},
		},
	} {
		t.Run(name, func(t *testing.T) {
			o := Objective{Clauses: c.clauses}
			if ok, missed := o.Meets(c.request); ok != (c.missed == nil) || !slices.Equal(missed, c.missed) {
				t.Errorf("meets %t, missed %v; want missed %v", ok, missed, c.missed)
			}
		})
	}
}

func TestCovers(t *testing.T) {
	for name, c := range map[string]struct {
		match         Match
		engine, model string
		want          bool
	}{
		"no pattern covers everything":     {Match{}, "a", "llama", true},
		"both patterns have to match":      {Match{Model: regexp.MustCompile("^llama.*$"), Engine: regexp.MustCompile("^b$")}, "a", "llama-8b", false},
		"a model that matches":             {Match{Model: regexp.MustCompile("^llama.*$")}, "a", "llama-8b", true},
		"a model that does not match":      {Match{Model: regexp.MustCompile("^llama.*$")}, "a", "my-llama", false},
		"an engine whose model is unknown": {Match{Model: regexp.MustCompile("^llama.*$")}, "a", "", false},
	} {
		t.Run(name, func(t *testing.T) {
			if got := (&Objective{Match: c.match}).Covers(c.engine, c.model); got != c.want {
				t.Errorf("got %t, want %t", got, c.want)
			}
		})
	}
}

func TestDefaultPolicy(t *testing.T) {
	p := DefaultPolicy()
	for reason, want := range map[string]bool{"stop": true, "length": true, "abort": false, "error": false, "": false} {
		if p.Succeeds(reason) != want {
			t.Errorf("finish reason %q succeeds: %t, want %t", reason, !want, want)
		}
	}
}
