package boards

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// board is what matters here of a dashboard's JSON.
type board struct {
	Title      string
	Panels     []panel
	Templating struct{ List []variable }
}

type panel struct {
	ID      int
	Type    string
	Title   string
	Repeat  string
	Targets []struct {
		RefID    string
		Expr     string
		Interval string
		Instant  bool
	}
}

type variable struct {
	Name, Type, AllValue string
	Multi, IncludeAll    bool
	Query                any
}

// boards reads the committed dashboards.
func boards(t *testing.T) []board {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(root(t), "dashboards/*.json"))
	if err != nil || len(files) != 3 {
		t.Fatalf("dashboards/*.json: %v, %v", files, err)
	}
	var all []board
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		var b board
		if err := json.Unmarshal(text, &b); err != nil {
			t.Fatalf("%s: %v", f, err)
		}
		all = append(all, b)
	}
	return all
}

// choices are the values of the variables: one or several each. Without any a variable is empty.
type choices map[string][]string

// everything is the choice of All.
const everything = "$__all"

// place is a target on a board; value is what the variable of a repeated row has there, "" elsewhere.
type place struct{ board, value, panel, ref string }

func (p place) String() string {
	if p.value != "" {
		return fmt.Sprintf("%s / %s: %s / %s", p.board, p.value, p.panel, p.ref)
	}
	return fmt.Sprintf("%s / %s / %s", p.board, p.panel, p.ref)
}

// question is a target as Grafana would ask it.
type question struct {
	place
	expr    string
	instant bool
	step    float64
}

// questions are all that a board asks under the choices. In a row that is repeated for a variable, its panels are asked
// once for each chosen value.
func (b board) questions(t *testing.T, when span, options choices, chosen choices, sourceInterval float64) []question {
	t.Helper()
	var all []question
	repeated := ""
	for _, p := range b.Panels {
		if p.Type == "row" {
			repeated = p.Repeat
			continue
		}
		rounds := []string{""}
		if repeated != "" {
			rounds = chosen[repeated]
			if slices.Equal(rounds, []string{everything}) {
				rounds = options[repeated]
			}
		}
		for _, only := range rounds {
			scoped := maps.Clone(chosen)
			if only != "" {
				scoped[repeated] = []string{only}
			}
			for _, target := range p.Targets {
				q := question{place: place{b.Title, only, p.Title, target.RefID}, instant: target.Instant}
				q.expr, q.step = b.substitute(t, target.Expr, target.Interval, when, options, scoped, sourceInterval)
				all = append(all, q)
			}
		}
	}
	return all
}

// points is how many a picture of usual width has room for.
const points = 1000

// substitute fills in variables and macros as Grafana does. The least step of the query takes the place of the data
// source's scrape interval, and $__rate_interval is at least four of it.
func (b board) substitute(t *testing.T, expr, least string, when span, options, chosen choices, sourceInterval float64) (string, float64) {
	t.Helper()
	minimum := sourceInterval
	if least != "" {
		d, err := time.ParseDuration(least)
		if err != nil {
			t.Fatalf("least step %q: %v", least, err)
		}
		minimum = d.Seconds()
	}
	interval := max(minimum, when.seconds()/points)
	seconds := func(v float64) string { return strconv.Itoa(int(v)) + "s" }
	expr = strings.NewReplacer("$__rate_interval", seconds(max(interval+minimum, 4*minimum)), "$__range", seconds(when.seconds()),
		"$__interval", seconds(interval)).Replace(expr)
	for _, v := range b.Templating.List {
		expr = regexp.MustCompile(`\$`+v.Name+`\b`).ReplaceAllLiteralString(expr, v.text(options, chosen))
	}
	return expr, interval
}

// text is what Grafana's Prometheus data source writes for a variable: All is the variable's own value for it or all
// options; several values are alternatives; what has a meaning in a pattern is escaped, twice, since it stands in quotes.
func (v variable) text(options, chosen choices) string {
	values := chosen[v.Name]
	if slices.Equal(values, []string{everything}) {
		if v.AllValue != "" {
			return v.AllValue
		}
		values = options[v.Name]
	}
	var escaped []string
	for _, value := range values {
		value = strings.ReplaceAll(value, `\`, `\\\\`)
		escaped = append(escaped, regexp.MustCompile(`[$^*{}\[\]'+?.()|]`).ReplaceAllString(value, `\\$0`))
	}
	if len(escaped) > 1 {
		return "(" + strings.Join(escaped, "|") + ")"
	}
	return strings.Join(escaped, "")
}

var labelValues = regexp.MustCompile(`^label_values\((.+), (\w+)\)$`)

// options asks what each variable offers, in their order, with All chosen of those before.
func (b board) options(t *testing.T, r *replayed) choices {
	t.Helper()
	found := choices{}
	for _, v := range b.Templating.List {
		if v.Type != "query" {
			continue
		}
		text, _ := v.Query.(map[string]any)["query"].(string)
		text, _ = b.substitute(t, text, "", r.when, found, all(found), scrape)
		parts := labelValues.FindStringSubmatch(text)
		if parts == nil {
			t.Fatalf("%s: variable %s asks %q", b.Title, v.Name, text)
		}
		values, err := r.labelValues(parts[1], parts[2], r.when)
		if err != nil || len(values) == 0 && (v.Name != "gpu" || r.page) {
			t.Errorf("%s: variable %s offers nothing: %v", b.Title, v.Name, err)
		}
		found[v.Name] = values
	}
	return found
}

// all chooses All everywhere.
func all(options choices) choices {
	chosen := choices{}
	for name := range options {
		chosen[name] = []string{everything}
	}
	return chosen
}

// ask asks and returns the series that came back.
func (r *replayed) ask(q question) ([]series, error) {
	if q.instant {
		return r.instant(q.expr, r.when.to)
	}
	// Grafana asks at multiples of the step.
	return r.over(q.expr, span{math.Floor(r.when.from/q.step) * q.step, math.Floor(r.when.to/q.step) * q.step}, q.step)
}
