package sim

import (
	"fmt"
	"math"
	"testing"
)

// served is a world of one engine with room for everything and answers that take half a second, asked for five minutes.
func served(seed uint64, h Habits) (Config, *told) {
	c := Config{Seed: seed, Start: start, Stop: 300, Engines: []Engine{{ID: "a", Model: "m", Step: StepCost{Base: 0.01}}}, Loads: []Load{
		{Engines: []string{"a"}, Rate: Constant(10), Mix: fixed(10, 50), Habits: h},
	}}
	return c, listen(&c)
}

// TestSharesAreAsConfigured, within four sigmas.
func TestSharesAreAsConfigured(t *testing.T) {
	requests := func(of Outcome) func(*told) (float64, int) {
		return func(truth *told) (float64, int) { return truth.share(of), len(truth.requests) }
	}
	for name, test := range map[string]struct {
		habits Habits
		share  func(*told) (float64, int)
		want   float64
	}{
		"nothing goes wrong":    {Habits{}, requests(Finished), 1},
		"bad requests":          {Habits{Bad: 0.1}, requests(RejectedClient), 0.1},
		"all requests are bad":  {Habits{Bad: 1}, requests(RejectedClient), 1},
		"given up at once":      {Habits{Cancel: 0.2, CancelAfter: 1e-5}, requests(Cancelled), 0.2},
		"given up or answered":  {Habits{Cancel: 0.3, CancelAfter: 0.5}, requests(Cancelled), 0.3 * (1 - math.Exp(-0.512/0.5))}, // an answer takes 0.512 s
		"failed, one sequence":  {Habits{Error: 0.1}, requests(Failed), 0.1},
		"failed, two sequences": {Habits{Error: 0.1, Two: 1}, requests(Failed), 0.19},
		"two sequences": {Habits{Two: 0.2}, func(truth *told) (float64, int) {
			return float64(len(truth.sequences))/float64(len(truth.requests)) - 1, len(truth.requests)
		}, 0.2},
		"failed with a 500":   {Habits{Error: 0.2, Whole: 0.5}, func(truth *told) (float64, int) { return truth.status(500), len(truth.requests) }, 0.1},
		"failed inside a 200": {Habits{Error: 1, Whole: 0.3}, func(truth *told) (float64, int) { return truth.status(200), len(truth.requests) }, 0.7},
	} {
		t.Run(name, func(t *testing.T) {
			c, truth := served(1, test.habits)
			run(t, c, 400)
			got, n := test.share(truth)
			if math.Abs(got-test.want) > 4*math.Sqrt(test.want*(1-test.want)/float64(n))+1e-9 || n < 2500 {
				t.Errorf("%.4f of %d, want %.4f", got, n, test.want)
			}
		})
	}
}

// status is the share of requests that were answered with it.
func (t *told) status(code int) float64 {
	n := 0
	for _, r := range t.requests {
		if r.Status == code {
			n++
		}
	}
	return float64(n) / float64(len(t.requests))
}

// TestPatience: who waits for a first token gives up without one, and never after it; who has lost interest may go at any
// time, and does not try again.
func TestPatience(t *testing.T) {
	c, truth := served(2, Habits{Patience: 1, Retries: 2, Backoff: 0.1})
	c.Engines[0].MaxSeqs = 5 // half of what is needed
	run(t, c, 1200)
	begun := map[uint64]bool{}
	for _, f := range truth.firsts {
		begun[f.Request] = true
	}
	cancelled, waits := 0, 0.0
	for _, r := range truth.requests {
		if r.Outcome != Cancelled {
			continue
		}
		cancelled++
		waits += r.Ended - r.Arrived
		if begun[r.ID] {
			t.Fatalf("request %d was given up for want of a first token that it had", r.ID)
		}
	}
	// Those with long patience are served more often, so the waits that end in vain are shorter than the mean patience.
	if m := waits / float64(cancelled); cancelled < 500 || m < 0.5 || m > 1 {
		t.Errorf("%d gave up after %.2f s on average", cancelled, m)
	}

	c, truth = served(3, Habits{Cancel: 0.5, CancelAfter: 0.3, Patience: 100, Retries: 3})
	run(t, c, 400)
	before, after := 0, 0
	begun = map[uint64]bool{}
	for _, f := range truth.firsts {
		begun[f.Request] = true
	}
	for _, r := range truth.requests {
		switch {
		case r.Attempt > 1:
			t.Fatalf("request %d asks again for what was no longer wanted", r.ID)
		case r.Outcome == Cancelled && begun[r.ID]:
			after++
		case r.Outcome == Cancelled:
			before++
		}
	}
	if before < 25 || after < 500 {
		t.Errorf("%d were cancelled before their first token and %d after", before, after)
	}
}

// TestRetriesAreLinked: each attempt follows one that failed, carries the first one's id and asks for the same; a chain
// ends with an answer, with a client that has gone, or at the limit.
func TestRetriesAreLinked(t *testing.T) {
	const retries, backoff = 2, 0.2
	for name, test := range map[string]struct {
		habits Habits
		engine func(*Engine)
		outage []Outage
		after  map[Outcome]bool // what is tried again
	}{
		"after errors":        {Habits{Error: 0.4}, func(*Engine) {}, nil, map[Outcome]bool{Failed: true}},
		"after refusals":      {Habits{}, func(e *Engine) { e.MaxSeqs, e.MaxQueued = 3, 2 }, nil, map[Outcome]bool{RejectedAdmission: true}},
		"after lost patience": {Habits{Patience: 0.5}, func(e *Engine) { e.MaxSeqs = 4 }, nil, map[Outcome]bool{Cancelled: true}},
		"after an outage":     {Habits{}, func(*Engine) {}, []Outage{{Engine: "a", After: 50, Every: 40, Down: 10}}, map[Outcome]bool{Lost: true, Refused: true}},
		"never after a 4xx":   {Habits{Bad: 0.5}, func(*Engine) {}, nil, nil},
	} {
		t.Run(name, func(t *testing.T) {
			test.habits.Retries, test.habits.Backoff, test.habits.Two = retries, backoff, 0.1
			c, truth := served(4, test.habits)
			test.engine(&c.Engines[0])
			c.Outages = test.outage
			c.Loads[0].Mix[0].OutputCV = 0.5
			w := run(t, c, 1200)
			if !w.idle() {
				t.Fatal("the world has not drained")
			}
			chains := map[uint64][]Request{}
			for _, r := range truth.requests {
				chains[r.Logical] = append(chains[r.Logical], r)
			}
			longest := 0
			for id, chain := range chains {
				longest = max(longest, len(chain))
				if why := broken(id, chain, test.after, retries, backoff); why != "" {
					t.Fatalf("%s: %+v", why, chain)
				}
			}
			if want := map[bool]int{true: 1, false: retries + 1}[test.after == nil]; longest != want {
				t.Errorf("the longest chain has %d attempts, want %d", longest, want)
			}
		})
	}
}

// broken says what is wrong with the attempts at one piece of work, in the order of their ends.
func broken(id uint64, chain []Request, again map[Outcome]bool, retries int, backoff float64) string {
	for i, r := range chain {
		last := i == len(chain)-1
		wait, due := 0.0, backoff*math.Pow(2, float64(i-1))
		if i > 0 {
			wait = r.Arrived - chain[i-1].Ended
		}
		switch {
		case r.Attempt != i+1 || (i == 0) != (r.ID == id):
			return fmt.Sprintf("attempt %d is in place %d", r.Attempt, i+1)
		case i > 0 && (r.Arrived < chain[i-1].Ended || r.Sequences != chain[0].Sequences || r.Class != chain[0].Class):
			return "an attempt is not a repetition of the one before"
		case i > 0 && (wait < 0.499*due || wait > 1.501*due):
			return fmt.Sprintf("attempt %d came after %.3f s", i+1, wait)
		case !last && !again[r.Outcome]:
			return fmt.Sprintf("%s is tried again", r.Outcome)
		case last && again[r.Outcome] && len(chain) <= retries:
			return fmt.Sprintf("%s is not tried again", r.Outcome)
		}
	}
	return ""
}

// TestRetryAsksForTheSame: an error cuts a sequence short; the next attempt wants the whole of it.
func TestRetryAsksForTheSame(t *testing.T) {
	c, truth := served(5, Habits{Error: 0.5, Retries: 9})
	run(t, c, 1200)
	for _, s := range truth.sequences {
		if s.Reason != "error" && s.Values.OutputTokens != 50 {
			t.Fatalf("a sequence that ended by itself has %d tokens of 50", s.Values.OutputTokens)
		}
	}
	if n := truth.share(Failed); math.Abs(n-0.5) > 0.05 {
		t.Errorf("%.3f of all attempts failed, want half of them", n)
	}
}

// TestStopEndsTheQuestions: a world with an end drains, and asks nothing new after it.
func TestStopEndsTheQuestions(t *testing.T) {
	for name, l := range map[string]Load{
		"open":   {Rate: Constant(5)},
		"closed": {Closed: &Closed{Clients: 5, Think: 1}},
	} {
		l.Engines, l.Mix = []string{"a"}, fixed(10, 20)
		c := Config{Start: start, Stop: 30, Engines: []Engine{{ID: "a", Model: "m", Step: H100}}, Loads: []Load{l}}
		truth := listen(&c)
		w := build(t, c)
		for w.advance(math.MaxFloat64) {
		}
		last := 0.0
		for _, r := range truth.requests {
			last = max(last, r.Arrived-start)
		}
		if !w.idle() || last > 30 || last < 25 {
			t.Errorf("%s: the last request came at %.1f s; drained: %v", name, last, w.idle())
		}
	}
}

// TestTraceIsReplayed: what a trace says is what happens.
func TestTraceIsReplayed(t *testing.T) {
	c := Config{Start: start, Engines: []Engine{{ID: "a", Model: "m", Step: StepCost{Base: 0.01}, MaxModelLen: 1000}}, Loads: []Load{{Name: "x", Engines: []string{"a"}, Trace: []Sent{
		{At: 1, Prompt: 20, Output: 30},
		{At: 2, Prompt: 20, Output: 1},
		{At: 3, Prompt: 20, Output: 30, N: 2},
		{At: 4, Prompt: 20, Output: 30, Bad: true},
		{At: 5, Prompt: 20, Output: 90, CancelAfter: 0.2},
		{At: 6, Prompt: 990, Output: 11}, // longer than the model takes
		{At: 7, Prompt: 989, Output: 11},
	}}}}
	truth := listen(&c)
	run(t, c, 20)
	want := []struct {
		outcome   Outcome
		status    int
		sequences int
	}{{Finished, 200, 1}, {Finished, 200, 1}, {Finished, 200, 2}, {RejectedClient, 400, 1}, {Cancelled, 200, 1}, {RejectedClient, 400, 1}, {Finished, 200, 1}}
	if len(truth.requests) != len(want) {
		t.Fatalf("%d requests, want %d", len(truth.requests), len(want))
	}
	for i, r := range truth.requests {
		if r.Outcome != want[i].outcome || r.Status != want[i].status || r.Sequences != want[i].sequences || r.Arrived != start+float64(i+1) {
			t.Errorf("request %d: %+v, want %+v", i, r, want[i])
		}
	}
	if s := truth.sequences[1].Values; s.OutputTokens != 1 || s.Decode != 0 || s.TTFT != s.E2E {
		t.Errorf("a sequence of one token has a decode time: %+v", s)
	}
}
