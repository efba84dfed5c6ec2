package sim

import (
	"math"
	"slices"
	"testing"
)

// preemptions watches a rank's batch for sequences that lose their memory.
type preemptions struct {
	t      *testing.T
	rank   *rank
	order  []*sequence // the batch before, oldest first
	before map[*sequence]progress
	n      int
	again  int // tokens that were computed and lost
}

type progress struct{ computed, preempted int }

// look remembers the batch before the next event.
func (p *preemptions) look() {
	p.order = slices.Clone(p.rank.running)
	clear(p.before)
	for _, s := range p.order {
		p.before[s] = progress{s.computed + s.chunk, s.preempted}
	}
}

// compare counts who was preempted by the event, and checks that it was the youngest, that they come first in the queue,
// oldest first, and that nobody came in at the same time.
func (p *preemptions) compare() {
	at, spared := p.rank.endpoint.world.now, false
	var oldest *sequence
	for _, s := range slices.Backward(p.order) {
		if s.preempted == p.before[s].preempted {
			spared = spared || s.generated < s.want
			continue
		}
		p.n++
		p.again += p.before[s].computed
		if spared {
			p.t.Fatalf("at %.3f s: a sequence was preempted while a younger one went on", at)
		}
		oldest = s
	}
	if oldest == nil {
		return
	}
	if p.rank.waiting.len() == 0 || p.rank.waiting.front() != oldest {
		p.t.Fatalf("at %.3f s: the oldest that was preempted is not the next to come in", at)
	}
	for _, s := range p.rank.running {
		if b, was := p.before[s]; !was || b.preempted < s.preempted {
			p.t.Fatalf("at %.3f s: a sequence came in while another was preempted", at)
		}
	}
}

// TestPreemption: with too little memory the youngest give way, compute everything anew, and have one first token
// nevertheless.
func TestPreemption(t *testing.T) {
	for name, budget := range map[string]int{"whole prompts": 8192, "prompts in chunks": 64} {
		t.Run(name, func(t *testing.T) {
			c := Config{Seed: 1, Start: start, Stop: 120, Engines: []Engine{{ID: "a", Model: "m", Step: H100, Blocks: 150, TokenBudget: budget}}, Loads: []Load{
				{Engines: []string{"a"}, Rate: Constant(8), Mix: Mix{{Name: "x", Weight: 1, Prompt: 100, PromptCV: 0.5, Output: 200, OutputCV: 0.5}}},
			}}
			truth := listen(&c)
			w := build(t, c)
			r := w.endpoints[0].ranks[0]
			p := &preemptions{t: t, rank: r, before: map[*sequence]progress{}}
			computed, once := 0, 0
			for p.look(); w.advance(2000); p.look() {
				p.compare()
				if !math.IsInf(r.end, 1) && r.began == w.now {
					computed += r.load.prefill + r.load.decodes
				}
			}
			for _, s := range truth.sequences {
				once += s.Values.PromptTokens + s.Values.OutputTokens - 1 // the last token's KV is never needed
			}
			if p.n < 50 || computed != once+p.again {
				t.Errorf("%d preemptions, %d tokens computed: %d once and %d again", p.n, computed, once, p.again)
			}
			s, n := read(t, w, "a").sums, float64(p.n)
			if s["vllm:num_preemptions_total"] != n || s["vllm:request_num_preemptions_sum"] != n {
				t.Errorf("%v preemptions, the page says %v, and %v in finished requests", n, s["vllm:num_preemptions_total"], s["vllm:request_num_preemptions_sum"])
			}
			if len(truth.firsts) != len(truth.sequences) || s["vllm:prompt_tokens_total"] != s["vllm:request_prompt_tokens_sum"] {
				t.Errorf("%d first tokens of %d sequences", len(truth.firsts), len(truth.sequences))
			}
		})
	}
}
