package slo

import (
	"bytes"
	"encoding/json"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/goodput-exporter/goodput-exporter/exporter/fact"
	"github.com/goodput-exporter/goodput-exporter/exporter/hist"
	"github.com/goodput-exporter/goodput-exporter/internal/jsonlines"
)

// pageNames are the series that the bounds are made from, as vLLM 0.32 names them.
var pageNames = map[string]fact.Family{
	"time_to_first_token_seconds":           fact.TTFT,
	"request_time_per_output_token_seconds": fact.TPOT,
	"e2e_request_latency_seconds":           fact.E2E,
	"request_queue_time_seconds":            fact.Queue,
	"request_prefill_time_seconds":          fact.Prefill,
	"request_decode_time_seconds":           fact.Decode,
	"request_inference_time_seconds":        fact.Inference,
}

// page is one recorded page, reduced to what slices are made from.
type page struct {
	sent, received            float64
	histograms                [fact.NumFamilies]hist.Histogram
	finished, outputs         uint64 // by finish reason; by the length histogram
	running, waiting, preempt float64
	before                    int // finishers of the recording before this page
}

func (p *page) torn() bool {
	n := p.finished
	for f := fact.TPOT; f <= fact.Inference; f++ {
		if p.histograms[f].Count() != n {
			return true
		}
	}
	return p.outputs != n
}

// recording is a recorded engine: its untorn pages, and its finished sequences in the order in which pages count them.
type recording struct {
	name  string
	pages []page
	truth []fact.Request
}

// load reads a recording.
func load(t testing.TB, name string) *recording {
	t.Helper()
	dir := filepath.Join("..", "..", "testdata", "recordings", name)
	r := &recording{name: name}
	var edges [fact.NumFamilies][]float64
	jsonlines.Each(t, filepath.Join(dir, "recording.jsonl.gz"), func(line []byte) {
		// The body comes first in a page's line. It stays escaped, for that saves most of the time of reading it.
		line, ok := bytes.CutPrefix(line, []byte(`{"body":"`))
		if !ok {
			return // a batch of spans
		}
		body, rest, ok := bytes.Cut(line, []byte(`","content_type"`))
		if !ok {
			return // an error page
		}
		var x struct {
			T, Took float64
			Kind    string
			Status  int
		}
		if err := json.Unmarshal(append([]byte(`{"content_type"`), rest...), &x); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if x.Kind != "engine" || x.Status != 200 {
			return
		}
		p := readPage(t, string(body), &edges)
		p.sent, p.received = x.T, x.T+x.Took
		r.pages = append(r.pages, p)
	})
	first := &r.pages[0]
	sums := func(p *page, f fact.Family) float64 { return p.histograms[f].Sum - first.histograms[f].Sum }
	r.pages = slices.DeleteFunc(r.pages, func(p page) bool {
		gap := sums(&p, fact.Inference) - sums(&p, fact.Prefill) - sums(&p, fact.Decode)
		return p.torn() || math.Abs(gap) > 1e-5
	})
	jsonlines.Each(t, filepath.Join(dir, "engine_truth.jsonl.gz"), func(line []byte) {
		var x struct {
			End, TTFT, E2E, Queue, Prefill, Decode float64
			Prompt                                 int `json:"prompt_tokens"`
			Output                                 int `json:"completion_tokens"`
		}
		if err := json.Unmarshal(line, &x); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		r.truth = append(r.truth, fact.Request{End: x.End, TTFT: x.TTFT, E2E: x.E2E, Queue: x.Queue,
			Prefill: x.Prefill, Decode: x.Decode, PromptTokens: x.Prompt, OutputTokens: x.Output})
	})
	slices.SortFunc(r.truth, func(a, b fact.Request) int { return cmpFloat(a.End, b.End) })
	for i := range r.pages {
		r.pages[i].before = int(r.pages[i].finished - r.pages[0].finished)
	}
	r.settleTies()
	return r
}

func cmpFloat(a, b float64) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

// readPage picks the families out of an escaped page, over all its ranks. Edges of equal layouts are shared between pages.
func readPage(t testing.TB, body string, edges *[fact.NumFamilies][]float64) (p page) {
	t.Helper()
	var cumulative [fact.NumFamilies][][2]float64 // edge and count
	var sum [fact.NumFamilies]float64
	for body != "" {
		var line string
		line, body, _ = strings.Cut(body, `\n`)
		name, ok := strings.CutPrefix(line, "vllm:")
		if !ok {
			continue
		}
		name, rest, _ := strings.Cut(name, "{")
		labels, value, _ := strings.Cut(rest, "} ")
		number := func() float64 {
			v, err := strconv.ParseFloat(value, 64)
			if err != nil {
				t.Fatalf("page line %q: %v", line, err)
			}
			return v
		}
		switch name {
		case "num_requests_running":
			p.running += number()
		case "num_requests_waiting":
			p.waiting += number()
		case "num_preemptions_total":
			p.preempt += number()
		case "request_success_total":
			p.finished += uint64(number())
		case "request_generation_tokens_count":
			p.outputs += uint64(number())
		}
		if family, ok := strings.CutSuffix(name, "_bucket"); ok {
			if f, ok := pageNames[family]; ok {
				_, edge, _ := strings.Cut(labels, `le=\"`)
				edge, _, _ = strings.Cut(edge, `\"`)
				x, err := strconv.ParseFloat(edge, 64)
				if err != nil {
					t.Fatalf("page line %q: %v", line, err)
				}
				cumulative[f] = add(cumulative[f], x, number())
			}
		} else if family, ok := strings.CutSuffix(name, "_sum"); ok {
			if f, ok := pageNames[family]; ok {
				sum[f] += number()
			}
		}
	}
	for f, c := range cumulative {
		if len(c) == 0 {
			continue
		}
		var le, counts []float64
		for _, x := range c {
			le, counts = append(le, x[0]), append(counts, x[1])
		}
		le = le[:len(le)-1] // +Inf is implied
		if !hist.SameEdges(edges[f], le) {
			edges[f] = le
		}
		h, err := hist.FromCumulative(edges[f], counts, sum[f])
		if err != nil {
			t.Fatalf("%s: %v", fact.Family(f), err)
		}
		p.histograms[f] = h
	}
	return p
}

// add adds a cumulative count at an edge; the ranks of an engine are taken together.
func add(cumulative [][2]float64, edge, count float64) [][2]float64 {
	for i := range cumulative {
		if cumulative[i][0] == edge {
			cumulative[i][1] += count
			return cumulative
		}
	}
	return append(cumulative, [2]float64{edge, count})
}

// settleTies puts sequences that ended in one engine step into the order in which the pages counted them: where a page's
// decode sum disagrees with the sequences before it, one of them changes places with one just after.
func (r *recording) settleTies() {
	const step = 0.03 // seconds; longer than a step of these engines
	first := r.pages[0].histograms[fact.Decode].Sum
	prefix := func(k int) (sum float64) {
		for i := range r.truth[:k] {
			sum += r.truth[i].Decode
		}
		return sum
	}
	for i := 1; i < len(r.pages); i++ {
		k := r.pages[i].before
		if k <= 0 || k >= len(r.truth) {
			continue
		}
		off := r.pages[i].histograms[fact.Decode].Sum - first - prefix(k)
		if math.Abs(off) < 1e-5 {
			continue
		}
		r.swap(k, max(r.pages[i-1].before, 0), off, step)
	}
}

func (r *recording) swap(k, lowest int, off, step float64) {
	edge := r.truth[k-1].End
	for x := k - 1; x >= lowest && edge-r.truth[x].End < step; x-- {
		for y := k; y < len(r.truth) && r.truth[y].End-edge < step; y++ {
			if math.Abs(r.truth[y].Decode-r.truth[x].Decode-off) < 1e-5 {
				r.truth[x], r.truth[y] = r.truth[y], r.truth[x]
				return
			}
		}
	}
}

// window makes the slices between pages; pages and their order may be a selection of the recording's. The window's own
// slices begin at page from, counted in that selection.
func (r *recording) window(pages []page, from int) Window {
	w := Window{First: from, Old: oldOf(&pages[0])}
	for i := 1; i < len(pages); i++ {
		p, q := &pages[i-1], &pages[i]
		s := Slice{
			Lo: p.sent, Hi: q.received, Took: q.received - q.sent, Finished: q.finished - p.finished,
			Running: fact.Known(q.running), Waiting: fact.Known(q.waiting), Preempted: q.preempt > p.preempt,
		}
		for f := range s.Histograms {
			if q.histograms[f].Known() {
				s.Histograms[f], _ = hist.Delta(p.histograms[f], q.histograms[f])
			}
		}
		s.FirstTokens = s.Histograms[fact.TTFT].Count()
		w.Slices = append(w.Slices, s)
	}
	return w
}

// oldOf bounds the sequences that were decoding at a page of a process that was born with counters at zero: first
// tokens so far less finishes so far, which still holds those that were cancelled in between.
func oldOf(p *page) uint64 { return p.histograms[fact.TTFT].Count() - p.finished }

// qualified is the truth of the pages' last window: finishers between two pages that meet all clauses.
func (r *recording) qualified(from, to *page, clauses []Clause) (n, good uint64) {
	o := Objective{Clauses: clauses}
	for _, x := range r.truth[from.before:to.before] {
		n++
		if ok, _ := o.Meets(x); ok {
			good++
		}
	}
	return n, good
}
