package sim

import (
	"math"
	"testing"
)

// TestAdmissionLimit: who finds as many waiting as the limit allows is refused, before anything is computed.
func TestAdmissionLimit(t *testing.T) {
	c := Config{Start: start, Engines: []Engine{{ID: "a", Model: "m", Step: StepCost{Base: 10}, MaxSeqs: 1, MaxQueued: 2}}, Loads: []Load{{Engines: []string{"a"}}}}
	for at := range 5 {
		c.Loads[0].Trace = append(c.Loads[0].Trace, Sent{At: float64(at + 1), Prompt: 10, Output: 1})
	}
	truth := listen(&c)
	w := run(t, c, 6)
	if s := read(t, w, "a"); s.sums["vllm:admission_rejections_total"] != 2 || len(truth.requests) != 2 {
		t.Errorf("one runs and two wait: %v of five were refused", s.sums["vllm:admission_rejections_total"])
	}
	for _, r := range truth.requests {
		if r.Outcome != RejectedAdmission || r.Arrived < start+4 {
			t.Errorf("%+v", r)
		}
	}
}

// TestRefusalsAreHiddenInTwoHundreds: some refusals come after the headers, so that only the engine's counter tells them.
func TestRefusalsAreHiddenInTwoHundreds(t *testing.T) {
	c := Config{Seed: 1, Start: start, Engines: []Engine{{ID: "a", Model: "m", Step: StepCost{Base: 0.1}, MaxSeqs: 1, MaxQueued: 1}}, Loads: []Load{{Engines: []string{"a"}, Rate: Constant(20), Mix: fixed(10, 100)}}}
	truth := listen(&c)
	run(t, c, 300)
	n, hidden := 0.0, 0.0
	for _, r := range truth.requests {
		if r.Outcome != RejectedAdmission {
			continue
		}
		n++
		if r.Status == 200 {
			hidden++
		} else if r.Status != 503 {
			t.Fatalf("refused with %d", r.Status)
		}
	}
	if p := streamedRefusals; n < 5000 || math.Abs(hidden/n-p) > 4*math.Sqrt(p*(1-p)/n) {
		t.Errorf("%.3f of %v refusals came inside a 200, want %v", hidden/n, n, p)
	}
}

// TestRanksShareTheLoad: sequences go where the fewest are, those of one request to different ranks.
func TestRanksShareTheLoad(t *testing.T) {
	c := Config{Seed: 1, Start: start, Stop: 300, Engines: []Engine{{ID: "a", Model: "m", Step: StepCost{Base: 0.01}, Ranks: 3, MaxSeqs: 20}}, Loads: []Load{
		{Engines: []string{"a"}, Rate: Constant(30), Mix: fixed(10, 100), Habits: Habits{Two: 0.5}},
	}}
	truth := listen(&c)
	w := build(t, c)
	apart, most := 0, 0
	for w.advance(400) {
		lo, hi := math.MaxInt, 0
		for _, r := range w.endpoints[0].ranks {
			n := len(r.running) + r.queued()
			lo, hi = min(lo, n), max(hi, n)
		}
		apart = max(apart, hi-lo)
		most = max(most, hi)
	}
	together, by := map[uint64]map[int]bool{}, map[int]float64{}
	for _, s := range truth.sequences {
		if together[s.Request] == nil {
			together[s.Request] = map[int]bool{}
		}
		together[s.Request][s.Rank] = true
		by[s.Rank]++
	}
	alone := 0.0
	for _, r := range truth.requests {
		if r.Sequences == 2 && len(together[r.ID]) == 1 {
			alone++
		}
	}
	n := float64(len(truth.sequences))
	// The number of running sequences changes at the ends of steps, so ranks may differ by the few that end in one.
	if apart > 10 || most < 15 || alone > 0.1*n {
		t.Errorf("ranks differ by up to %d of %d sequences; %v pairs of %v sequences stayed together", apart, most, alone, n)
	}
	for rank := range 3 {
		if !near(by[rank], n/3, 0.05) {
			t.Errorf("rank %d served %v of %v sequences", rank, by[rank], n)
		}
	}
}

// TestGaugesLag: the front end hears of the batch at the end of a step, so a request is on no gauge during its first one,
// and when nothing goes on the gauges are 0.
func TestGaugesLag(t *testing.T) {
	c := Config{Start: start, Engines: []Engine{{ID: "a", Model: "m", Step: StepCost{Base: 1}, Overhead: 0.001}}, Loads: []Load{{Engines: []string{"a"}, Trace: []Sent{{At: 10, Prompt: 10, Output: 3}, {At: 20, Prompt: 10, Output: 50, CancelAfter: 2.5}}}}}
	w := build(t, c)
	for _, test := range []struct {
		at, running float64
		what        string
	}{
		{10.5, 0, "in its first step"}, {11.5, 1, "in its second"}, {12.5, 1, "in its last"}, {13.5, 0, "done"},
		{22.4, 1, "in its third step"}, {22.6, 1, "given up in the middle of a step"}, {23.5, 0, "forgotten at its end"},
	} {
		w.Run(start + test.at)
		if got := read(t, w, "a").sums["vllm:num_requests_running"]; got != test.running {
			t.Errorf("%s: %v run, want %v", test.what, got, test.running)
		}
	}

	c.Engines[0].MaxSeqs = 1
	c.Loads[0].Trace = []Sent{{At: 10, Prompt: 10, Output: 3}, {At: 10.2, Prompt: 10, Output: 3}}
	w = build(t, c)
	for _, test := range []struct {
		at, running, waiting float64
		what                 string
	}{
		{10.5, 0, 0, "the first step"}, {11.5, 1, 0, "the core has just read of the second request"}, {12.5, 1, 1, "it waits"},
		{13.5, 0, 1, "the first has ended; the second, in its first step, still waits on the page"}, {14.5, 1, 0, "its second step"},
	} {
		w.Run(start + test.at)
		if s := read(t, w, "a").sums; s["vllm:num_requests_running"] != test.running || s["vllm:num_requests_waiting"] != test.waiting {
			t.Errorf("%s: %v run and %v wait, want %v and %v", test.what, s["vllm:num_requests_running"], s["vllm:num_requests_waiting"], test.running, test.waiting)
		}
	}
}
