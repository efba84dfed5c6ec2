package sim

import (
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// start is when the tests' worlds begin, unix seconds.
const start = 1.796e9

// anyWorld is a small world with something of everything: short memory, tight budgets, hasty clients, outages. It sends for
// a minute and is then left to drain.
func anyWorld(seed uint64) Config {
	dice := rand.New(rand.NewPCG(seed, 99))
	chance := func(p float64) bool { return dice.Float64() < p }
	pick := func(values ...int) int { return values[dice.IntN(len(values))] }
	c := Config{Seed: seed, Start: start, Stop: 60}
	for i := range 1 + dice.IntN(2) {
		e := Engine{
			ID: string(rune('a' + i)), Model: "m", Ranks: pick(1, 1, 2), MaxSeqs: pick(2, 8, 40), TokenBudget: pick(48, 256, 2048), BlockSize: pick(8, 16, 32), MaxModelLen: 2048,
			Step: StepCost{Base: 0.005 + 0.01*dice.Float64(), Prefill: 5e-5 * dice.Float64(), Sequence: 2e-4 * dice.Float64(), KV: 1e-7 * dice.Float64(), Noise: 0.2 * dice.Float64()},
		}
		e.Blocks = 1 + pick(600, 1200, 12000)/e.BlockSize
		e.MultiProcess = e.Ranks > 1 && chance(0.5)
		e.NoPrefixCache = chance(0.2)
		if chance(0.3) {
			e.MaxQueued = pick(1, 5, 20)
		}
		c.Engines = append(c.Engines, e)
		if chance(0.4) {
			c.Outages = append(c.Outages, Outage{Engine: e.ID, After: 10 + 30*dice.Float64(), Down: 5 + 5*dice.Float64(), Every: float64(pick(0, 20)), Crash: chance(0.5)})
		}
	}
	for i := range 1 + dice.IntN(3) {
		l := Load{Name: strconv.Itoa(i), Mix: Mix{
			{Name: "short", Weight: 1, Prompt: 60, PromptCV: 1, Output: 20, OutputCV: 1, Stop: 0.5, One: 0.2, Correlation: 0.5},
			{Name: "alike", Weight: dice.Float64() + 0.1, Prompt: 250, PromptCV: 0.5, Output: 30, OutputCV: 0.5, Stop: 0.5, Prefixes: pick(1, 3), PrefixLen: 150},
		}}
		for _, e := range c.Engines {
			if len(l.Engines) == 0 || chance(0.5) {
				l.Engines = append(l.Engines, e.ID)
			}
		}
		l.Habits = Habits{
			Cancel: 0.3 * dice.Float64(), CancelAfter: 0.01 + dice.Float64(), Patience: float64(pick(0, 0, 1, 5)), Retries: pick(0, 1, 3), Backoff: dice.Float64(),
			Bad: 0.1 * dice.Float64(), Error: 0.1 * dice.Float64(), Two: 0.2 * dice.Float64(), Whole: 0.5 * dice.Float64(),
		}
		switch dice.IntN(4) {
		case 0:
			l.Closed = &Closed{Clients: pick(1, 10), Think: dice.Float64()}
		case 1:
			l.Rate, l.Burst = Constant(1+9*dice.Float64()), &Burst{High: 3, Low: 0.2, HighS: 2, LowS: 5}
		case 2:
			l.Rate = Ramp(1, 12, 10, 50)
		default:
			l.Rate = Diurnal(1+9*dice.Float64(), 0.9, 30)
		}
		c.Loads = append(c.Loads, l)
	}
	return c
}

// told is the truth as it was told.
type told struct {
	requests  []Request
	sequences []Sequence
	firsts    []FirstToken
}

// listen makes a configuration tell its truth.
func listen(c *Config) *told {
	t := &told{}
	c.Truth = Truth{
		Request:    func(r Request) { t.requests = append(t.requests, r) },
		Sequence:   func(s Sequence) { t.sequences = append(t.sequences, s) },
		FirstToken: func(f FirstToken) { t.firsts = append(t.firsts, f) },
	}
	return t
}

// share is how many of the requests have an outcome, over all.
func (t *told) share(of Outcome) float64 {
	n := 0
	for _, r := range t.requests {
		if r.Outcome == of {
			n++
		}
	}
	return float64(n) / float64(len(t.requests))
}

func build(t testing.TB, c Config) *World {
	t.Helper()
	w, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// sheet is a page's numbers: the sums over all children of a name, and its single lines.
type sheet struct {
	sums  map[string]float64
	lines map[string][]sample
}

type sample struct {
	labels string
	value  float64
}

func read(t testing.TB, w *World, engine string) sheet {
	t.Helper()
	body, ok := w.Page(engine)
	if !ok {
		t.Fatalf("engine %s has no page", engine)
	}
	s := sheet{map[string]float64{}, map[string][]sample{}}
	for line := range strings.Lines(string(body)) {
		if line[0] == '#' {
			continue
		}
		space := strings.LastIndexByte(line, ' ')
		v, err := strconv.ParseFloat(line[space+1:len(line)-1], 64)
		if err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		name, labels, _ := strings.Cut(line[:space], "{")
		s.sums[name] += v
		s.lines[name] = append(s.lines[name], sample{labels, v})
	}
	return s
}

// group is the sum over a name's lines that contain a text.
func (s sheet) group(name, text string) (sum float64) {
	for _, l := range s.lines[name] {
		if strings.Contains(l.labels, text) {
			sum += l.value
		}
	}
	return sum
}

// finishCounts are the families that count every finished sequence, in the order of the page.
var finishCounts = []string{
	"vllm:request_success_total", "vllm:request_prompt_tokens_count", "vllm:request_generation_tokens_count", "vllm:request_params_max_tokens_count",
	"vllm:request_time_per_output_token_seconds_count", "vllm:e2e_request_latency_seconds_count", "vllm:request_queue_time_seconds_count",
	"vllm:request_inference_time_seconds_count", "vllm:request_prefill_time_seconds_count", "vllm:request_decode_time_seconds_count",
	"vllm:request_num_preemptions_count", "vllm:request_prefill_kv_computed_tokens_count",
}

// near reports whether a number is within a tolerance of another, relative to it.
func near(got, want, tolerance float64) bool {
	return math.Abs(got-want) <= tolerance*math.Abs(want)
}

func mean(values []float64) float64 {
	sum := 0.0
	for _, v := range values {
		sum += v
	}
	return sum / float64(len(values))
}

// dispersion is the variance of counts over their mean: 1 for a Poisson process.
func dispersion(counts []float64) float64 {
	m, sum := mean(counts), 0.0
	for _, v := range counts {
		sum += (v - m) * (v - m)
	}
	return sum / float64(len(counts)-1) / m
}

// fixed is a mix of one kind with lengths that do not vary.
func fixed(prompt, output float64) Mix {
	return Mix{{Name: "fixed", Weight: 1, Prompt: prompt, Output: output}}
}

// idle reports whether nothing is in flight anywhere.
func (w *World) idle() bool {
	return !slices.ContainsFunc(w.endpoints, func(e *endpoint) bool { return len(e.inFlight) > 0 })
}
