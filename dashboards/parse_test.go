package dashboards

import (
	"encoding/json"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/goodput-exporter/goodput-exporter/exporter/catalog"
)

// boardJSON is what the lint looks at of a dashboard, as Grafana would read it.
type boardJSON struct {
	UID           string
	Title         string
	SchemaVersion int
	Panels        []panelJSON
	Links         []struct {
		Tags                  []string
		IncludeVars, KeepTime bool
	}
	Templating struct {
		List []struct {
			Name, Type        string
			Multi, IncludeAll bool
		}
	}
}

type panelJSON struct {
	ID          int
	Type        string
	Title       string
	Description string
	Interval    string
	Datasource  struct{ UID string }
	GridPos     struct{ X, Y, W, H int }
	Targets     []targetJSON
	FieldConfig struct {
		Defaults struct {
			Unit string
			Max  *float64
		}
	}
	Options struct {
		Legend        struct{ Calcs []string }
		ReduceOptions struct{ Calcs []string }
	}
}

type targetJSON struct {
	RefID          string
	Expr           string
	Interval       string
	Instant, Range bool
	Datasource     struct{ UID string }
}

// committed reads the boards in the tree.
func committed(t *testing.T) []boardJSON {
	t.Helper()
	var all []boardJSON
	for _, file := range []string{"goodput.json", "engine.json", "gpu.json"} {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var b boardJSON
		if err := json.Unmarshal(text, &b); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		all = append(all, b)
	}
	return all
}

// selector matches a series in a query; the house writes one always with braces.
var selector = regexp.MustCompile(`([a-zA-Z_:][a-zA-Z0-9_:]*)\{([^}]*)\}`)

// names are the series that a panel asks for.
func (p panelJSON) names() []string {
	var all []string
	for _, t := range p.Targets {
		for _, s := range selector.FindAllStringSubmatch(t.Expr, -1) {
			all = append(all, s[1])
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// native are the histograms that a Prometheus may take as one series, without endings.
var native = []string{catalog.SpanTTFT, catalog.SpanTPOT, catalog.SpanE2E}

// declared are the labels of every series that a query may name, histograms by their three endings.
func declared() map[string][]string {
	all := map[string][]string{"ALERTS": {"alertname", "alertstate", "severity"}}
	for _, s := range catalog.All() {
		labels := slices.Concat(s.Labels, s.Maybe)
		if s.Kind != catalog.Histogram {
			all[s.Name] = labels
			continue
		}
		for _, ending := range []string{"_bucket", "_sum", "_count"} {
			all[s.Name+ending] = labels
		}
		all[s.Name+"_bucket"] = slices.Concat(labels, []string{"le"})
		if slices.Contains(native, s.Name) {
			all[s.Name] = labels
		}
	}
	for _, r := range catalog.RecordingRules() {
		for _, name := range r.Names() {
			all[name] = append([]string{catalog.LabelCluster}, r.Labels...)
		}
	}
	return all
}

// arguments are what is between the brackets after each call of a function or aggregation in a query.
func arguments(expr, call string) []string {
	var all []string
	for _, at := range regexp.MustCompile(`\b`+call+`\s*(?:by\s*\([^)]*\)\s*)?\(`).FindAllStringIndex(expr, -1) {
		depth := 1
		for i := at[1]; i < len(expr); i++ {
			switch expr[i] {
			case '(':
				depth++
			case ')':
				depth--
			}
			if depth == 0 {
				all = append(all, expr[at[1]:i])
				break
			}
		}
	}
	return all
}

// family is the name of the series in the catalogue: that of a histogram without its ending.
func family(name string) string {
	for _, ending := range []string{"_bucket", "_sum", "_count"} {
		if base, is := strings.CutSuffix(name, ending); is && (declared()[base] == nil || slices.Contains(native, base)) {
			return base
		}
	}
	return name
}
