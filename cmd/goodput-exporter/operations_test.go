package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/goodput-exporter/goodput-exporter/exporter/catalog"
	"github.com/goodput-exporter/goodput-exporter/exporter/config"
)

// block is a YAML block of the operators' guide, by the comment that it begins with.
func block(t *testing.T, guide, name string) string {
	t.Helper()
	_, rest, found := strings.Cut(guide, "```yaml\n# "+name+"\n")
	text, _, ends := strings.Cut(rest, "```")
	if !found || !ends {
		t.Fatalf("the guide has no block %q", name)
	}
	return text
}

// TestTheGuidesRuleFindsPairs has promtool run the rule and the test that stand in the guide for operators.
func TestTheGuidesRuleFindsPairs(t *testing.T) {
	guide, err := os.ReadFile("../../docs/operations.md")
	if err != nil {
		t.Fatal(err)
	}
	rules, test := block(t, string(guide), "rules"), block(t, string(guide), "test")
	for _, s := range []string{catalog.EngineInfo, catalog.EngineStart} {
		if !strings.Contains(rules, s) {
			t.Errorf("%s is not in the rule", s)
		}
	}
	promtool, err := exec.LookPath("promtool")
	switch {
	case err != nil && os.Getenv("GOODPUT_REQUIRE_PROMETHEUS") != "":
		t.Fatal("promtool is not on PATH, and GOODPUT_REQUIRE_PROMETHEUS is set")
	case err != nil:
		t.Skip("promtool is not on PATH: install Prometheus, or run .ci/run, which fetches it")
	}
	dir := t.TempDir()
	run := func() (string, error) {
		for name, text := range map[string]string{"pairs.rules.yml": rules, "pairs.test.yml": test} {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		c := exec.CommandContext(t.Context(), promtool, "test", "rules", "pairs.test.yml")
		c.Dir = dir
		out, err := c.CombinedOutput()
		return string(out), err
	}
	if out, err := run(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	// Without either half a pair is missed.
	whole := rules
	for _, change := range []string{`count by (url) (count by (url, job, instance)`, `count by (model, start) (`} {
		if rules = strings.Replace(whole, change, "0 * "+change, 1); rules == whole {
			t.Fatalf("%q is not in the rule", change)
		}
		if out, err := run(); err == nil {
			t.Errorf("the test passes without %q\n%s", change, out)
		}
	}
}

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
