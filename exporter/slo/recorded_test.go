package slo

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/goodput-exporter/goodput-exporter/exporter/fact"
)

// recorded is what the bounds are held to on one recorded engine.
var recorded = []struct {
	name    string
	minutes []recordedMinutes
	// objectives are TTFT and TPOT thresholds; points is the mean width over them and all minutes of a plain prototype
	// of the network, which knows buckets but no sums: to be beaten.
	objectives [][2]float64
	points     float64
}{
	{
		name: "vllm-0.32-day",
		minutes: []recordedMinutes{
			{.25, .025, [][3]int{{214, 209, 1}, {371, 368, 0}, {581, 519, 3}, {694, 513, 8}, {688, 152, 9}}},
			{.1, .025, [][3]int{{214, 175, 5}, {371, 306, 6}, {581, 360, 14}, {694, 358, 33}, {688, 121, 17}}},
			{.06, .01, [][3]int{{214, 99, 35}, {371, 134, 42}, {581, 79, 24}, {694, 45, 12}, {688, 49, 7}}},
		},
		objectives: [][2]float64{{.25, .025}, {.1, .025}, {.5, .025}, {.06, .01}, {.25, .01}}, points: 6.88,
	},
	{
		name: "vllm-0.32-buckets",
		minutes: []recordedMinutes{
			{.2, .02, [][3]int{{339, 327, 1}, {613, 487, 3}, {829, 50, 4}}},
			{.1, .02, [][3]int{{339, 282, 4}, {613, 385, 21}, {829, 40, 5}}},
		},
		objectives: [][2]float64{{.2, .02}, {.1, .02}, {.15, .015}}, points: 5.15,
	},
	{
		name:       "vllm-0.32-kv",
		minutes:    []recordedMinutes{{.25, .025, [][3]int{{270, 255, 0}, {509, 309, 16}, {665, 11, 1}}}},
		objectives: [][2]float64{{.25, .025}, {.5, .025}, {1, .025}}, points: 2.99,
	},
	{
		name:    "vllm-0.11-day",
		minutes: []recordedMinutes{{.25, .025, [][3]int{{230, 61, 8}, {444, 373, 2}, {671, 280, 22}}}},
	},
	{
		name: "vllm-0.32-dp2",
	},
	{
		name:    "vllm-0.32-spec",
		minutes: []recordedMinutes{{.25, .025, [][3]int{{239, 174, 18}}}},
	},
}

// recordedMinutes is what each minute of a recording held: how many sequences finished, how many of them met the
// objective, and an interval width that may be missed by a point, in points of the finished: that of the pair bounds
// with sums taken at face value, and of the network's prototype for vllm-0.32-kv.
type recordedMinutes struct {
	ttft, tpot float64
	windows    [][3]int // finished, qualified, width
}

// cut splits a recording into windows of 60 s, as pairs of page numbers; each closes at the page nearest to its end.
func cut(r *recording) (cuts [][2]int) {
	middle := func(i int) float64 { return (r.pages[i].sent + r.pages[i].received) / 2 }
	for from, to := 0, 1; to < len(r.pages); to++ {
		if middle(to)-middle(from) >= 60-0.5 {
			cuts = append(cuts, [2]int{from, to})
			from = to
		}
	}
	return cuts
}

func TestRecordings(t *testing.T) {
	for i, c := range recorded {
		t.Run(c.name, func(t *testing.T) {
			r := load(t, c.name)
			t.Run("each minute holds the truth and is narrow", func(t *testing.T) {
				for _, m := range c.minutes {
					testMinutes(t, r, m)
				}
			})
			if c.objectives != nil {
				t.Run("the mean width stays below a plain network's", func(t *testing.T) {
					testMeanWidth(t, r, c.objectives, c.points)
				})
			}
			t.Run("random windows hold the truth", func(t *testing.T) {
				testRandomWindows(t, r, rand.New(rand.NewPCG(uint64(i), 5)))
			})
		})
	}
}

func testMinutes(t *testing.T, r *recording, m recordedMinutes) {
	var j Judge
	clauses := []Clause{{fact.TTFT, m.ttft}, {fact.TPOT, m.tpot}}
	cuts := cut(r)
	if len(cuts) < len(m.windows) {
		t.Fatalf("%d whole minutes, want %d", len(cuts), len(m.windows))
	}
	for i, want := range m.windows {
		from, to := cuts[i][0], cuts[i][1]
		n, good := r.qualified(&r.pages[from], &r.pages[to], clauses)
		if n != uint64(want[0]) || good != uint64(want[1]) {
			t.Errorf("minute %d %v: %d of %d qualified, want %d of %d", i, clauses, good, n, want[1], want[0])
		}
		b := j.Window(r.window(r.pages[:to+1], from), clauses, 0)
		if b.Lower > good || good > b.Upper || b.Method != MethodExplain {
			t.Errorf("minute %d %v: %d <= %d <= %d by %s %s", i, clauses, b.Lower, good, b.Upper, b.Method, b.Note)
		}
		if width := 100 * float64(b.Upper-b.Lower) / float64(n); width > float64(want[2])+1 {
			t.Errorf("minute %d %v: [%d, %d] of %d is %.1f points wide, want at most %d", i, clauses, b.Lower, b.Upper, n, width, want[2]+1)
		}
	}
}

func testMeanWidth(t *testing.T, r *recording, objectives [][2]float64, points float64) {
	var j Judge
	sum, windows := 0.0, 0
	for _, c := range cut(r) {
		w := r.window(r.pages[:c[1]+1], c[0])
		for _, o := range objectives {
			b := j.Window(w, []Clause{{fact.TTFT, o[0]}, {fact.TPOT, o[1]}}, 0)
			sum += 100 * float64(b.Upper-b.Lower) / float64(j.n)
			windows++
		}
	}
	mean := sum / float64(windows)
	t.Logf("mean width %.2f points over %d windows", mean, windows)
	if mean > points {
		t.Errorf("mean width %.2f points over %d windows, want at most %.2f", mean, windows, points)
	}
}

// testRandomWindows checks lower <= truth <= upper with random starts of the history, polls missed at random and random
// objectives, for the published interval and for each method alone. No untorn page may be called contradictory.
func testRandomWindows(t *testing.T, r *recording, rng *rand.Rand) {
	var j Judge
	naive, joint := 0, 0
	for range 60 {
		pages := sample(rng, r.pages)
		from := rng.IntN(len(pages) - 2)
		to := min(len(pages)-1, from+2+rng.IntN(60))
		w := r.window(pages[:to+1], from)
		if rng.IntN(3) == 0 {
			w.Old = Unlimited
		}
		clauses := draw(rng, &pages[0])
		n, good := r.qualified(&pages[from], &pages[to], clauses)
		b := j.Window(w, clauses, 0)
		if b.Lower > good || good > b.Upper || b.Upper > n {
			t.Errorf("pages %d to %d, %v: %d <= %d <= %d of %d by %q %s", from, to, clauses, b.Lower, good, b.Upper, n, b.Method, b.Note)
		}
		if b.Method == MethodFinish || n == 0 {
			continue
		}
		joint++
		pairs, explain, explained := methods(&j, w, clauses)
		if !pairs.holds(good) || !explain.holds(good) || !explained {
			t.Errorf("pages %d to %d, %v: %d met them, pairs %v, explain %v, explained %t", from, to, clauses, good, pairs, explain, explained)
		}
		if !sameSlice(w, clauses).holds(good) {
			naive++
		}
	}
	t.Logf("of %d windows the same-slice bound was wrong for %d", joint, naive)
	if naive < joint/10 {
		t.Errorf("of %d windows the same-slice bound was wrong for %d: the recording cannot tell a wrong bound from a right one", joint, naive)
	}
}

// sample is a recording seen by a poller that started late and missed polls.
func sample(rng *rand.Rand, pages []page) (seen []page) {
	start := 0
	if rng.IntN(3) > 0 {
		start = rng.IntN(len(pages) * 2 / 3)
	}
	missed := math.Max(0, rng.Float64()-0.4)
	for _, p := range pages[start:] {
		if rng.Float64() >= missed {
			seen = append(seen, p)
		}
	}
	return seen
}

// draw makes an objective with a TTFT clause mostly, at edges or off them.
func draw(rng *rand.Rand, p *page) (clauses []Clause) {
	add := func(f fact.Family, low, high float64) {
		x := low * math.Pow(high/low, rng.Float64())
		if rng.IntN(4) > 0 { // the first edge above
			for _, e := range p.histograms[f].Edges {
				if e >= x {
					x = e
					break
				}
			}
		}
		clauses = append(clauses, Clause{f, x})
	}
	if rng.IntN(10) > 0 {
		add(fact.TTFT, 0.05, 2)
	}
	if rng.IntN(10) > 0 {
		add(fact.TPOT, 0.008, 0.04)
	}
	switch rng.IntN(6) {
	case 0:
		add(fact.E2E, 0.2, 3)
	case 1:
		add(fact.Queue, 0.2, 2)
	case 2:
		add(fact.Inference, 0.2, 2)
	}
	if len(clauses) == 0 {
		add(fact.Decode, 0.2, 2)
	}
	return clauses
}
