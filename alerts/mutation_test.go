package alerts

import (
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/goodput-exporter/goodput-exporter/internal/golden"
)

// mutant is an alert that is wrong in one place.
type mutant struct {
	kind, what string
	rule       Rule
}

// The kinds of mistakes.
const (
	flipped = "flipped comparison"
	window  = "wrong window"
	dropped = "dropped label"
)

var (
	comparison = regexp.MustCompile(` (==|>=|<=|>|<) `)
	flips      = map[string]string{"==": "!=", ">": "<", "<": ">", ">=": "<", "<=": ">"}
	span5m     = regexp.MustCompile(`(rate|increase)(5m|30m|1h|6h|3d)\b|\[(5m|30m|1h|6h|1d)`)
	otherSpan  = map[string]string{"5m": "1h", "30m": "6h", "1h": "5m", "6h": "30m", "1d": "6h", "3d": "6h"}
	labelList  = regexp.MustCompile(`\b(by|on) \(([^()]*)\)`)
	selector   = regexp.MustCompile(`\{([a-z]+)="[^"]*"\}`)
)

// cut replaces the text between two positions.
func cut(s string, from, to int, by string) string { return s[:from] + by + s[to:] }

// mutants lists every alert that comes out of one alert by one mistake: a comparison turned round, a window or a wait of
// another length, a label left out of by, on or a selector, or of the labels that notifications are routed by.
func mutants(r Rule) (all []mutant) {
	add := func(kind, what, expr string) {
		m := r
		m.Expr = expr
		all = append(all, mutant{kind, what, m})
	}
	for _, at := range comparison.FindAllStringSubmatchIndex(r.Expr, -1) {
		op := r.Expr[at[2]:at[3]]
		add(flipped, fmt.Sprintf("%s at %d becomes %s", op, at[2], flips[op]), cut(r.Expr, at[2], at[3], flips[op]))
	}
	for _, at := range span5m.FindAllStringSubmatchIndex(r.Expr, -1) {
		from, to := at[4], at[5]
		if from < 0 {
			from, to = at[6], at[7]
		}
		was := r.Expr[from:to]
		add(window, fmt.Sprintf("%s at %d becomes %s", was, from, otherSpan[was]), cut(r.Expr, from, to, otherSpan[was]))
	}
	if strings.HasPrefix(r.Expr, "absent(") {
		add(flipped, "absent() becomes max()", strings.Replace(r.Expr, "absent(", "max by (job) (", 1))
	}
	later := r
	later.For = "10h"
	all = append(all, mutant{window, "for " + r.For + " becomes 10h", later})
	sooner := r
	sooner.For = ""
	all = append(all, mutant{window, "for " + r.For + " is left out", sooner})
	for _, at := range labelList.FindAllStringSubmatchIndex(r.Expr, -1) {
		labels := strings.Split(r.Expr[at[4]:at[5]], ", ")
		for i, l := range labels {
			rest := strings.Join(slices.Delete(slices.Clone(labels), i, i+1), ", ")
			add(dropped, fmt.Sprintf("%s at %d loses %s", r.Expr[at[2]:at[3]], at[2], l), cut(r.Expr, at[4], at[5], rest))
		}
	}
	// All at once: the others would make up for one of them.
	if s := selector.FindString(r.Expr); s != "" {
		add(dropped, "selector "+s, strings.ReplaceAll(r.Expr, s, ""))
	}
	for _, l := range slices.Sorted(maps.Keys(r.Labels)) {
		m := r
		m.Labels = maps.Clone(r.Labels)
		delete(m.Labels, l)
		all = append(all, mutant{dropped, "label " + l + " of the alert", m})
	}
	return all
}

// with is groups with another rule in the place of one.
func (g Groups) with(old, other Rule) (out Groups) {
	for _, group := range g {
		group.Rules = slices.Clone(group.Rules)
		for i, r := range group.Rules {
			if r.Alert == old.Alert && r.Expr == old.Expr {
				group.Rules[i] = other
			}
		}
		out = append(out, group)
	}
	return out
}

// instead names, by the beginning of what it does, the mutant that is chosen where the first of its kind is not.
var instead = map[string]map[string]string{
	"GoodputErrorBudgetBurnPossible": {window: "6h at", dropped: "label certainty"},
	"GoodputExporterDown":            {dropped: "on at 160 loses instance"},
}

// choose takes one mutant of each kind: what every run of the tests has to kill. Where nothing is looked back on, the wait is
// the window.
func choose(r Rule, all []mutant) (three []mutant) {
	for _, kind := range []string{flipped, window, dropped} {
		want := instead[r.Alert][kind]
		i := slices.IndexFunc(all, func(m mutant) bool { return m.kind == kind && strings.HasPrefix(m.what, want) })
		if i >= 0 {
			three = append(three, all[i])
		}
	}
	return three
}

// equivalent mutants mean the same as the alert, so no test can tell them apart.
func equivalent(r Rule, m mutant) bool {
	switch {
	case m.what == "label slo of the alert": // the expression has it
		return true
	case r.Alert == "GoodputExporterDown" && m.what == "on at 160 loses job": // the selector on its right has one job
		return true
	case r.Alert == "GoodputCollapse" && m.what == "5m at 299 becomes 1h": // only whether it is there matters
		return true
	case r.Alert == "GoodputSpansMissing" && m.what == "30m at 193 becomes 6h": // it is multiplied by 0
		return true
	}
	return false
}

// TestMutants makes each alert wrong in one place at a time and wants its committed tests to notice. The table of what they
// noticed stands in docs/alerts.md. With GOODPUT_MUTANTS=all every mutant is tried, which takes minutes.
func TestMutants(t *testing.T) {
	promtool(t)
	every := os.Getenv("GOODPUT_MUTANTS") == "all"
	g := committed(t)
	var mu sync.Mutex
	killed := map[string]bool{}
	var rows []string
	t.Run("", func(t *testing.T) {
		for _, group := range g {
			for _, r := range group.Rules {
				if r.Alert == "" || r.Labels["slo"] != "" && r.Labels["slo"] != "chat" {
					continue
				}
				base, tried := needed(g, r.Alert), mutants(r)
				if !every {
					if tried = choose(r, tried); len(tried) != 3 {
						t.Errorf("%s: %d mutants are chosen, want 3", r.Alert, len(tried))
					}
				}
				for _, m := range tried {
					if equivalent(r, m) {
						continue
					}
					row := fmt.Sprintf("| %s | %s | `%s` |", r.Alert, m.kind, m.what)
					rows = append(rows, row)
					t.Run(r.Alert+"/"+m.kind+"/"+m.what, func(t *testing.T) {
						t.Parallel()
						_, passed := judge(t, r.Alert, base.with(r, m.rule))
						mu.Lock()
						defer mu.Unlock()
						if killed[row] = !passed; passed {
							t.Errorf("survives: %s\n%s", m.what, m.rule.Expr)
						}
					})
				}
			}
		}
	})
	if every {
		t.Logf("%d mutants", len(rows))
		return
	}
	table := "| alert | mistake | what is changed | |\n|---|---|---|---|\n"
	for _, row := range rows {
		table += row + map[bool]string{true: " killed |\n", false: " survives |\n"}[killed[row]]
	}
	section(t, "../docs/alerts.md", "mutants", table)
}

// section compares a generated part of a document, between two comments that name it, with what it should be; -update
// rewrites it.
func section(t testing.TB, path, name, want string) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	begin, end := "<!-- "+name+" -->\n", "<!-- /"+name+" -->"
	before, rest, ok := strings.Cut(string(data), begin)
	_, after, closed := strings.Cut(rest, end)
	if !ok || !closed {
		t.Fatalf("%s has no part between %q and %q", path, begin, end)
	}
	golden.Compare(t, path, []byte(before+begin+"\n"+want+"\n"+end+after))
}
