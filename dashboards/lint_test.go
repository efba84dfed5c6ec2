package dashboards

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/goodput-exporter/goodput-exporter/exporter/catalog"
)

var (
	population = regexp.MustCompile(`(?i)sequences|requests|tokens|engine|polls|rounds|pages|histogram|alerts|series|objectives|ledgers|KV cache blocks|exporters|GPU`)
	timeOf     = regexp.MustCompile(`range|\d min|now|over time|own window`)
	// derived are series that are no counts: adding them, or taking their mean, makes a number that nobody measured.
	derived = regexp.MustCompile(`quantile|_ratio\b|:ratio|coverage`)
	literal = regexp.MustCompile(`[})]\s*\[[^$\]]*\]`)
	counted = regexp.MustCompile(`((_total|_bucket|_sum|_count)|` + strings.Join(native, "|") + `)\{`)
	// halves are ends of intervals. Of a class's good tokens only the lower end is counted.
	halves = regexp.MustCompile(`(qualified_requests|slo_qualified_tokens|missed_tokens|class_requests|quantile|budget_left|share|per_qualified_token|per_qualified_request)_lower`)
)

// rules are what every panel is held to. Each has an example that it must refuse: a change to a panel that obeys.
var rules = map[string]struct {
	lint   func(panelJSON) []string
	breaks func(*panelJSON)
}{
	"a panel has a unit": {
		func(p panelJSON) []string { return unless(p.FieldConfig.Defaults.Unit != "", "no unit") },
		func(p *panelJSON) { p.FieldConfig.Defaults.Unit = "" },
	},
	"a panel says how to read it, in sentences": {
		func(p panelJSON) []string {
			return unless(len(p.Description) > 80 && strings.HasSuffix(p.Description, "."), "description %q", p.Description)
		},
		func(p *panelJSON) { p.Description = "Latency" },
	},
	"a title names the population": {
		func(p panelJSON) []string { return unless(population.MatchString(p.Title), "whose?") },
		func(p *panelJSON) { p.Title = "p99, last 5 min" },
	},
	"a title names the time that it is about": {
		func(p panelJSON) []string { return unless(timeOf.MatchString(p.Title), "when?") },
		func(p *panelJSON) { p.Title = "TTFT of sequences" },
	},
	"nothing is averaged, and shares and percentiles are not added": {
		noInvention,
		func(p *panelJSON) { p.Targets[0].Expr = "avg(" + pick(catalog.QuantileUpper) + ")" },
	},
	"a legend and a number make no means": {
		func(p panelJSON) []string {
			calcs := slices.Concat(p.Options.Legend.Calcs, p.Options.ReduceOptions.Calcs)
			return unless(!slices.Contains(calcs, "mean") && !slices.Contains(calcs, "sum"), "calculates %v", calcs)
		},
		func(p *panelJSON) { p.Options.Legend.Calcs = []string{"mean"} },
	},
	"a window is the dashboard's, never a literal": {
		eachTarget(func(t targetJSON) []string {
			return unless(!literal.MatchString(t.Expr), "%s in %s", literal.FindString(t.Expr), t.Expr)
		}),
		func(p *panelJSON) { p.Targets[0].Expr = rate("1m", pick(catalog.SLORequests)) },
	},
	"DSH-03: a rate's window is four scrapes of a minute at least": {
		eachTarget(func(t targetJSON) []string {
			least, err := time.ParseDuration(t.Interval)
			return unless(!strings.Contains(t.Expr, perStep) || err == nil && least >= time.Minute, "least step %q", t.Interval)
		}),
		func(p *panelJSON) {
			p.Targets[0].Expr, p.Targets[0].Interval = rate(perStep, pick(catalog.SLORequests)), "15s"
		},
	},
	"rates are of counters": {
		eachTarget(func(t targetJSON) []string {
			for _, call := range []string{"rate", "increase"} {
				for _, argument := range arguments(t.Expr, call) {
					if !counted.MatchString(argument) {
						return []string{call + " of " + argument}
					}
				}
			}
			return nil
		}),
		func(p *panelJSON) { p.Targets[0].Expr = rate(perStep, pick(catalog.EngineKVUsage)) },
	},
	"series and their labels are in the catalogue": {
		declaredOnly,
		func(p *panelJSON) { p.Targets[0].Expr = `vllm:gpu_cache_usage_perc{}` },
	},
	"an interval is shown with both ends": {
		func(p panelJSON) []string {
			names := p.names()
			for _, name := range names {
				other := strings.Replace(name, "_lower", "_upper", 1)
				if halves.MatchString(name) && !slices.Contains(names, other) {
					return []string{name + " without " + other}
				}
			}
			return nil
		},
		func(p *panelJSON) { p.Targets = []targetJSON{{Expr: pick(catalog.QuantileLower)}} },
	},
	"DSH-05: an axis of shares ends at 1": {
		func(p panelJSON) []string {
			d := p.FieldConfig.Defaults
			return unless(p.Type != "timeseries" || d.Unit != share || d.Max != nil && *d.Max == 1, "max %v", d.Max)
		},
		func(p *panelJSON) { p.FieldConfig.Defaults.Unit, p.FieldConfig.Defaults.Max = share, nil },
	},
	"token gaps have a panel of their own": {
		func(p panelJSON) []string {
			gaps := 0
			for _, t := range p.Targets {
				if strings.Contains(t.Expr, "token_gap") {
					gaps++
				}
			}
			return unless(gaps == 0 || gaps == len(p.Targets) && strings.HasPrefix(p.Title, "Gaps between tokens"), "%d of %d targets are of gaps", gaps, len(p.Targets))
		},
		func(p *panelJSON) { p.Targets[0].Expr = pick(catalog.QuantileUpper, `metric="token_gap"`) },
	},
	"numbers and tables show the end of the range, not the last value of what is gone": {
		func(p panelJSON) []string {
			for _, t := range p.Targets {
				if once := p.Type == "stat" || p.Type == "table"; t.Instant != once {
					return []string{fmt.Sprintf("instant is %v on a %s", t.Instant, p.Type)}
				}
			}
			return nil
		},
		func(p *panelJSON) { p.Type = "stat" },
	},
	"absence is not 0": {
		eachTarget(func(t targetJSON) []string { return unless(!strings.Contains(t.Expr, "vector("), "%s", t.Expr) }),
		func(p *panelJSON) { p.Targets[0].Expr += " or vector(0)" },
	},
	"the data source is the variable": {
		func(p panelJSON) []string {
			bad := p.Datasource.UID != "${datasource}"
			for _, t := range p.Targets {
				bad = bad || t.Datasource.UID != "${datasource}"
			}
			return unless(!bad, "another data source")
		},
		func(p *panelJSON) { p.Targets[0].Datasource.UID = "prometheus" },
	},
}

func unless(fine bool, format string, args ...any) []string {
	if fine {
		return nil
	}
	return []string{fmt.Sprintf(format, args...)}
}

func eachTarget(lint func(targetJSON) []string) func(panelJSON) []string {
	return func(p panelJSON) []string {
		var all []string
		for _, t := range p.Targets {
			all = append(all, lint(t)...)
		}
		return all
	}
}

// noInvention refuses every mean over series or time, and sums of what is no count.
func noInvention(p panelJSON) []string {
	for _, t := range p.Targets {
		for _, call := range []string{"avg", "avg_over_time", "quantile", "quantile_over_time"} {
			if len(arguments(t.Expr, call)) > 0 {
				return []string{call + " in " + t.Expr}
			}
		}
		for _, call := range []string{"sum", "sum_over_time"} {
			for _, argument := range arguments(t.Expr, call) {
				if derived.MatchString(argument) || strings.Contains(argument, " / ") {
					return []string{call + " of " + argument}
				}
			}
		}
	}
	return nil
}

var matcher = regexp.MustCompile(`(\w+)\s*(?:=~|!~|!=|=)\s*"`)

func declaredOnly(p panelJSON) []string {
	known := declared()
	for _, t := range p.Targets {
		if len(selector.FindAllString(t.Expr, -1)) == 0 {
			return []string{"no series in " + t.Expr}
		}
		for _, s := range selector.FindAllStringSubmatch(t.Expr, -1) {
			labels, is := known[s[1]]
			if !is {
				return []string{s[1] + " is not in the catalogue"}
			}
			for _, m := range matcher.FindAllStringSubmatch(s[2], -1) {
				if !slices.Contains(labels, m[1]) {
					return []string{fmt.Sprintf("%s has no label %s", s[1], m[1])}
				}
			}
		}
	}
	return nil
}

// TestPanelsObey lints the committed boards.
func TestPanelsObey(t *testing.T) {
	for _, b := range committed(t) {
		for _, p := range b.Panels {
			if p.Type == "row" {
				continue
			}
			for name, rule := range rules {
				for _, complaint := range rule.lint(p) {
					t.Errorf("%s, %q: %s: %s", b.Title, p.Title, name, complaint)
				}
			}
		}
	}
}

// TestRulesBite breaks a good panel for each rule, which has to notice.
func TestRulesBite(t *testing.T) {
	for name, rule := range rules {
		t.Run(name, func(t *testing.T) {
			for _, p := range committed(t)[0].Panels {
				if p.Type != "timeseries" {
					continue
				}
				p.Targets = slices.Clone(p.Targets)
				if got := rule.lint(p); len(got) > 0 {
					t.Fatalf("refused before it was broken: %q", got)
				}
				rule.breaks(&p)
				if got := rule.lint(p); len(got) != 1 {
					t.Errorf("%q: complaints %q, want one", p.Title, got)
				}
				return
			}
			t.Fatal("no panel to break")
		})
	}
}
