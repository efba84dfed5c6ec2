package main

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/goodput-exporter/goodput-exporter/exporter/config"
)

// TestTheGuidesExamplesAreRead: the file of targets and the configuration that the guide shows.
func TestTheGuidesExamplesAreRead(t *testing.T) {
	guide, err := os.ReadFile("../../docs/operations.md")
	if err != nil {
		t.Fatal(err)
	}
	var blocks []string
	for _, part := range strings.Split(string(guide), "```yaml\n")[1:] {
		text, _, _ := strings.Cut(part, "```")
		blocks = append(blocks, text)
	}
	found, err := listedTargets([]byte(blocks[0]), "guide.yaml")
	if err != nil || len(found) != 3 || found[2].ID != "gpu-9" || found[0].URL != "https://10.0.0.7:8000/metrics" {
		t.Errorf("targets %v, error %v", found, err)
	}
	cfg, err := config.Parse([]byte("slos: [{name: chat, clauses: {ttft: 250ms}, objective: 0.95}]\n"+blocks[1]), "guide.yaml")
	if err != nil {
		t.Fatal(err)
	}
	access := fetcherConfig(cfg)
	if access.Access.BearerTokenFile != "secrets/token" || access.Of["b"].Username != "metrics" || access.Of["b"].BearerTokenFile != "" || len(access.Of) != 1 {
		t.Errorf("access %+v, of targets %+v", access.Access, access.Of)
	}
}

// TestHowFarAnEngineIsLeftAlone: four pages a window, and gauges that do not grow old between two polls.
func TestHowFarAnEngineIsLeftAlone(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"":                        8 * time.Second,
		"poll: {interval: 1s}\n":  4 * time.Second,
		"poll: {interval: 5s}\n":  12 * time.Second,
		"poll: {interval: 15s}\n": 15 * time.Second,
		"poll: {interval: 2s, allow_fast: true}\n":        2 * time.Second,
		"judgement: {window: 20s}\n":                      5 * time.Second,
		"poll: {interval: 2s}\njudgement: {window: 8m}\n": 8 * time.Second,
	} {
		cfg, err := config.Parse([]byte("slos: [{name: chat, clauses: {ttft: 250ms}, objective: 0.95}]\n"+text), "x.yaml")
		if err != nil {
			t.Fatal(err)
		}
		if got := maxInterval(cfg); got != want {
			t.Errorf("%q: %v, want %v", text, got, want)
		}
		if got := maxInterval(cfg).Seconds(); got > cfg.Poll.Interval.Seconds() && got > 0.8*foldOptions(cfg, 0).Stale {
			t.Errorf("%q: gauges are old after %v s", text, foldOptions(cfg, 0).Stale)
		}
	}
}
