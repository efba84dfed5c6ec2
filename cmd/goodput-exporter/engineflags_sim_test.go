package main

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/goodput-exporter/goodput-exporter/exporter/config"
	"github.com/goodput-exporter/goodput-exporter/exporter/edges"
	"github.com/goodput-exporter/goodput-exporter/exporter/fact"
	"github.com/goodput-exporter/goodput-exporter/exporter/sim"
	"github.com/goodput-exporter/goodput-exporter/exporter/slo"
)

// started is a scenario whose engines were started with lists of edges.
func started(s sim.Scenario, lists []edges.List) sim.Scenario {
	var b sim.Buckets
	for _, l := range lists {
		switch l.Name {
		case "time_to_first_token":
			b.TTFT = l.Edges
		case "inter_token_latency":
			b.Gaps = l.Edges
		case "request_latency":
			b.Latency = l.Edges
		}
	}
	s.Engines = append([]sim.Engine(nil), s.Engines...)
	for i := range s.Engines {
		s.Engines[i].Buckets = b
	}
	return s
}

// betweenEdges is a promise that none of vLLM's own edges can answer.
const betweenEdges = `slos:
  - {name: chat, clauses: {ttft: 330ms, tpot: 18ms}, objective: 0.95}
  - {name: all, clauses: {ttft: 1200ms, tpot: 22ms, e2e: 7s, queue: 120ms}, objective: 0.95}
`

// TestAnEngineWithTheFlagsAnswersEverything simulates one engine with vLLM's own edges and one with those that
// engine-flags prints, under the same load: check must refuse the first and have nothing to refuse on the second, whose
// intervals hold the truth, whose percentiles are narrower, and whose page is as much larger as it was told.
func TestAnEngineWithTheFlagsAnswersEverything(t *testing.T) {
	computes(t)
	configFile := writeFile(t, "goodput.yaml", betweenEdges)
	cfg, err := config.Load(configFile)
	if err != nil {
		t.Fatal(err)
	}
	lists := edges.For(cfg.Objectives(), cfg.Grids())
	scenario, ok := sim.ScenarioNamed("bursty")
	if !ok {
		t.Fatal("no such scenario")
	}
	const length = 8 * time.Minute
	own := watch(t, scenario, 7, length, cfg.SLOs)
	flagged := watch(t, started(scenario, lists), 7, length, cfg.SLOs)

	if out, err := checked(configFile, pageFile(t, own)); err == nil {
		t.Errorf("vLLM's own edges can answer everything\n%s", out)
	}
	if out, err := checked(configFile, pageFile(t, flagged)); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	holdsTheTruth(t, flagged, cfg)

	grown := len(lastPage(t, flagged)) - len(lastPage(t, own))
	told := (edges.Lines(lists, edgesOf("0.32")) - edges.Lines(nil, edgesOf("0.32"))) * bucketLine
	if math.Abs(float64(grown-told)) > 0.15*float64(told) {
		t.Errorf("the page grew by %d bytes, and %d were told", grown, told)
	}
	for _, f := range []fact.Family{fact.TTFT, fact.TPOT} {
		was, is := meanWidth(own, f), meanWidth(flagged, f)
		t.Logf("%s: p50 to p99 over 5 minutes are intervals of mean width %.0f %% of their upper end with vLLM's own edges, %.0f %% with the flags; page %d bytes, was %d",
			f, 100*was, 100*is, len(lastPage(t, flagged)), len(lastPage(t, own)))
		if is > 0.75*was {
			t.Errorf("%s: %v, was %v: hardly narrower", f, is, was)
		}
	}
}

// TestFlagsNarrowWhatCouldBeAnsweredBefore where queue and prefill times matter: promises that vLLM's own edges can
// answer too. GOODPUT_ALL_SCENARIOS=1 has it measure every scenario, for docs/engine-flags.md.
func TestFlagsNarrowWhatCouldBeAnsweredBefore(t *testing.T) {
	computes(t)
	cfg := config.Default()
	cfg.SLOs = simObjectives()
	lists := edges.For(cfg.Objectives(), cfg.Grids())
	names := []string{"rag"}
	if os.Getenv("GOODPUT_ALL_SCENARIOS") != "" {
		names = scenarioNames()
	}
	for _, name := range names {
		scenario, _ := sim.ScenarioNamed(name)
		own, flagged := jointWidth(watch(t, scenario, 7, 10*time.Minute, cfg.SLOs)), jointWidth(watch(t, started(scenario, lists), 7, 10*time.Minute, cfg.SLOs))
		for slo, was := range own {
			t.Logf("%s %s: %.2f points wide, %.2f with the flags", name, slo, was, flagged[slo])
			if flagged[slo] > was {
				t.Errorf("%s %s: %.2f points wide, was %.2f", name, slo, flagged[slo], was)
			}
		}
		if gain := own["100/10"] - flagged["100/10"]; name == "rag" && gain < 1 {
			t.Errorf("%s: %.2f points are gained", name, gain)
		}
	}
}

// TestTheDocsMeasuredEveryScenario: a new scenario has the numbers of docs/engine-flags.md measured again.
func TestTheDocsMeasuredEveryScenario(t *testing.T) {
	text, err := os.ReadFile("../../docs/engine-flags.md")
	if err != nil {
		t.Fatal(err)
	}
	if want := fmt.Sprintf("of %d simulated scenarios", len(scenarioNames())); !strings.Contains(string(text), want) {
		t.Errorf("docs/engine-flags.md does not say %q: measure again with GOODPUT_ALL_SCENARIOS=1", want)
	}
}

// jointWidth is the width of all windows' intervals together, in percentage points, by objective.
func jointWidth(j *judgedWorld) map[string]float64 {
	width, requests := map[string]float64{}, map[string]float64{}
	for _, w := range j.said.windows {
		width[w.SLO] += float64(w.Upper - w.Lower)
		requests[w.SLO] += float64(w.Requests)
	}
	for slo := range width {
		width[slo] *= 100 / requests[slo]
	}
	return width
}

func lastPage(t *testing.T, j *judgedWorld) []byte {
	t.Helper()
	page, up := j.world.Page(j.world.Engines()[0])
	if !up {
		t.Fatal("the engine is down")
	}
	return page
}

func pageFile(t *testing.T, j *judgedWorld) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "page.prom")
	if err := os.WriteFile(path, lastPage(t, j), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// holdsTheTruth compares each judged window with what became of every sequence.
func holdsTheTruth(t *testing.T, j *judgedWorld, cfg *config.Config) {
	t.Helper()
	judged := 0
	for _, w := range j.said.windows {
		if w.Evidence == "" {
			t.Errorf("%s is not judged: %s", w.SLO, w.Reason)
			continue
		}
		good := uint64(0)
		for _, q := range j.within(w.Engine, w.Start, w.End) {
			for _, o := range cfg.SLOs {
				if o.Name == w.SLO && meets(o, q) {
					good++
				}
			}
		}
		if judged++; good < w.Lower || good > w.Upper {
			t.Errorf("%s from %.0f: %d qualified, published is %d to %d", w.SLO, w.Start-simStart, good, w.Lower, w.Upper)
		}
	}
	if judged < 10 {
		t.Errorf("only %d windows were judged", judged)
	}
}

// meanWidth is the mean of (upper - lower) / upper over the quantiles of 5 minutes.
func meanWidth(j *judgedWorld, f fact.Family) float64 {
	sum, n := 0.0, 0
	for _, q := range j.said.quantiles {
		if q.Metric == f && q.Window == 300 && !math.IsInf(q.Upper, 1) {
			sum, n = sum+(q.Upper-q.Lower)/q.Upper, n+1
		}
	}
	return sum / float64(n)
}

// TestWhatIsOfferedInsteadIsAnswerable reads the clauses that are printed for engines with fixed edges back.
func TestWhatIsOfferedInsteadIsAnswerable(t *testing.T) {
	computes(t)
	clauses := regexp.MustCompile(`(?m)^#   (clauses: \{.*\})`)
	offered := 0
	for _, version := range []string{"0.8.3", "0.10", "0.11", "0.30"} {
		for _, file := range []string{"fleet", "far", "easy"} {
			text, err := flagsOutput(t, engineFlagsOptions{ConfigFile: "testdata/engineflags/" + file + ".yaml", Version: version})
			if err != nil {
				t.Fatal(err)
			}
			for _, m := range clauses.FindAllStringSubmatch(text, -1) {
				offered++
				cfg, err := config.Parse([]byte("slos: [{name: x, objective: 0.9, "+m[1]+"}]"), "offered")
				if err != nil {
					t.Errorf("%s, vLLM %s: %v", m[1], version, err)
					continue
				}
				own := edgesOf(version)
				known := func(f fact.Family) ([]float64, bool) { return own[f], len(own[f]) > 0 }
				if refused := slo.Refusals(cfg.Objectives()[0].Clauses, known); len(refused) > 0 {
					t.Errorf("%s, vLLM %s: %v", m[1], version, refused)
				}
			}
			if strings.Contains(text, edges.Option) {
				t.Errorf("vLLM %s has no %s", version, edges.Option)
			}
		}
	}
	if offered < 10 {
		t.Errorf("only %d clauses were offered", offered)
	}
}
