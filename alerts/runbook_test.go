package alerts

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/goodput-exporter/goodput-exporter/exporter/catalog"
)

var (
	sections = []string{"## What it means", "## What it does not mean", "## First checks", "## What to do"}
	fence    = regexp.MustCompile("(?s) *```promql\n(.*?) *```")
)

// queries are the PromQL blocks of a document.
func queries(t testing.TB, path string) (all []string) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range fence.FindAllStringSubmatch(string(data), -1) {
		all = append(all, m[1])
	}
	return all
}

func TestEveryAlertHasARunbook(t *testing.T) {
	g := committed(t)
	alerts := alertNames(g)
	files, err := filepath.Glob("../docs/runbooks/*.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if name := strings.TrimSuffix(filepath.Base(f), ".md"); !slices.Contains(alerts, name) {
			t.Errorf("%s is about no alert", f)
		}
	}
	for _, group := range g {
		for _, r := range group.Rules {
			if r.Alert == "" {
				continue
			}
			path, ok := strings.CutPrefix(r.Annotations["runbook_url"], "https://github.com/goodput-exporter/goodput-exporter/blob/main/")
			data, err := os.ReadFile("../" + path)
			if !ok || err != nil {
				t.Errorf("%s: runbook %s: %v", r.Alert, r.Annotations["runbook_url"], err)
				continue
			}
			at := 0
			for _, s := range append([]string{"# " + r.Alert + "\n"}, sections...) {
				i := strings.Index(string(data)[at:], s)
				if i < 0 {
					t.Errorf("%s has no %q, or it is out of order", path, s)
					break
				}
				at += i + len(s)
			}
			if n := len(queries(t, "../"+path)); n < 3 {
				t.Errorf("%s has %d checks with a query, want three", path, n)
			}
			for _, must := range []string{"summary", "description"} {
				if !strings.Contains(r.Annotations[must], "{{ $") && r.Alert != "GoodputExporterAbsent" && r.Alert != "GoodputConfigReloadFailed" {
					t.Errorf("%s: %s says no value", r.Alert, must)
				}
			}
			if !slices.Contains([]string{page, ticket, info}, r.Labels["severity"]) {
				t.Errorf("%s has severity %q", r.Alert, r.Labels["severity"])
			}
		}
	}
}

// TestQueriesOfDocumentsParse has the real parser of the installed Prometheus read every query, as the expression of a rule.
func TestQueriesOfDocumentsParse(t *testing.T) {
	tool := promtool(t)
	files, err := filepath.Glob("../docs/runbooks/*.md")
	if err != nil || len(files) < 12 {
		t.Fatalf("%d runbooks: %v", len(files), err)
	}
	g := Groups{{Name: "queries"}}
	known := append(catalog.RuleNames(), "up")
	for _, s := range catalog.All() {
		known = append(known, s.Name, s.Name+"_bucket")
	}
	for _, f := range append(files, "../docs/alerts.md") {
		for _, q := range queries(t, f) {
			g[0].Rules = append(g[0].Rules, Rule{Record: fmt.Sprintf("q:q%d:q", len(g[0].Rules)), Expr: q})
			for _, name := range regexp.MustCompile(`\b(goodput_[a-z0-9_]+|model(_slo(_class)?)?:[a-z0-9_:]+)\b`).FindAllString(q, -1) {
				if !slices.Contains(known, name) && !strings.Contains(q, "__name__=~") {
					t.Errorf("%s asks for %s, which does not exist", f, name)
				}
			}
		}
	}
	if said, err := command(t, tool, "check", "rules", write(t, g)); err != nil {
		t.Errorf("%v\n%s", err, said)
	}
	broken := Groups{{Name: "queries", Rules: []Rule{{Record: "q:q:q", Expr: "sum by (le (up)"}}}}
	if said, err := command(t, tool, "check", "rules", write(t, broken)); err == nil {
		t.Errorf("a broken query is accepted: %s", said)
	}
}
