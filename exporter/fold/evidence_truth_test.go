package fold

import (
	"github.com/goodput-exporter/goodput-exporter/exporter/fact"
	"github.com/goodput-exporter/goodput-exporter/exporter/slo"
)

// truth is what a window holds under an objective, counted one by one.
type truth struct {
	n, bad, good, goodTokens, tokens        uint64
	superseded                              uint64
	over                                    map[fact.Family]uint64 // of all that finished, by clause
	ofClass, goodOfClass, goodTokensOfClass map[string]uint64
}

// truth counts by brute force: no two steps of it are those of the reducer.
func (r *seenRun) truth(o *slo.Objective, from, to float64) truth {
	out := truth{over: map[fact.Family]uint64{}, ofClass: map[string]uint64{}, goodOfClass: map[string]uint64{}, goodTokensOfClass: map[string]uint64{}}
	var in []traced
	for i := range r.w.requests {
		q := &r.w.requests[i]
		_, died := r.w.process(q.arrival)
		for j := range q.sequences {
			if s := &q.sequences[j]; q.outcome == finishes && s.end > from && s.end <= to && s.end < died {
				x := traced{sequence: s}
				if span := r.all[s]; span != nil {
					x.span = *span
				}
				in = append(in, x)
			}
		}
	}
	for _, x := range in {
		out.n++
		out.tokens += uint64(x.output)
		request := fact.Request{TTFT: x.ttft, E2E: x.e2e, Queue: x.queue, Prefill: x.prefill, Decode: x.decode, PromptTokens: x.prompt, OutputTokens: x.output}
		success := o.Policy.Succeeds(x.reason)
		if !success {
			out.bad++
		}
		name, clauses := classOf(o, x)
		_, missed := (&slo.Objective{Clauses: clauses}).Meets(request)
		for _, f := range missed {
			out.over[f]++
		}
		if o.Policy.Retries == slo.RetriesLogical && x.span.Parent != [8]byte{} {
			began := x.span.Start()
			earliest, again := began, false
			for _, y := range in {
				if y.span.Trace == x.span.Trace && y.span.Parent != [8]byte{} && y.prompt == x.prompt {
					earliest = min(earliest, y.span.Start())
					again = again || y.span.Start() > began+1e-3
				}
			}
			if again {
				out.superseded++
				continue
			}
			request.TTFT += began - earliest
			request.E2E += began - earliest
		}
		out.ofClass[name]++
		if ok, _ := (&slo.Objective{Clauses: clauses}).Meets(request); ok && success {
			out.good++
			out.goodTokens += uint64(x.output)
			out.goodOfClass[name]++
			out.goodTokensOfClass[name] += uint64(x.output)
		}
	}
	return out
}

// classOf sorts by hand what evidenceObjectives sorts by its classes.
func classOf(o *slo.Objective, x traced) (string, []slo.Clause) {
	switch o.Name {
	case "prompts":
		if x.prompt <= 200 {
			return "short", objective_("", 0.25, 0.025).Clauses
		}
		if x.prompt <= 500 {
			return "long", objective_("", 1, 0).Clauses
		}
	case "tenants":
		if len(x.span.Attributes) > 0 {
			return map[string]string{"t0": "one", "t1": "rest", "t2": "rest"}[x.span.Attributes[0].Value], o.Clauses
		}
	}
	return slo.ClassOther, o.Clauses
}
