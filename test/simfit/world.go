package main

import (
	"fmt"

	"github.com/goodput-exporter/goodput-exporter/exporter/sim"
)

// engine is the simulated counterpart of the recorded one. The sequences in a batch and the longest sequence are its
// flags, block size and blocks are on its page. The token budget is on no page: 2048 is vLLM's default for an API server
// on CPUs, and no step on the page was larger.
func engine(c constants) sim.Engine {
	return sim.Engine{
		ID: "a", Model: "demo", MaxSeqs: 16, TokenBudget: 2048, BlockSize: 128, Blocks: 16384, MaxModelLen: 4096,
		Step: c.step, Overhead: c.overhead, Handler: "/v1/completions",
	}
}

// constants are what is measured or fitted on the first half.
type constants struct {
	step     sim.StepCost
	overhead float64 // seconds
}

// times makes all steps longer by a factor.
func (c constants) times(f float64) constants {
	s := &c.step
	s.Base, s.Prefill, s.Sequence, s.KV = f*s.Base, f*s.Prefill, f*s.Sequence, f*s.KV
	return c
}

// trace is the recorded load as the simulator takes it: who asked when for how much, and what became of it by the
// client's own doing. What the engine did is left out.
func (r *recording) trace(until float64) (out []sim.Sent) {
	for _, a := range r.asked {
		if a.At > until {
			break
		}
		out = append(out, sim.Sent{
			At: a.At - r.start, Prompt: a.Prompt, Output: a.MaxTokens, N: a.N,
			CancelAfter: r.gaveUp[a.ID], Bad: a.Outcome == "rejected",
		})
	}
	return out
}

// outcome is what became of one sequence, in the simulator or in the engine. Seconds.
type outcome struct {
	request                      int // index by arrival
	arrived, ended               float64
	ttft, queue, prefill, decode float64
	prompt, output               int
	phase                        int
}

func (o outcome) tpot() float64 {
	if o.output <= 1 {
		return 0
	}
	return o.decode / float64(o.output-1)
}

// real is what the engine did, by request.
func (r *recording) real() []outcome {
	index := map[string]int{}
	for i, a := range r.asked {
		index[a.ID] = i
	}
	var out []outcome
	for _, s := range r.served {
		i := index[s.request()]
		out = append(out, outcome{
			request: i, arrived: r.asked[i].At, ended: s.Start + s.E2E, ttft: s.TTFT, queue: s.Queue, prefill: s.Prefill, decode: s.Decode,
			prompt: s.Prompt, output: s.Output, phase: r.asked[i].Phase,
		})
	}
	return out
}

// simulate plays the load up to a time, unix seconds, and gives every sequence that finished.
func (r *recording) simulate(c constants, until float64, seed uint64) ([]outcome, error) {
	var out []outcome
	world, err := sim.New(sim.Config{
		Seed: seed, Start: r.start,
		Engines: []sim.Engine{engine(c)},
		Loads:   []sim.Load{{Name: "trace", Engines: []string{"a"}, Trace: r.trace(until)}},
		Truth: sim.Truth{Sequence: func(s sim.Sequence) {
			i := int(s.Request) - 1 // the only load gives its requests their numbers in the order of the trace
			v := s.Values
			out = append(out, outcome{
				request: i, arrived: r.asked[i].At, ended: v.End, ttft: v.TTFT, queue: v.Queue, prefill: v.Prefill, decode: v.Decode,
				prompt: v.PromptTokens, output: v.OutputTokens, phase: r.asked[i].Phase,
			})
		}},
	})
	if err != nil {
		return nil, err
	}
	const drain = 120 // seconds after the last arrival in which everything comes to its end
	world.Run(until + drain)
	if len(out) == 0 {
		return nil, fmt.Errorf("the simulator finished nothing with %+v", c)
	}
	return out, nil
}
