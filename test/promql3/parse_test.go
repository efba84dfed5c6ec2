// Package promql3 reads every rule and every query of a runbook with the parser of Prometheus 3, which is a module of its
// own so that nothing of the server gets into the exporter's.
package promql3

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/prometheus/prometheus/promql/parser"
	"gopkg.in/yaml.v3"
)

var fence = regexp.MustCompile("(?s) *```promql\n(.*?) *```")

// expressions are all that a file holds, by what they are.
func expressions(t *testing.T, path string) map[string]string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]string{}
	if strings.HasSuffix(path, ".md") {
		for _, m := range fence.FindAllStringSubmatch(string(data), -1) {
			found[m[1]] = m[1]
		}
		return found
	}
	var file struct {
		Groups []struct {
			Rules []struct{ Record, Alert, Expr string }
		}
	}
	if err := yaml.Unmarshal(data, &file); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	for _, g := range file.Groups {
		for _, r := range g.Rules {
			found[r.Record+r.Alert+r.Expr] = r.Expr
		}
	}
	return found
}

func TestPrometheus3ReadsEveryExpression(t *testing.T) {
	p := parser.NewParser(parser.Options{})
	books, err := filepath.Glob("../../docs/runbooks/*.md")
	if err != nil {
		t.Fatal(err)
	}
	rules, queries := 0, 0
	for _, path := range append(books, "../../docs/alerts.md", "../../alerts/goodput.rules.yml") {
		for name, expr := range expressions(t, path) {
			if strings.HasSuffix(path, ".md") {
				queries++
			} else {
				rules++
			}
			if _, err := p.ParseExpr(expr); err != nil {
				t.Errorf("%s: %s: %v", path, name, err)
			}
		}
	}
	if rules < 100 || queries < 36 {
		t.Errorf("only %d rules and %d queries were found", rules, queries)
	}
	if _, err := p.ParseExpr("sum by (le (up)"); err == nil {
		t.Error("a broken query is accepted")
	}
}
