package main

import (
	"errors"
	"math"

	"github.com/goodput-exporter/goodput-exporter/exporter/sim"
)

// stretch is one sequence in the engine: from the step that computed its prompt to its last token. Unix seconds.
type stretch struct {
	prompt     int
	tokens     int     // after the first
	scheduled  float64 // 0: not known
	first, end float64
}

// context is the mean number of tokens that a step of it attends to.
func (s stretch) context() float64 { return float64(s.prompt) + float64(s.tokens)/2 }

// stretches are those of all sequences that ended before a time: the engine's record has the finished ones, the clients'
// those of the cancelled, whose work slowed the others down. It also says from when on the picture has holes, because
// sequences were in the engine that had not ended.
func (r *recording) stretches(until float64) (out []stretch, whole float64) {
	whole = until
	add := func(s stretch) {
		if s.end <= until {
			out = append(out, s)
		} else {
			whole = min(whole, s.first)
		}
	}
	for _, s := range r.served {
		first := s.Start + s.TTFT
		add(stretch{s.Prompt, s.Output - 1, first - s.Prefill, first, s.Start + s.E2E})
	}
	for _, a := range r.asked {
		if a.Outcome == "cancelled" && a.Chunks > 0 {
			add(stretch{a.Prompt, a.Chunks - 1, 0, a.At + a.TTFT, a.At + a.E2E})
		}
	}
	return out, whole
}

// equation says what a time was spent on: so many steps, with so much in them.
type equation struct {
	seconds                            float64
	steps, prefill, sequences, context float64
}

func (e equation) row() []float64 { return []float64{e.steps, e.prefill, e.sequences, e.context} }

// sameStep is the time within which two stamps are of one step, seconds: a step takes several milliseconds, and the
// stamps of its tokens differ by less than one.
const sameStep = 0.001

// equations are two for each sequence that was scheduled after one time and ended before another. Its decode time took
// one step for each token, in which other prompts were computed and other sequences got tokens. Its prefill time took one
// step: no prompt of the recording came near the token budget.
func equations(all []stretch, from, until float64) (out []equation) {
	for i, s := range all {
		if s.scheduled == 0 || s.scheduled < from || s.end > until {
			continue
		}
		decode := equation{seconds: s.end - s.first, steps: float64(s.tokens)}
		prefill := equation{seconds: s.first - s.scheduled, steps: 1, prefill: float64(s.prompt)}
		decode.sequences, decode.context = float64(s.tokens), float64(s.tokens)*s.context()
		for j, o := range all {
			if i == j || o.first > s.end+1 || o.end < s.scheduled-1 {
				continue
			}
			switch {
			case o.first <= s.scheduled+sameStep:
			case o.first <= s.first+sameStep:
				prefill.prefill += float64(o.prompt)
			case o.first <= s.end+sameStep:
				decode.prefill += float64(o.prompt)
			}
			if o.first <= s.scheduled+sameStep && o.end >= s.first-sameStep {
				prefill.sequences++
				prefill.context += o.context()
			}
			if overlap := min(o.end, s.end) - max(o.first, s.first); overlap > 0 {
				tokens := float64(o.tokens) * overlap / (o.end - o.first)
				decode.sequences += tokens
				decode.context += tokens * o.context()
			}
		}
		out = append(out, prefill)
		if s.tokens > 0 {
			out = append(out, decode)
		}
	}
	return out
}

// fitted is the step cost that fits a part of the recording best, and how far that is off.
func (r *recording) fitted(from, until float64) (sim.StepCost, float64, error) {
	all, whole := r.stretches(until)
	return fit(equations(all, from, whole))
}

// fit finds the four constants of the step time by least squares over the relative errors of all equations. Weights are
// taken from the fitted times, in a few rounds: taken from the measured ones, short times would count too much. A constant
// that would come out negative is 0.
func fit(eqs []equation) (sim.StepCost, float64, error) {
	if len(eqs) < 20 {
		return sim.StepCost{}, 0, errors.New("fewer than twenty equations: the step time cannot be fitted")
	}
	x := nonNegative(eqs, func(e equation) float64 { return e.seconds })
	const rounds = 10
	for range rounds {
		previous := x
		x = nonNegative(eqs, func(e equation) float64 { return dot(previous, e.row()) })
	}
	sum := 0.0
	for _, e := range eqs {
		d := math.Log(e.seconds / dot(x, e.row()))
		sum += d * d
	}
	return sim.StepCost{Base: x[0], Prefill: x[1], Sequence: x[2], KV: x[3]}, math.Sqrt(sum / float64(len(eqs))), nil
}

// nonNegative solves the equations, with every residual relative to a size, and leaves out the constant that is most
// negative for its weight until none is.
func nonNegative(eqs []equation, size func(equation) float64) []float64 {
	kept := []bool{true, true, true, true}
	for {
		s := newSystem(len(kept))
		scale := make([]float64, len(kept))
		for _, e := range eqs {
			row := e.row()
			for i := range row {
				if !kept[i] {
					row[i] = 0
				}
				scale[i] += row[i] / size(e)
			}
			s.add(1/(size(e)*size(e)), e.seconds, row...)
		}
		x := s.solve()
		worst := -1
		for i := range x {
			if x[i] < 0 && (worst < 0 || x[i]*scale[i] < x[worst]*scale[worst]) {
				worst = i
			}
		}
		if worst < 0 {
			return x
		}
		kept[worst] = false
	}
}

func dot(a, b []float64) (sum float64) {
	for i := range a {
		sum += a[i] * b[i]
	}
	return sum
}
