package main

import (
	"encoding/json"
	"errors"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"github.com/goodput-exporter/goodput-exporter/collectors/engine"
	"github.com/goodput-exporter/goodput-exporter/collectors/recording"
	"github.com/goodput-exporter/goodput-exporter/exporter/fact"
	"github.com/goodput-exporter/goodput-exporter/internal/jsonlines"
)

const recordingsDir = "../../testdata/recordings"

// finished is the engine's own record of one finished sequence, decoded from its spans.
type finished struct {
	End          float64 `json:"end"`
	TTFT         float64 `json:"ttft"`
	E2E          float64 `json:"e2e"`
	Queue        float64 `json:"queue"`
	Prefill      float64 `json:"prefill"`
	Decode       float64 `json:"decode"`
	OutputTokens int     `json:"completion_tokens"`
}

func (f finished) request() fact.Request {
	return fact.Request{End: f.End, TTFT: f.TTFT, E2E: f.E2E, Queue: f.Queue, Prefill: f.Prefill, Decode: f.Decode, OutputTokens: f.OutputTokens}
}

// client is what the load generator saw of one HTTP request.
type client struct {
	Arrival      float64 `json:"t_arrival"`
	TTFT         float64 `json:"ttft"`
	E2E          float64 `json:"e2e"`
	OutputTokens int     `json:"completion_tokens"`
	Status       int     `json:"status"`
	Outcome      string  `json:"outcome"`
}

// recorded is a recording with its truth, decoded once for all tests.
type recorded struct {
	polls  []fact.Poll
	truth  []finished // by end, and in the pages' order where ends are within one engine step of each other
	client []client
	count  map[float64]int // sequences finished up to the page that was asked for at that time, over all processes
}

var recordedOnce sync.Map // name -> func() *recorded

func loadRecorded(t *testing.T, name string) *recorded {
	t.Helper()
	load, _ := recordedOnce.LoadOrStore(name, sync.OnceValue(func() *recorded {
		r := &recorded{polls: readPolls(t, name), count: map[float64]int{}}
		dir := filepath.Join(recordingsDir, name)
		r.truth = readLines[finished](t, filepath.Join(dir, "engine_truth.jsonl.gz"))
		r.client = readLines[client](t, filepath.Join(dir, "truth.jsonl.gz"))
		slices.SortStableFunc(r.truth, func(a, b finished) int { return cmpFloat(a.End, b.End) })
		r.align()
		return r
	}))
	return load.(func() *recorded)()
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

func readPolls(t *testing.T, name string) []fact.Poll {
	f, err := os.Open(filepath.Join(recordingsDir, name, "recording.jsonl.gz"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	reader, err := recording.NewReader(f, name)
	if err != nil {
		t.Fatal(err)
	}
	decoder := engine.NewDecoder()
	var polls []fact.Poll
	for {
		p, err := reader.Next()
		if errors.Is(err, io.EOF) {
			return polls
		}
		if err != nil {
			t.Fatal(err)
		}
		polls = append(polls, recordedPoll(p, decoder))
	}
}

// readLines reads gzipped JSON lines; a file that is not there has none.
func readLines[T any](t *testing.T, path string) []T {
	if _, err := os.Stat(path); os.IsNotExist(err) {
		return nil
	}
	var out []T
	jsonlines.Each(t, path, func(line []byte) {
		var v T
		if err := json.Unmarshal(line, &v); err != nil {
			t.Fatal(err)
		}
		out = append(out, v)
	})
	return out
}

// engineStep is within how many seconds the order of two ends is open: they may be of one step of the engine.
const engineStep = 0.03

// align assigns the truth to the pages: a page that counts k finished sequences has seen the first k of them. Where
// sequences ended in the same engine step their order is open; it is settled by the sum of decode times on the page.
func (r *recorded) align() {
	base, before := 0, 0
	sums := 0.0 // decode sum of all processes before the present one
	lastSum := 0.0
	done := 0
	for _, p := range r.polls {
		if p.Sample == nil {
			continue
		}
		n, sum := 0, 0.0
		for i := range p.Sample.Ranks {
			n += int(p.Sample.Ranks[i].Sequences())
			sum += p.Sample.Ranks[i].Histograms[fact.Decode].Sum
		}
		if n < before { // a new process
			base, sums = base+before, sums+lastSum
		}
		before, lastSum = n, sum
		r.count[p.Sent] = base + n
		if len(r.truth) > 0 {
			r.settle(done, base+n, sums+sum)
			done = max(done, base+n)
		}
	}
}

func (r *recorded) settle(from, k int, want float64) {
	if k <= from || k >= len(r.truth) {
		return
	}
	have := 0.0
	for _, f := range r.truth[:k] {
		have += f.Decode
	}
	if math.Abs(want-have) < 1e-5 {
		return
	}
	edge := r.truth[k-1].End
	for x := k - 1; x >= from && edge-r.truth[x].End < engineStep; x-- {
		for y := k; y < len(r.truth) && r.truth[y].End-edge < engineStep; y++ {
			if math.Abs(have-r.truth[x].Decode+r.truth[y].Decode-want) < 1e-5 {
				r.truth[x], r.truth[y] = r.truth[y], r.truth[x]
				return
			}
		}
	}
}

// between lists the sequences that finished between two pages.
func (r *recorded) between(start, end float64) ([]finished, bool) {
	from, ok1 := r.count[start]
	to, ok2 := r.count[end]
	if !ok1 { // a birth: nothing had finished since the page before it
		from, ok1 = r.countBefore(start), true
	}
	return r.truth[from:to], ok1 && ok2
}

func (r *recorded) countBefore(at float64) int {
	n := 0
	for t, c := range r.count {
		if t < at {
			n = max(n, c)
		}
	}
	return n
}
