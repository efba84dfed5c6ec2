package exporter

import (
	"context"
	"encoding/json"
	"io"
	"maps"
	"slices"
	"testing"

	"github.com/goodput-exporter/goodput-exporter/exporter/fact"
)

func TestDebugRoundTellsAll(t *testing.T) {
	var got struct {
		Rounds      int
		Missed      int
		FailedPolls map[string]struct{ Reason, Detail string } `json:"failed_polls"`
		Snapshot    struct {
			At      float64
			Engines []struct {
				ID     string
				Phase  string
				Target struct{ URL string }
				Ranks  []struct {
					Histograms map[string]any
					Running    *float64
					Quantiles  []struct {
						Metric string
						Upper  any
					}
				}
			}
		}
	}
	e := polledOnce(t, func(_ context.Context, t fact.Target) fact.Poll {
		if t.ID == "d" {
			return fact.Poll{Reason: fact.ReasonAuth, Detail: "give a token"}
		}
		return fact.Poll{Sample: &fact.EngineSample{}}
	}, io.Discard)
	_, body := get(t, serve(t, e), "/debug/round", "")
	if err := json.Unmarshal([]byte(body), &got); err != nil {
		t.Fatal(err)
	}
	if got.Rounds != 1 || got.Snapshot.At != startedAt+600 || len(got.Snapshot.Engines) != 7 {
		t.Errorf("%+v", got)
	}
	if p := got.FailedPolls["d"]; len(got.FailedPolls) != 1 || p.Reason != "auth" || p.Detail != "give a token" {
		t.Errorf("failed polls %+v", got.FailedPolls)
	}
	a, b := got.Snapshot.Engines[0], got.Snapshot.Engines[1]
	if a.ID != "a" || a.Phase != "judging" || a.Target.URL != "http://10.0.0.7:8000/metrics" {
		t.Errorf("%+v", a)
	}
	if names := slices.Sorted(maps.Keys(a.Ranks[0].Histograms)); len(names) != int(fact.NumFamilies) || !slices.Contains(names, "ttft") {
		t.Errorf("histograms %v", names)
	}
	if q := a.Ranks[0].Quantiles[1]; q.Metric != "ttft" || q.Upper != "+Inf" {
		t.Errorf("a quantile above the last edge is %+v", q)
	}
	if r := b.Ranks[0].Running; r == nil || *r != 2 {
		t.Errorf("running %v", r)
	}
}

func TestSnake(t *testing.T) {
	for name, want := range map[string]string{"LastPoll": "last_poll", "ID": "id", "SLOs": "slos", "KVUsage": "kv_usage", "RequestsOK": "requests_ok", "E2E": "e2e", "Q": "q", "": ""} {
		if got := snake(name); got != want {
			t.Errorf("%q is %q, want %q", name, got, want)
		}
	}
}
