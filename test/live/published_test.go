package main

import (
	"encoding/json"
	"math"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"
)

// rounds are what an exporter says one after the other; the last two are of one round.
var rounds = []string{
	`{"rounds": 1, "snapshot": {"engines": [{"up": true, "last_poll": 10.5, "poll_took": 0.5}], "windows": [], "quantiles": []}}`,
	`{"rounds": 2, "snapshot": {"engines": [{"up": false, "last_poll": 10.5, "poll_took": 0.001}], "windows": [], "quantiles": []}}`,
	`{"rounds": 4, "snapshot": {"engines": [{"up": true, "last_poll": 13, "poll_took": 0.25}],
		"windows": [{"engine": "a", "slo": "chat", "start": 1.5, "end": 13, "arrived": {"lower": 7, "upper": 8, "known": true}, "sequences": 6, "sequences_ok": true, "lower": 3, "upper": 5, "method": "network"}],
		"quantiles": [{"engine": "a", "quantile": {"metric": "ttft", "q": 0.99, "lower": 2560, "upper": "+Inf", "count": 4}}]}}`,
	`{"rounds": 4, "snapshot": {"engines": [], "windows": [{}], "quantiles": []}}`,
}

func TestRoundsAreTakenOnce(t *testing.T) {
	p := &published{}
	for _, text := range rounds {
		var r round
		if err := json.Unmarshal([]byte(text), &r); err != nil {
			t.Fatal(err)
		}
		p.take(r)
	}
	p.take(round{Rounds: 5})
	if p.Missed != 1 {
		t.Errorf("%d rounds missed, want 1", p.Missed)
	}
	if want := []poll{{10, 10.5}, {12.75, 13}}; !slices.Equal(p.Polls, want) {
		t.Errorf("polls %v, want %v: the failed one brought no page", p.Polls, want)
	}
	if len(p.Windows) != 1 || p.Windows[0].Arrived != (count{7, 8, true}) || p.Windows[0].Upper != 5 || p.Windows[0].Sequences != 6 {
		t.Errorf("windows %+v", p.Windows)
	}
	if len(p.Quantiles) != 1 || !math.IsInf(float64(p.Quantiles[0].Quantile.Upper), 1) || p.Quantiles[0].Quantile.Metric != "ttft" {
		t.Errorf("quantiles %+v", p.Quantiles)
	}
	if l, ok := p.lastBefore(12.75); !ok || l.Received != 10.5 {
		t.Errorf("the last page before 12.75 is %v", l)
	}
	if _, ok := p.lastBefore(10); ok {
		t.Error("there was no page before the first")
	}
	if got := p.received(12.7501); got != 13 {
		t.Errorf("the page of 12.75 came at %v", got)
	}
}

func TestPage(t *testing.T) {
	samples := page("# HELP a A\n# TYPE a counter\na{x=\"1\",y=\"b c\"} 2\na{x=\"2\"} 3.5\nb 1e3\nbroken\nc NaN\n")
	for what, c := range map[string]struct {
		name  string
		pairs []string
		want  float64
		found bool
	}{
		"all of a name":              {"a", nil, 5.5, true},
		"those with a label":         {"a", []string{`x="1"`}, 2, true},
		"a sample without labels":    {"b", nil, 1000, true},
		"a label that is nowhere":    {"a", []string{`x="3"`}, 0, false},
		"a name that is nowhere":     {"d", nil, 0, false},
		"a label of a plain sample":  {"b", []string{`x="1"`}, 0, false},
		"a name that begins another": {"brok", nil, 0, false},
	} {
		if got, found := sum(samples, c.name, c.pairs...); got != c.want || found != c.found {
			t.Errorf("%s: %v, %v; want %v, %v", what, got, found, c.want, c.found)
		}
	}
}

func TestAPageThatIsNotThereIsAnError(t *testing.T) {
	server := httptest.NewServer(http.NotFoundHandler())
	defer server.Close()
	if _, err := get(t.Context(), server.URL); err == nil {
		t.Error("404 is taken for a page")
	}
	if p, err := watch(t.Context(), server.URL); err == nil || p == nil {
		t.Errorf("watch: %v, %v", p, err)
	}
}
