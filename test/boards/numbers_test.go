package boards

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
)

// window is a line of replay --format=windows, as docs/replay.md describes it. What is unknown is left out.
type window struct {
	Engine, Model, SLO string
	Start, End         float64
	Classes            []struct {
		Class        string
		Seen, Unseen float64
		Lower, Upper float64
		TokensLower  float64 `json:"tokens_lower"`
	}
	counts map[string]float64
}

// grace is for how long a window may wait for its spans, in seconds, and for the poll after that.
const grace = 13

func (r *replayed) windows(t *testing.T) []window {
	t.Helper()
	var all []window
	for line := range strings.Lines(string(command(t, exporter(t), "replay", "--config.file="+r.config, "--format=windows", r.pages))) {
		w := window{counts: map[string]float64{}}
		var keys map[string]any
		if err := json.Unmarshal([]byte(line), &w); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal([]byte(line), &keys); err != nil {
			t.Fatal(err)
		}
		if w.SLO == "" {
			continue // a quantile
		}
		for key, value := range keys {
			if v, is := value.(float64); is {
				w.counts[key] = v
			}
		}
		w.Start, w.End = w.Start+r.later, w.End+r.later
		all = append(all, w)
	}
	return all
}

// numbersAdd compares the single numbers of the boards with the windows that were committed in the same range. The range
// begins and ends at a scrape, where increase() has nothing to extrapolate in Prometheus 2; Prometheus 3 leaves the first
// sample of a range out and stretches what remains, by at most one scrape.
func numbersAdd(t *testing.T, r *replayed) {
	windows := r.windows(t)
	when := r.settled(t, windows)
	windows = slices.DeleteFunc(windows, func(w window) bool { return w.End <= when.from || w.End > when.to })
	if len(windows) == 0 {
		t.Fatal("no window was committed in the range")
	}
	tolerance := 1e-9
	if r.major(t) >= 3 {
		tolerance = 1.5 * scrape / when.seconds()
	}
	inside := *r
	inside.when = when
	compared := 0
	for _, b := range boards(t) {
		options := b.options(t, &inside)
		for _, q := range b.questions(t, when, options, all(options), scrape) {
			expected, has := expectation(q, windows)
			if !has {
				continue
			}
			got, err := inside.ask(q)
			if err != nil {
				t.Fatalf("%s: %v", q, err)
			}
			compare(t, q, got, expected, tolerance)
			compared += len(expected)
		}
	}
	least := 28 // the ledger has seven rows and two columns, on two boards
	if slices.ContainsFunc(windows, func(w window) bool { return len(w.Classes) > 0 }) {
		least += 2 * 5 // two classes and five columns
	}
	if compared < least {
		t.Errorf("only %d numbers were compared", compared)
	}
}

// settled is a range that begins at a scrape when every engine has committed a window, and at which none commits one.
func (r *replayed) settled(t *testing.T, windows []window) span {
	t.Helper()
	first := map[string]float64{}
	for _, w := range windows {
		if first[w.Engine] == 0 {
			first[w.Engine] = w.End
		}
	}
	at := r.when.from
	for _, end := range first {
		at = max(at, end)
	}
	for at = math.Ceil(at/scrape)*scrape + scrape; at < r.when.to; at += scrape {
		if !slices.ContainsFunc(windows, func(w window) bool { return w.End > at-grace && w.End < at+3 }) {
			return span{at, r.when.to}
		}
	}
	t.Fatal("no quiet scrape after the first windows")
	return span{}
}

func (s *server) major(t *testing.T) int {
	t.Helper()
	var answer struct{ Data struct{ Version string } }
	var major int
	if err := s.get("/api/v1/status/buildinfo", nil, &answer); err != nil {
		t.Fatal(err)
	}
	if _, err := fmt.Sscanf(answer.Data.Version, "%d.", &major); err != nil {
		t.Fatalf("version %q: %v", answer.Data.Version, err)
	}
	return major
}

// expectation is what the windows say to a question about single numbers, by the labels that the answer has.
func expectation(q question, windows []window) (map[string]float64, bool) {
	if strings.Contains(q.panel, "requests") && strings.Contains(q.panel, "by what became of them") {
		return ledgerSums(windows, map[string]string{"A": "_lower", "B": "_upper"}[q.ref]), true
	}
	if strings.Contains(q.panel, "Classes of the SLOs") {
		return classSums(windows, q.ref)
	}
	loser := strings.Contains(q.panel, "most certainly missed")
	if !loser && !strings.Contains(q.panel, "Promise kept") {
		return nil, false
	}
	sums := map[string]map[string]float64{}
	for _, w := range windows {
		if _, judged := w.counts["lower"]; !judged {
			continue
		}
		key := name(w.Model, w.SLO)
		if loser {
			key = name(w.Engine, w.Model, w.SLO)
		}
		if sums[key] == nil {
			sums[key] = map[string]float64{}
		}
		for count, v := range w.counts {
			sums[key][count] += v
		}
	}
	value, has := quotients[q.ref]
	if loser {
		value, has = misses[q.ref]
	}
	if !has {
		return nil, false
	}
	expected := map[string]float64{}
	for key, sum := range sums {
		if sum["requests"] > 0 && (!loser || sum["requests"] > sum["upper"]) {
			expected[key] = value(sum["lower"], sum["upper"], sum["requests"])
		}
	}
	return expected, true
}

// quotients and misses are what the columns of the two tables say, of the sums over the windows.
var (
	quotients = map[string]func(lower, upper, requests float64) float64{
		"C": func(lower, _, requests float64) float64 { return lower / requests },
		"D": func(_, upper, requests float64) float64 { return upper / requests },
		"G": func(_, _, requests float64) float64 { return requests },
	}
	misses = map[string]func(lower, upper, requests float64) float64{
		"A": func(_, upper, requests float64) float64 { return requests - upper },
		"B": func(lower, _, requests float64) float64 { return requests - lower },
		"C": func(_, _, requests float64) float64 { return requests },
	}
)

// name joins the labels that an answer has.
func name(labels ...string) string {
	return strings.Join(slices.DeleteFunc(labels, func(l string) bool { return l == "" }), " ")
}

// ledgerSums adds up one end of each outcome. The ledger is the engine's, so the lines of its objectives repeat it.
func ledgerSums(windows []window, end string) map[string]float64 {
	seen, sums := map[string]bool{}, map[string]float64{}
	for _, w := range windows {
		key := fmt.Sprint(w.Engine, w.End)
		if seen[key] {
			continue
		}
		seen[key] = true
		for _, outcome := range []string{"arrived", "finished", "failed", "cancelled", "rejected", "lost", "unexplained"} {
			for _, count := range []string{outcome, outcome + end} {
				if v, is := w.counts[count]; is {
					sums[outcome] += v
				}
			}
		}
	}
	return sums
}

// compare holds an answer to what was expected.
func compare(t *testing.T, q question, got []series, expected map[string]float64, tolerance float64) {
	t.Helper()
	have := map[string]float64{}
	for _, s := range got {
		have[name(s.Labels["engine"], s.Labels["model"], s.Labels["slo"], s.Labels["class"], s.Labels["outcome"])] = s.Values[len(s.Values)-1]
	}
	for key, want := range expected {
		if v, is := have[key]; !is || math.Abs(v-want) > tolerance*math.Max(1, math.Abs(want)) {
			t.Errorf("%s %s: the board says %v, the windows %v\n%s", q, key, v, want, q.expr)
		}
		delete(have, key)
	}
	if len(have) > 0 {
		t.Errorf("%s: the windows know nothing of %v", q, have)
	}
}
