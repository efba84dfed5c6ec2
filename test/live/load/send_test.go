package load

import (
	"context"
	"errors"
	"math"
	"net"
	"net/http"
	"testing"
	"testing/synctest"
	"time"
)

func TestWhatAClientSees(t *testing.T) {
	for name, c := range map[string]struct {
		fake    *fake // nil: one that serves
		ask     Ask
		outcome Outcome
		status  int
		inside  bool
		took    time.Duration
		firsts  int // sequences with a first token
	}{
		"a whole answer": {
			ask: Ask{Output: 5, N: 1}, outcome: Finished, status: 200, took: 140 * time.Millisecond, firsts: 1,
		},
		"two sequences of one request": {
			ask: Ask{Output: 5, N: 2}, outcome: Finished, status: 200, took: 140 * time.Millisecond, firsts: 2,
		},
		"a client that hangs up before the first token": {
			ask: Ask{Output: 5, N: 1, HangUpAfter: 40 * time.Millisecond}, outcome: Cancelled, took: 40 * time.Millisecond,
		},
		"an early client hangs up at the first token if that comes first": {
			ask: Ask{Output: 5, N: 1, HangUpAfter: time.Second}, outcome: Cancelled, status: 200, took: 100 * time.Millisecond, firsts: 1,
		},
		"a client that hangs up in the middle": {
			ask: Ask{Output: 5, N: 1, HangUpAt: 3}, outcome: Cancelled, status: 200, took: 120 * time.Millisecond, firsts: 1,
		},
		"a length that no engine takes": {
			ask: Ask{Output: 5, N: 1, Fault: "length"}, outcome: Refused, status: 400,
		},
		"a model that is not served": {
			ask: Ask{Output: 5, N: 1, Fault: "model"}, outcome: Refused, status: 404,
		},
		"a refusal by the admission limit": {
			fake: &fake{refuse: 503}, ask: Ask{Output: 5, N: 1}, outcome: Refused, status: 503,
		},
		"a refusal inside a 200": {
			fake: &fake{refuse: inside}, ask: Ask{Output: 5, N: 1}, outcome: Refused, status: 200, inside: true,
		},
		"an engine that dies in the middle": {
			fake: &fake{breakAt: 2}, ask: Ask{Output: 5, N: 1}, outcome: Broken, status: 200, took: 120 * time.Millisecond, firsts: 1,
		},
		"an answer that takes longer than a client ever waits": {
			ask: Ask{Output: 500, N: 1}, outcome: Broken, status: 200, took: 2 * time.Second, firsts: 1,
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				if c.fake == nil {
					c.fake = &fake{}
				}
				c.fake.ttft, c.fake.gap = 100*time.Millisecond, 10*time.Millisecond
				crowd := Crowd{URL: "http://engine", Model: "m", Client: against(t, c.fake), Timeout: 2 * time.Second}
				seen := crowd.send(t.Context(), c.ask, "w1 w2")
				if seen.Outcome != c.outcome || seen.Status != c.status || seen.Inside != c.inside {
					t.Errorf("%s with status %d (inside: %v, %s), want %s with %d (%v)", seen.Outcome, seen.Status, seen.Inside, seen.Detail, c.outcome, c.status, c.inside)
				}
				if took := seen.End - seen.Start; math.Abs(took-c.took.Seconds()) > 1e-3 {
					t.Errorf("it took %v s, want %v", took, c.took)
				}
				if len(seen.Sequences) != c.firsts {
					t.Errorf("%d sequences had a first token, want %d", len(seen.Sequences), c.firsts)
				}
			})
		})
	}
}

func TestLatenciesAreThoseOfTheEngine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		crowd := Crowd{URL: "http://engine", Model: "m", Client: against(t, &fake{ttft: 300 * time.Millisecond, gap: 20 * time.Millisecond}), Timeout: time.Minute}
		seen := crowd.send(t.Context(), Ask{Output: 11, N: 1}, "w1")
		if len(seen.Sequences) != 1 || !seen.Sequences[0].Ended {
			t.Fatalf("sequences: %+v", seen.Sequences)
		}
		q := seen.Sequences[0]
		tpot, has := seen.TPOT(q)
		for what, v := range map[string][2]float64{
			"TTFT": {seen.TTFT(q), 0.3}, "e2e": {seen.E2E(q), 0.5}, "TPOT": {tpot, 0.02}, "the longest gap": {q.MaxGap, 0.02},
		} {
			if math.Abs(v[0]-v[1]) > 1e-4 {
				t.Errorf("%s is %v s, want %v", what, v[0], v[1])
			}
		}
		if !has {
			t.Error("an answer of eleven tokens has no TPOT")
		}
		if _, has := (&Seen{Ask: Ask{Output: 1}}).TPOT(q); has {
			t.Error("an answer of one token has a TPOT")
		}
	})
}

func TestNobodyListens(t *testing.T) {
	refused := &net.OpError{Op: "dial", Err: errors.New("connection refused")}
	client := &http.Client{Transport: &http.Transport{DialContext: func(context.Context, string, string) (net.Conn, error) { return nil, refused }}}
	seen := Crowd{URL: "http://engine", Model: "m", Client: client, Timeout: time.Minute}.send(t.Context(), Ask{Output: 1, N: 1}, "w1")
	if seen.Outcome != Unreached || seen.Status != 0 {
		t.Errorf("%s with status %d, want %s", seen.Outcome, seen.Status, Unreached)
	}
}
