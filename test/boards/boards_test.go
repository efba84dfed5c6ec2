package boards

import (
	"slices"
	"strings"
	"testing"

	"github.com/goodput-exporter/goodput-exporter/exporter/catalog"
)

// TestBoards replays all worlds into a real Prometheus and asks it everything that the boards ask.
func TestBoards(t *testing.T) {
	tool(t, "prometheus")
	worlds := stage(t)
	answers := map[string]map[place]bool{} // by world: whether there was an answer
	for _, r := range worlds {
		t.Run("every panel and variable has data, or a reason not to: "+r.name, func(t *testing.T) { answers[r.name] = answered(t, r) })
	}
	t.Run("what only a running exporter has is there", func(t *testing.T) { answers["running"] = live(t) })
	t.Run("what may be empty in one world has data in another", func(t *testing.T) { provenSomewhere(t, answers) })
	t.Run("DSH-01: panels have data for the oldest and the newest supported engine alike", func(t *testing.T) {
		same(t, answers["vllm-0.32-day"], answers["vllm-0.11-day"])
		same(t, answers["vllm-0.32-day, with spans"], answers["vllm-0.11-day, with spans"])
	})
	t.Run("DSH-03: panels have data at a scrape interval of a minute, whatever the data source says", func(t *testing.T) {
		same(t, answers["fleet"], answers[onceAMinute])
	})
	fleet := worlds[slices.IndexFunc(worlds, func(r *replayed) bool { return r.name == "fleet" })]
	t.Run("DSH-05: shares of caches are not added", func(t *testing.T) { cachesStayShares(t, fleet) })
	t.Run("DSH-07: every query parses, whatever the variables are", func(t *testing.T) { queriesParse(t, fleet) })
	t.Run("the word on the promise follows from the numbers beside it", func(t *testing.T) {
		for _, r := range worlds {
			if r.name != "vllm-0.32-buckets" && !r.page { // nothing is judged there
				verdictsFollow(t, r)
			}
		}
	})
	for _, r := range worlds {
		if r.node != nil {
			t.Run("what the panels of GPUs show is what the GPUs did", func(t *testing.T) { panelsTellTheTruth(t, r) })
			t.Run("what qualified work costs by the rules is what the GPUs used for it", func(t *testing.T) { rulesTellTheTruth(t, r) })
		}
		if r.coarse == 0 && !r.page {
			t.Run("numbers are the sums of the judgement windows: "+r.name, func(t *testing.T) { numbersAdd(t, r) })
		}
	}
}

// answered asks with All chosen. Every question has an answer or is exempt.
func answered(t *testing.T, r *replayed) map[place]bool {
	answers := map[place]bool{}
	for _, b := range boards(t) {
		options := b.options(t, r)
		for _, q := range b.questions(t, r.when, options, all(options), scrape) {
			if r.page && !strings.Contains(q.panel, "GPU") {
				continue // other worlds have more of it
			}
			got, err := r.ask(q)
			if err != nil {
				t.Errorf("%s: %v\n%s", q, err, q.expr)
				continue
			}
			answers[q.place] = len(got) > 0
			if len(got) == 0 && exempt(r.name, q.place) < 0 {
				t.Errorf("%s has no data:\n%s", q, q.expr)
			}
		}
	}
	return answers
}

// provenSomewhere holds the exemptions to what they are for: each target has an answer in some world, and no exemption
// is left over.
func provenSomewhere(t *testing.T, answers map[string]map[place]bool) {
	proven, used := map[place]bool{}, map[int]bool{}
	for world, places := range answers {
		for p, answer := range places {
			if !answer {
				used[exempt(world, p)] = true
			}
			p.value = "" // whichever
			proven[p] = proven[p] || answer
		}
	}
	for p, has := range proven {
		if !has {
			t.Errorf("%s has data in no world: add one in which it has", p)
		}
	}
	for i, e := range mayBeEmpty {
		if !used[i] {
			t.Errorf("the exemption of %q (%s) is not needed", e.panel, e.why)
		}
	}
}

// same holds that two worlds answer the same questions.
func same(t *testing.T, one, other map[place]bool) {
	t.Helper()
	if len(one) == 0 {
		t.Fatal("no questions were asked")
	}
	for p, has := range one {
		if has && !other[p] {
			t.Errorf("%s has data in the first world and none in the second", p)
		}
	}
}

// verdictsFollow holds the word on the promise to the numbers beside it.
func verdictsFollow(t *testing.T, r *replayed) {
	columns := map[string]map[string]float64{} // by label set, then by target
	b := boards(t)[1]
	options := b.options(t, r)
	for _, q := range b.questions(t, r.when, options, all(options), scrape) {
		if !strings.Contains(q.panel, "Promise kept") {
			continue
		}
		got, err := r.ask(q)
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range got {
			key := name(s.Labels["model"], s.Labels["slo"])
			if columns[key] == nil {
				columns[key] = map[string]float64{}
			}
			columns[key][q.ref] = s.Values[0]
		}
	}
	for key, c := range columns {
		if _, judged := c["G"]; !judged {
			continue // a world before this one, whose error budget still counts
		}
		verdict, objective, lower, upper := c["A"], c["B"], c["C"], c["D"]
		want := 0.0
		if lower >= objective {
			want = 1
		} else if upper < objective {
			want = -1
		}
		if verdict != want || objective == 0 {
			t.Errorf("%s: %v, with an objective of %v and a share from %v to %v", key, verdict, objective, lower, upper)
		}
	}
}

// cachesStayShares compares the panel with the gauges themselves: each line is one scheduler's.
func cachesStayShares(t *testing.T, r *replayed) {
	for _, b := range boards(t) {
		options := b.options(t, r)
		for _, q := range b.questions(t, r.when, options, all(options), scrape) {
			if !strings.Contains(q.panel, "KV cache") {
				continue
			}
			lines, err := r.ask(q)
			if err != nil {
				t.Fatal(err)
			}
			gauges, err := r.over(catalog.EngineKVUsage, r.when, q.step)
			if err != nil || len(gauges) < 4 {
				t.Fatalf("%d gauges: %v", len(gauges), err)
			}
			most := map[string]float64{}
			for _, g := range gauges {
				most[g.Labels["engine"]] = slices.Max(g.Values)
			}
			if len(lines) != len(gauges) {
				t.Errorf("%d lines for %d schedulers", len(lines), len(gauges))
			}
			for _, l := range lines {
				if got := slices.Max(l.Values); got > 1 || got != most[l.Labels["engine"]] {
					t.Errorf("%s: %v, its gauge said at most %v", l.Labels["engine"], got, most[l.Labels["engine"]])
				}
			}
			return
		}
	}
	t.Error("no panel shows the KV cache")
}

// queriesParse asks with each variable empty, of several values, and of a value that means something in a pattern. A
// double quote is not among them: Grafana does not escape it, on anybody's board.
func queriesParse(t *testing.T, r *replayed) {
	for _, b := range boards(t) {
		options := b.options(t, r)
		for name := range options {
			for what, values := range map[string][]string{
				"empty": {}, "All": {everything}, "one value": slices.Concat(options[name], []string{"GPU-1"})[:1], "several values": {"a.b", "c/0|d"}, "an odd value": {`e'\(f`},
			} {
				chosen := all(options)
				chosen[name] = values
				for _, q := range b.questions(t, r.when, options, chosen, scrape) {
					if _, err := r.ask(q); err != nil {
						t.Errorf("%s is %s: %s: %v\n%s", name, what, q, err, q.expr)
					}
				}
			}
		}
	}
}
