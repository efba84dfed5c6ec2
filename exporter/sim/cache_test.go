package sim

import "testing"

// TestChunkedPrefill: a prompt that is longer than the budget takes several steps, of which the front end sees the last: it
// has one first token, and its computed tokens count there.
func TestChunkedPrefill(t *testing.T) {
	c := Config{Start: start, Engines: []Engine{{ID: "a", Model: "m", Step: StepCost{Base: 1}, TokenBudget: 100, Overhead: 1e-9}}, Loads: []Load{{Engines: []string{"a"}, Trace: []Sent{{At: 1, Prompt: 950, Output: 3}}}}}
	truth := listen(&c)
	w := run(t, c, 60)
	s := read(t, w, "a")
	if n, sum := s.sums["vllm:iteration_tokens_total_count"], s.sums["vllm:iteration_tokens_total_sum"]; n != 3 || sum != 953 {
		t.Errorf("the front end saw %v steps with %v tokens, want 3 with 953", n, sum)
	}
	if v := truth.sequences[0].Values; len(truth.firsts) != 1 || !near(v.Prefill, 10, 1e-6) || !near(v.Decode, 2, 1e-6) {
		t.Errorf("%d first tokens, %+v: want 10 steps of a second for the prompt and 2 for the rest", len(truth.firsts), v)
	}
}

// TestPrefixCache: of prompts of 1,000 tokens that begin alike, all but the first find the whole blocks of the beginning.
func TestPrefixCache(t *testing.T) {
	for name, test := range map[string]struct {
		beginning, prefixes, blocks int
		off                         bool
		hit                         float64 // tokens of each request after the first with its beginning
		concurrent                  bool
	}{
		"whole blocks only":                         {beginning: 500, prefixes: 1, blocks: 1000, hit: 496},
		"several beginnings":                        {beginning: 512, prefixes: 4, blocks: 1000, hit: 512},
		"less than a block is nothing":              {beginning: 15, prefixes: 1, blocks: 1000, hit: 0},
		"caching is off":                            {beginning: 500, prefixes: 1, blocks: 1000, off: true, hit: 0},
		"the second of the same step finds it":      {beginning: 500, prefixes: 1, blocks: 1000, hit: 496, concurrent: true},
		"the beginning is all but the last token":   {beginning: 999, prefixes: 1, blocks: 1000, hit: 992},
		"no block of what is computed in any case":  {beginning: 1000, prefixes: 1, blocks: 1000, hit: 0},
		"there is just enough memory for all of it": {beginning: 512, prefixes: 4, blocks: 4*32 + 32, hit: 512},
	} {
		t.Run(name, func(t *testing.T) {
			mix := fixed(1000, 5)
			mix[0].Prefixes, mix[0].PrefixLen = test.prefixes, test.beginning
			load := Load{Engines: []string{"a"}, Rate: Constant(0.5), Mix: mix}
			if test.concurrent {
				load.Rate, load.Habits.Two = Constant(0.3), 1
			}
			c := Config{Seed: 1, Start: start, Stop: 400, Engines: []Engine{{ID: "a", Model: "m", Step: StepCost{Base: 0.001, Prefill: 1e-6}, MaxModelLen: 1100, Blocks: test.blocks, NoPrefixCache: test.off}}, Loads: []Load{load}}
			truth := listen(&c)
			w := run(t, c, 500)
			s := read(t, w, "a")
			n := float64(len(truth.sequences))
			queries, hits := 1000*n, test.hit*(n-float64(test.prefixes))
			if test.off {
				queries = 0
			}
			if got := s.sums["vllm:prefix_cache_queries_total"]; got != queries {
				t.Errorf("%v tokens queried, want %v", got, queries)
			}
			if got := s.sums["vllm:prefix_cache_hits_total"]; got != hits || n < 100 {
				t.Errorf("%v tokens of %v sequences found, want %v", got, n, hits)
			}
			if got := s.sums["vllm:request_prefill_kv_computed_tokens_sum"]; got != 1000*n-hits {
				t.Errorf("%v prompt tokens computed, want %v", got, 1000*n-hits)
			}
			if got := s.sums["vllm:kv_cache_usage_perc"]; got != 0 {
				t.Errorf("an idle engine uses %v of its memory: what is only cached is free", got)
			}
		})
	}
}

// asking is a sequence that begins with one of several beginnings of four blocks.
func asking(beginning string) *sequence {
	return &sequence{request: &request{drawn: drawn{prefix: shared{name: beginning, tokens: 64}}}, prompt: 80, want: 10}
}

// TestEviction: memory that is short is taken from what nobody has held for the longest time, and never from what is held.
func TestEviction(t *testing.T) {
	const blocks = 12 // two beginnings of four, and four more
	w := build(t, Config{Engines: []Engine{{ID: "a", Model: "m", Step: H100, Blocks: blocks}}})
	r := w.endpoints[0].ranks[0]
	// hold lets a sequence come into the batch, and reports how much of its beginning it found.
	hold := func(s *sequence) int {
		s.computed = r.lookup(s)
		hit := s.computed
		if !r.allocate(s, s.prompt) {
			r.decline(s)
			return -1
		}
		r.work(s, s.prompt-hit)
		return hit
	}
	release := func(s *sequence) {
		w.now++
		r.release(s)
	}
	expect := func(what string, got, want int) {
		t.Helper()
		if got != want {
			t.Errorf("%s: %d, want %d", what, got, want)
		}
	}
	x, y := asking("x"), asking("y")
	expect("x is new", hold(x), 0)
	expect("y is new", hold(y), 0)
	release(x)
	release(y)
	expect("all is free or cached", r.free+r.evictable(), blocks)
	expect("beginnings in the cache", r.evictable(), 8)

	x = asking("x")
	expect("x is found", hold(x), 64)
	expect("held memory cannot be evicted", r.evictable(), 4)
	z := asking("z")
	expect("z takes the place of y, for x is held", hold(z), 0)
	y = asking("y")
	expect("y finds no room while x and z run", hold(y), -1)
	expect("a sequence that found no room has nothing", y.blocks+r.prefixes["y"].users, 0)
	release(z)
	release(x)
	y = asking("y")
	expect("y comes back", hold(y), 0)
	release(y)
	x = asking("x")
	expect("x was let go last, so it is still there", hold(x), 64)
	release(x)
	z = asking("z")
	expect("z was not, so it is gone", hold(z), 0)
	release(z)
	expect("all is free or cached in the end", r.free+r.evictable(), blocks)
}

// TestDecliningMakesNothingYounger: a prefix that was looked up for a sequence that could not come in is as old as before.
func TestDecliningMakesNothingYounger(t *testing.T) {
	w := build(t, Config{Engines: []Engine{{ID: "a", Model: "m", Step: H100}}})
	r := w.endpoints[0].ranks[0]
	s := asking("x")
	r.lookup(s)
	r.allocate(s, 80)
	r.work(s, 80)
	w.now = 5
	r.release(s)
	w.now = 9
	again := asking("x")
	r.free = 0
	r.waiting.push(again)
	r.admit(1000)
	if p := r.prefixes["x"]; p.used != 5 || p.users != 0 || p.blocks != 4 || again.sharing || r.waiting.len() != 1 {
		t.Errorf("%d blocks used at %v by %d, %d in the queue", p.blocks, p.used, p.users, r.waiting.len())
	}
}
