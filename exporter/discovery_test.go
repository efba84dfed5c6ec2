package exporter

import (
	"bytes"
	"io"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/goodput-exporter/goodput-exporter/exporter/catalog"
	"github.com/goodput-exporter/goodput-exporter/exporter/fact"
	"github.com/goodput-exporter/goodput-exporter/exporter/fold"
)

func soundDiscovery() *Discovery {
	return &Discovery{
		Source: "kubernetes", Where: "node n", Up: true, Since: time.Unix(startedAt, 0), Synced: time.Unix(startedAt+590, 0),
		Pods: []fold.Tally{{Name: "polled", Count: 5}, {Name: "starting", Count: 1}, {Name: "made up by a pod", Count: 7}, {Name: "so is this", Count: 1}},
	}
}

// TestDiscoveryIsOnThePage: how discovery stands, absent where it is not known, and no word that is not declared.
func TestDiscoveryIsOnThePage(t *testing.T) {
	for name, c := range map[string]struct {
		d      *Discovery
		want   []string
		absent []string
	}{
		"it is followed": {soundDiscovery(), []string{
			`goodput_discovery_up{source="kubernetes"} 1`, `goodput_discovery_last_sync_timestamp_seconds{source="kubernetes"} 1.70000059e+09`,
			`goodput_discovery_pods{state="polled"} 5`, `goodput_discovery_pods{state="other"} 8`, `goodput_engines_starting 1`,
			`goodput_discovery_pods{state="refused"} 0`,
		}, []string{`made up`}},
		"no pod is meant for an engine": {&Discovery{Source: "kubernetes", Up: true, Synced: time.Unix(startedAt, 0)}, []string{
			`goodput_discovery_pods{state="polled"} 0`, `goodput_discovery_pods{state="no_endpoint"} 0`,
		}, []string{`state="other"`}},
		"a namespace has not been heard yet": {&Discovery{Source: "kubernetes", Synced: time.Unix(startedAt, 0), Unknown: []string{"staging"}, Pods: []fold.Tally{{Name: "polled", Count: 1}}}, []string{
			`goodput_discovery_up{source="kubernetes"} 0`, `goodput_discovery_pods{state="polled"} 1`,
		}, []string{"staging"}},
		"it has not been heard yet": {&Discovery{Source: "kubernetes"}, []string{`goodput_discovery_up{source="kubernetes"} 0`},
			[]string{"goodput_discovery_last_sync", "goodput_discovery_pods"}},
		"there is none": {nil, nil, []string{"goodput_discovery_", "goodput_engines_starting"}},
	} {
		t.Run(name, func(t *testing.T) {
			e := polledOnce(t, sound, io.Discard)
			e.config.Inputs = func() Inputs { return Inputs{Discovery: c.d} }
			_, body := get(t, serve(t, e), "/metrics", acceptText)
			for _, want := range c.want {
				if !strings.Contains("\n"+body, "\n"+want+"\n") {
					t.Errorf("%s is not on the page", want)
				}
			}
			for line := range strings.Lines(body) {
				for _, absent := range c.absent {
					if !strings.HasPrefix(line, "#") && strings.Contains(line, absent) {
						t.Errorf("%s is on the page", line)
					}
				}
			}
		})
	}
}

// TestStartingIsNeitherUpNorDown: an engine that need not answer yet has no goodput_engine_up, and all else that is known.
func TestStartingIsNeitherUpNorDown(t *testing.T) {
	_, body := get(t, serve(t, polledOnce(t, sound, io.Discard)), "/metrics", acceptText)
	if strings.Contains(body, catalog.EngineUp+`{engine="g"}`) {
		t.Error("it is up, or down")
	}
	for _, want := range []string{catalog.EngineUp + `{engine="d"} 0`, catalog.EnginePhaseInfo + `{engine="g",phase="starting"} 1`, catalog.PollFailures + `{engine="g",reason="refused"} 30`} {
		if !strings.Contains(body, want+"\n") {
			t.Errorf("%s is not on the page", want)
		}
	}
}

// TestJournalTellsOfStarting: an engine that is starting is no outage in the log; one that has been ready and does not
// answer is.
func TestJournalTellsOfStarting(t *testing.T) {
	var log bytes.Buffer
	j := newJournal(slog.New(slog.NewTextHandler(&log, nil)))
	e := fold.Engine{ID: "a", Target: fact.Target{ID: "a", URL: secretURL, Starting: true}, Phase: fold.PhaseStarting}
	refused := map[string]fact.Poll{"a": {Reason: fact.ReasonRefused}}
	for _, step := range []struct {
		happens, want string
		change        func()
	}{
		{"it is found", `level=INFO msg="engine is starting`, func() {}},
		{"it loads", "", func() {}},
		{"its pod is ready, and it is refused", `level=WARN msg="engine is down"`, func() { e.Phase = fold.PhaseUnseen }},
		{"it answers", `level=INFO msg="engine is up"`, func() { e.Up, e.Phase = true, fold.PhaseWarming; clear(refused) }},
	} {
		step.change()
		log.Reset()
		j.note(&view{snapshot: &fold.Snapshot{At: 1000, Engines: []fold.Engine{e}}, down: refused}, []fact.Target{e.Target})
		if got := log.String(); step.want == "" && got != "" || !strings.Contains(got, step.want) {
			t.Errorf("%s: log is %q, want %q", step.happens, got, step.want)
		}
	}
}
