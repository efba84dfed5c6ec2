package sim

import (
	"fmt"
	"math"
	"testing"
)

// TestStepLaw: a step of an engine without noise takes Base + Prefill x prompt tokens + Sequence x sequences that get
// another token + KV x tokens in their context, to the last digit that the clock has.
func TestStepLaw(t *testing.T) {
	cost := StepCost{Base: 0.005, Prefill: 5e-5, Sequence: 2e-4, KV: 1e-7}
	c := Config{Seed: 2, Start: start, Stop: 60, Engines: []Engine{{ID: "a", Model: "m", Step: cost, MaxSeqs: 20, TokenBudget: 200, Blocks: 100}}, Loads: []Load{
		{Engines: []string{"a"}, Rate: Constant(8), Mix: Mix{{Name: "x", Weight: 1, Prompt: 150, PromptCV: 1, Output: 80, OutputCV: 1}}},
	}}
	w := build(t, c)
	r := w.endpoints[0].ranks[0]
	steps, mixed, chunked := 0, 0, 0
	for w.advance(120) {
		if math.IsInf(r.end, 1) || r.began != w.now {
			continue
		}
		want, prefills, decodes := cost.Base, 0, 0
		for _, s := range r.running {
			switch {
			case s.chunk == 0:
			case s.generated > 0 && s.chunk == 1: // a token after the first
				decodes++
				want += cost.Sequence + cost.KV*float64(s.prompt+s.generated)
			default:
				prefills++
				want += cost.Prefill * float64(s.chunk)
				if s.computed+s.chunk < s.known() {
					chunked++
				}
			}
		}
		if got := r.end - r.began; math.Abs(got-want) > 1e-10 {
			t.Fatalf("at %.3f s: a step takes %.12f s, the law says %.12f", w.now, got, want)
		}
		steps++
		if prefills > 0 && decodes > 0 {
			mixed++
		}
	}
	if steps < 1000 || mixed < 100 || chunked < 10 || r.stats.preemptions == 0 {
		t.Errorf("%d steps, %d of them mixed, %d chunks, %v preemptions: the law was not tried", steps, mixed, chunked, r.stats.preemptions)
	}
}

// TestNoiseHasMeanOne: noise spreads the steps and does not slow the engine down.
func TestNoiseHasMeanOne(t *testing.T) {
	var steps []float64
	c := Config{Seed: 3, Start: start, Engines: []Engine{{ID: "a", Model: "m", Step: StepCost{Base: 0.01, Noise: 0.3}}}, Loads: []Load{{Engines: []string{"a"}, Trace: []Sent{{At: 1, Prompt: 1, Output: 20000}}}}}
	w := build(t, c)
	r := w.endpoints[0].ranks[0]
	for w.advance(500) {
		if r.began == w.now && !math.IsInf(r.end, 1) {
			steps = append(steps, (r.end-r.began)/0.01)
		}
	}
	// The relative standard deviation of a lognormal with sigma 0.3 is 0.307.
	if m := mean(steps); math.Abs(m-1) > 4*0.307/math.Sqrt(float64(len(steps))) || len(steps) < 10000 {
		t.Errorf("%d steps take %.4f times their cost on average", len(steps), m)
	}
	if d := dispersion(steps); !near(d, 0.307*0.307, 0.1) {
		t.Errorf("the variance of a step is %.4f of its square", d)
	}
}

// TestInterTokenLatencyFollowsTheLoad: of an engine that is never idle the mean step is a/(1-rho), where rho = b x computed
// prompt tokens/s + c x decoded tokens/s + d x context tokens read/s. That is the law summed over the steps. Seen through
// inter-token latency, which weighs steps by the sequences in them, it holds within 3 %.
func TestInterTokenLatencyFollowsTheLoad(t *testing.T) {
	cost := StepCost{Base: 0.0065, Prefill: 45e-6, Sequence: 18e-6, KV: 4e-8}
	for _, rate := range []float64{8, 14, 20} {
		t.Run(fmt.Sprintf("%v requests a second", rate), func(t *testing.T) {
			c := Config{Seed: 5, Start: start, Engines: []Engine{{ID: "a", Model: "m", Step: cost}}, Loads: []Load{
				{Engines: []string{"a"}, Rate: Constant(rate), Mix: Mix{{Name: "x", Weight: 1, Prompt: 300, PromptCV: 0.5, Output: 300, OutputCV: 0.5}}},
			}}
			w := build(t, c)
			w.Run(start + 30)
			before := read(t, w, "a")
			const seconds = 120
			context := 0.0
			r := w.endpoints[0].ranks[0]
			for w.advance(30 + seconds) {
				if r.began == w.now && !math.IsInf(r.end, 1) {
					context += float64(r.load.context)
				}
			}
			after := read(t, w, "a")
			grown := func(name string) float64 { return after.sums[name] - before.sums[name] }
			decoded := grown("vllm:generation_tokens_total") - grown("vllm:time_to_first_token_seconds_count")
			rho := (cost.Prefill*grown("vllm:request_prefill_kv_computed_tokens_sum") + cost.Sequence*decoded + cost.KV*context) / seconds
			got := grown("vllm:inter_token_latency_seconds_sum") / grown("vllm:inter_token_latency_seconds_count")
			want := cost.Base / (1 - rho)
			t.Logf("rho %.3f: %.2f ms between tokens, the law says %.2f", rho, 1e3*got, 1e3*want)
			if !near(got, want, 0.03) {
				t.Errorf("%.3f ms between tokens at rho %.3f, the law says %.3f", 1e3*got, rho, 1e3*want)
			}
			if queue := grown("vllm:request_queue_time_seconds_sum"); queue > 1 {
				t.Errorf("%v s were spent in the queue, this is to be an engine below its knee", queue)
			}
		})
	}
}

// TestLittlesLaw: the sequences that are in the batch and in the queue, over time, are the times that sequences spend
// there. In a world that begins and ends idle that is an identity.
func TestLittlesLaw(t *testing.T) {
	for seed := range uint64(6) {
		c := Config{Seed: seed, Start: start, Stop: 60, Engines: []Engine{{ID: "a", Model: "m", Step: H100, MaxSeqs: 10}}, Loads: []Load{
			{Engines: []string{"a"}, Rate: Constant(3 + float64(seed)), Mix: Mix{{Name: "x", Weight: 1, Prompt: 300, PromptCV: 1, Output: 100, OutputCV: 1}}},
		}}
		truth := listen(&c)
		w := build(t, c)
		r := w.endpoints[0].ranks[0]
		batch, queue := 0.0, 0.0
		for last := 0.0; ; {
			running, waiting := float64(len(r.running)), float64(r.waiting.len())
			if !w.advance(1000) {
				break
			}
			batch += running * (w.now - last)
			queue += waiting * (w.now - last)
			last = w.now
		}
		inference, waited := 0.0, 0.0
		for _, s := range truth.sequences {
			inference += s.Values.Prefill + s.Values.Decode
			waited += s.Values.Queue
		}
		if !near(batch, inference, 1e-9) || math.Abs(queue-waited) > 1e-9*(1+waited) || len(truth.sequences) < 100 {
			t.Errorf("seed %d: %v sequence seconds in the batch, %v were spent there; %v in the queue, %v were waited", seed, batch, inference, queue, waited)
		}
	}
}

// serving is an engine that takes 0.5 s for a request of 50 tokens, whatever else it does.
func serving(step float64, seqs int) Engine {
	return Engine{ID: "a", Model: "m", Step: StepCost{Base: step}, MaxSeqs: seqs, Overhead: 1e-6}
}

// TestClosedLoopHidesOverload: 40 clients that wait for their answers offer 40/W requests a second. A slower engine is
// offered less, at a latency that looks stable.
func TestClosedLoopHidesOverload(t *testing.T) {
	for _, test := range []struct{ w, offered float64 }{{0.5, 80}, {2, 20}} {
		c := Config{Seed: 1, Start: start, Engines: []Engine{serving(test.w/50, 256)}, Loads: []Load{{Engines: []string{"a"}, Closed: &Closed{Clients: 40}, Mix: fixed(1, 50)}}}
		truth := listen(&c)
		run(t, c, 200)
		n, w := 0.0, 0.0
		for _, r := range truth.requests {
			if r.Arrived > start+20 {
				n++
				w += r.Ended - r.Arrived
			}
		}
		w /= n
		// A request misses the step that is under way: W is a little longer than its own 50 steps.
		if !near(w, test.w, 0.05) || !near(n/180, test.offered, 0.05) || !near(n/180, 40/w, 0.01) {
			t.Errorf("W is %.3f s, %.1f requests a second are offered; want %.1f s and %.0f", w, n/180, test.w, test.offered)
		}
	}
}

// TestOpenLoopQueueGrows: 120 requests a second against a capacity of 100 leave 20 a second waiting.
func TestOpenLoopQueueGrows(t *testing.T) {
	even := Load{Engines: []string{"a"}}
	for i := range 120 * 31 {
		even.Trace = append(even.Trace, Sent{At: 1 + float64(i)/120, Prompt: 1, Output: 50})
	}
	for name, test := range map[string]struct {
		load      Load
		tolerance float64
	}{
		"evenly spaced": {even, 20},
		// The arrivals of 30 s spread by the root of 3600.
		"Poisson": {Load{Engines: []string{"a"}, Rate: Rate{Points: []Point{{1, 0}, {1, 120}}}, Mix: fixed(1, 50)}, 4 * 60},
	} {
		t.Run(name, func(t *testing.T) {
			w := build(t, Config{Seed: 1, Start: start, Engines: []Engine{serving(0.01, 50)}, Loads: []Load{test.load}})
			w.Run(start + 1.5) // the batch has filled
			for s := 10.0; s <= 30; s += 10 {
				w.Run(start + 1 + s)
				if got := read(t, w, "a").sums["vllm:num_requests_waiting"]; math.Abs(got-20*s) > test.tolerance+5 {
					t.Errorf("after %v s %v wait, want %v", s, got, 20*s)
				}
			}
		})
	}
}
