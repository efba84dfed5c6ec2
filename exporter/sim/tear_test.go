package sim

import (
	"math"
	"slices"
	"testing"
)

// TestTornPages: a page is torn with the configured probability when something has just finished; then the families from
// some place upwards lack exactly what finished last. All other pages are whole.
func TestTornPages(t *testing.T) {
	const share = 0.2
	c := Config{Seed: 4, Start: start, Engines: []Engine{{ID: "a", Model: "m", Step: H100, Torn: share}}, Loads: []Load{
		{Engines: []string{"a"}, Rate: Constant(25), Mix: fixed(50, 20), Habits: Habits{Two: 0.1}},
	}}
	truth := listen(&c)
	w := build(t, c)
	pages, torn, cuts := 0.0, 0.0, map[int]bool{}
	for at := 1.0; at < 400; at += 0.31 {
		w.Run(start + at)
		s := read(t, w, "a")
		e := w.endpoints[0]
		latest := e.ranks[0].stats.latest
		finished := float64(len(truth.sequences))
		if len(latest) > 0 && w.now-latest[0].last <= settling {
			pages++
		}
		missing := make([]float64, len(finishCounts))
		for i, f := range finishCounts {
			missing[i] = finished - s.sums[f]
		}
		if slices.Max(missing) == 0 {
			continue
		}
		torn++
		cut := slices.Index(missing, 0)
		cuts[cut] = true
		for i, n := range missing {
			if want := float64(len(latest)); (i < cut && n != want) || (i >= cut && n != 0) || cut <= 0 {
				t.Fatalf("at %.2f s, with %v just finished, the families lack %v", at, want, missing)
			}
		}
	}
	if sigma := math.Sqrt(share * (1 - share) * pages); math.Abs(torn-share*pages) > 4*sigma || pages < 1000 {
		t.Errorf("%v of %v pages are torn, a share of %v is configured", torn, pages, share)
	}
	if len(cuts) != len(finishCounts)-1 {
		t.Errorf("pages are torn at %d places only", len(cuts))
	}
}

// TestIdlePagesAreWhole: nothing is torn when nothing has just finished.
func TestIdlePagesAreWhole(t *testing.T) {
	c := Config{Start: start, Engines: []Engine{{ID: "a", Model: "m", Step: H100, Torn: 1}}, Loads: []Load{{Engines: []string{"a"}, Trace: []Sent{{At: 1, Prompt: 10, Output: 5}}}}}
	w := run(t, c, 10)
	s := read(t, w, "a")
	for _, f := range finishCounts {
		if s.sums[f] != 1 {
			t.Errorf("%s is %v long after the only request", f, s.sums[f])
		}
	}
}

// TestEnginesTearApart: whether one engine's page is torn says nothing of another's at the same instant.
func TestEnginesTearApart(t *testing.T) {
	c := Config{Seed: 1, Start: start}
	for _, id := range []string{"a", "b"} {
		c.Engines = append(c.Engines, Engine{ID: id, Model: "m", Step: H100, Torn: 0.5})
		c.Loads = append(c.Loads, Load{Engines: []string{id}, Rate: Constant(30), Mix: fixed(10, 5)})
	}
	w := build(t, c)
	torn := func(id string) bool {
		s := read(t, w, id).sums
		return s["vllm:request_success_total"] != s["vllm:request_prefill_kv_computed_tokens_count"]
	}
	n, agree := 0.0, 0.0
	for at := 5.0; at < 105; at += 0.5 {
		w.Run(start + at)
		n++
		if torn("a") == torn("b") {
			agree++
		}
	}
	if math.Abs(agree-n/2) > 4*math.Sqrt(n/4) {
		t.Errorf("%v of %v pairs of pages are both torn or both whole, half of them should be", agree, n)
	}
}
