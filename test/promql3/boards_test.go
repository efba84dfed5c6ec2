package promql3

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/prometheus/prometheus/promql/parser"
)

// TestPrometheus3ReadsEveryBoard parses the queries of the dashboards with their variables empty, All, of several values
// and escaped as Grafana escapes (DSH-07).
func TestPrometheus3ReadsEveryBoard(t *testing.T) {
	files, err := filepath.Glob("../../dashboards/*.json")
	if err != nil || len(files) != 3 {
		t.Fatalf("dashboards: %v, %v", files, err)
	}
	p := parser.NewParser(parser.Options{})
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var board struct {
			Panels []struct {
				Title   string
				Targets []struct{ Expr string }
			}
		}
		if err := json.Unmarshal(text, &board); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		queries := 0
		for _, panel := range board.Panels {
			for _, target := range panel.Targets {
				for _, value := range []string{"", ".*", "(a|b)", `a\\.b`} {
					expr := strings.NewReplacer("$__rate_interval", "300s", "$__range", "3600s", "$model", value, "$slo", value, "$engine", value, "$gpu", value).Replace(target.Expr)
					if _, err := p.ParseExpr(expr); err != nil {
						t.Errorf("%s, %q: %v\n%s", filepath.Base(file), panel.Title, err, expr)
					}
				}
				queries++
			}
		}
		if queries < 20 {
			t.Errorf("%s has only %d queries", file, queries)
		}
	}
}
