package alerts

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"gopkg.in/yaml.v3"

	"github.com/goodput-exporter/goodput-exporter/exporter/catalog"
	"github.com/goodput-exporter/goodput-exporter/exporter/slo"
)

const days = 24 * time.Hour

func objective(name string, share float64, window time.Duration) slo.Objective {
	return slo.Objective{Name: name, Objective: share, Window: window}
}

// withClasses is the configuration that has everything that rules are made for.
const withClasses = "an objective with classes beside one without"

// configurations are rule sets that every check below is made on.
func configurations(t testing.TB) map[string]Groups {
	t.Helper()
	var thirty []slo.Objective
	for i := range 30 {
		thirty = append(thirty, objective(fmt.Sprintf("slo-%d", i), 0.9+float64(i)/400, time.Duration(i+1)*days))
	}
	matched := objective("matched", 0.95, 30*days)
	matched.Match.Model = regexp.MustCompile(`^(?:llama.*)$`)
	split := objective("split", 0.95, 30*days)
	split.Classes = slo.Classes{By: slo.ByPromptTokens, List: []slo.Class{{Name: "short", AtMost: 1000}, {Name: "long"}}}
	all := map[string]Groups{"the committed ones": committed(t)}
	for name, o := range map[string]Options{
		"one objective":              {Objectives: []slo.Objective{objective("chat", 0.95, 30*days)}},
		"thirty objectives":          {Objectives: thirty},
		"half":                       {Objectives: []slo.Objective{objective("chat", 0.5, 30*days)}},
		"a tenth":                    {Objectives: []slo.Objective{objective("chat", 0.1, 30*days)}},
		"nine tenths":                {Objectives: []slo.Objective{objective("chat", 0.9, 7*days)}},
		"three nines":                {Objectives: []slo.Objective{objective("chat", 0.999, 30*days)}},
		"an hour and a year":         {Objectives: []slo.Objective{objective("short", 0.9, time.Hour), objective("long", 0.9, 365*days)}},
		"dots, dashes and a boolean": {Objectives: []slo.Objective{objective("chat.gold-1", 0.95, 30*days), objective("No", 0.95, 90*time.Minute), objective("1e3", 0.95, 30*days)}},
		"a pattern of models":        {Objectives: []slo.Objective{matched}},
		withClasses:                  {Objectives: []slo.Objective{objective("chat", 0.95, 30*days), split}},
		"another job and label":      {Objectives: []slo.Objective{objective("chat", 0.95, 30*days)}, Job: "monitoring/goodput \"x\"", NodeLabel: "node"},
	} {
		g, err := Build(o)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		all[name] = g
	}
	return all
}

func TestRulesOfManyConfigurationsAreValid(t *testing.T) {
	tool := promtool(t)
	for name, g := range configurations(t) {
		t.Run(name, func(t *testing.T) {
			if said, err := command(t, tool, "check", "rules", "--lint-fatal", write(t, g)); err != nil {
				t.Errorf("%v\n%s", err, said)
			}
		})
	}
}

func TestRecordingRules(t *testing.T) {
	for _, name := range []string{"recording", "rates", "spans", "gpus"} {
		if err := judgeCommitted(t, name); err != nil {
			t.Error(err)
		}
	}
}

// TestRecordedNamesAreDeclared holds the rules to the catalogue, and the catalogue to the rules.
func TestRecordedNamesAreDeclared(t *testing.T) {
	var recorded []string
	known := map[string]bool{}
	for _, s := range catalog.All() {
		known[s.Name] = true
		if s.Kind == catalog.Histogram {
			known[s.Name+"_bucket"] = true
		}
	}
	for _, name := range catalog.RuleNames() {
		known[name] = true
	}
	series := regexp.MustCompile(`\b(goodput_[a-z0-9_]+|model(_slo(_class)?)?:[a-z0-9_:]+)`)
	for _, group := range configurations(t)[withClasses] {
		for _, r := range group.Rules {
			recorded = append(recorded, r.Record)
			for _, name := range series.FindAllString(r.Expr, -1) {
				if !known[name] {
					t.Errorf("%s%s reads %s, which the catalogue does not declare", r.Record, r.Alert, name)
				}
			}
		}
	}
	slices.Sort(recorded)
	recorded = slices.DeleteFunc(slices.Compact(recorded), func(s string) bool { return s == "" })
	if want := catalog.RuleNames(); !slices.Equal(recorded, want) {
		t.Errorf("recorded %q\ndeclared %q", recorded, want)
	}
}

// TestEveryBurnAlertCanFire is the claim of mostBad: whatever the objective, what an alert waits for is less than everything,
// and no promise that is kept fires one.
func TestEveryBurnAlertCanFire(t *testing.T) {
	for _, share := range []float64{0.001, 0.1, 0.2, 0.5, 0.8, 0.9, 0.93, 0.95, 0.99, 0.999, 0.99999} {
		for _, window := range []time.Duration{time.Hour, 6 * time.Hour, days, 7 * days, 30 * days, 365 * days} {
			o := objective("x", share, window)
			for _, th := range thresholds(&o, slices.Concat(pagePairs, ticketPairs)) {
				if th.bad >= 1 || th.factor < 1 || th.bad < allowed(&o)-1e-12 {
					t.Errorf("%v over %v: %+v", share, window, th)
				}
				if changed := th.factor != th.table; changed != (th.note() != "") {
					t.Errorf("%v over %v: %+v says %q", share, window, th, th.note())
				}
				if hoursOf[th.long] > window.Hours() {
					t.Errorf("%v over %v looks back over %s", share, window, th.long)
				}
			}
		}
	}
}

func TestFactors(t *testing.T) {
	for name, c := range map[string]struct {
		share  float64
		window time.Duration
		want   string
	}{
		"the workbook's own": {0.95, 30 * days, "1h 14.4 6h 6 3d 1"},
		"nine tenths: an hour cannot be 14.4 times as bad":       {0.9, 30 * days, "1h 8 6h 6 3d 1"},
		"half: neither can six hours be 6 times as bad":          {0.5, 30 * days, "1h 1.6 6h 1.6 3d 1"},
		"a tenth: nothing can be more than 1.1 times as bad":     {0.1, 30 * days, "1h 1 6h 1 3d 1"},
		"a week has less budget, and a burn below 1 keeps it":    {0.95, 7 * days, "1h 3.36 6h 1.4 3d 1"},
		"a day has no three days in it":                          {0.95, days, "1h 1 6h 1"},
		"three nines have room for every factor, over 90 days":   {0.999, 90 * days, "1h 43.2 6h 18 3d 3"},
		"an hour is looked back on as a whole, and nothing more": {0.95, time.Hour, "1h 1"},
	} {
		t.Run(name, func(t *testing.T) {
			o := objective("x", c.share, c.window)
			var got []string
			for _, th := range thresholds(&o, slices.Concat(pagePairs, ticketPairs)) {
				got = append(got, th.long, number(th.factor))
			}
			if s := strings.Join(got, " "); s != c.want {
				t.Errorf("%s, want %s", s, c.want)
			}
		})
	}
}

func TestEveryObjectiveHasItsRules(t *testing.T) {
	g := configurations(t)["an hour and a year"]
	for _, want := range []struct{ rule, slo, part string }{
		{"GoodputErrorBudgetBurn", "short", "rate1h"}, {"GoodputErrorBudgetBurn", "long", "rate6h"}, {"GoodputErrorBudgetBurnSlow", "long", "rate3d"},
		{"GoodputErrorBudgetBurnPossible", "short", "share_lower"}, {catalog.RuleBudgetLeftLower, "short", "[1h]"}, {catalog.RuleBudgetLeftUpper, "long", "[365d]"},
	} {
		found := false
		for _, group := range g {
			for _, r := range group.Rules {
				found = found || r.Alert+r.Record == want.rule && r.Labels["slo"] == want.slo && strings.Contains(r.Expr, want.part)
			}
		}
		if !found {
			t.Errorf("no rule %s for %s with %s", want.rule, want.slo, want.part)
		}
	}
}

func TestBadOptionsAreRefused(t *testing.T) {
	fine := objective("chat", 0.95, 30*days)
	for name, c := range map[string]struct {
		o    Options
		want string
	}{
		"no objective":             {Options{}, "no objective"},
		"one name twice":           {Options{Objectives: []slo.Objective{fine, fine}}, `objective "chat": names must be there and differ`},
		"an objective of 1":        {Options{Objectives: []slo.Objective{objective("x", 1, days)}}, "1 is not between 0 and 1"},
		"a window of a minute":     {Options{Objectives: []slo.Objective{objective("x", 0.9, time.Minute)}}, "at least 1h"},
		"a label name with a dot":  {Options{Objectives: []slo.Objective{fine}, NodeLabel: "k8s.node"}, `"k8s.node" is not a label name`},
		"two mistakes, both named": {Options{Objectives: []slo.Objective{objective("", 2, days)}}, "2 is not between"},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := Build(c.o); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want %q", err, c.want)
			}
		})
	}
}

// ruleFile is the form of a rule file, so strict that a wrong type is an error.
type ruleFile struct {
	Groups []struct {
		Name, Interval string
		Rules          []struct {
			Record, Alert, Expr, For string
			KeepFiringFor            string `yaml:"keep_firing_for"`
			Labels, Annotations      map[string]yaml.Node
		}
	}
}

// TestRUL07 is about one invalid rule that keeps Prometheus or the operator from loading all: a label name with a dot, an
// annotation that YAML takes for a boolean, a wrong range.
func TestRUL07(t *testing.T) {
	legal := regexp.MustCompile(`^[a-z_][a-z0-9_]*$`)
	for name, g := range configurations(t) {
		var f ruleFile
		d := yaml.NewDecoder(bytes.NewReader(text(t, g)))
		d.KnownFields(true)
		if err := d.Decode(&f); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		for gi, group := range f.Groups {
			for ri, r := range group.Rules {
				was := g[gi].Rules[ri]
				if r.Record != was.Record || r.Alert != was.Alert || r.Expr != was.Expr || r.For != was.For || r.KeepFiringFor != was.KeepFiringFor {
					t.Errorf("%s: %+v is read as %+v", name, was, r)
				}
				for _, m := range []struct {
					read map[string]yaml.Node
					was  map[string]string
				}{{r.Labels, was.Labels}, {r.Annotations, was.Annotations}} {
					if len(m.read) != len(m.was) {
						t.Errorf("%s: %v is read as %v", name, m.was, m.read)
					}
					for k, v := range m.read {
						if !legal.MatchString(k) || v.Tag != "!!str" || v.Style != yaml.DoubleQuotedStyle || v.Value != m.was[k] {
							t.Errorf("%s: %s%s: %s: %q is not a quoted string under a plain name", name, r.Record, r.Alert, k, v.Value)
						}
					}
				}
			}
		}
	}
}

// TestRUL05 is about templates that Helm would evaluate: in both files they are the literal text that Prometheus expands.
// docs/alerts.md says how to put the file into a chart so that it stays so.
func TestRUL05(t *testing.T) {
	g := committed(t)
	data, err := os.ReadFile("goodput.prometheusrule.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var operator struct {
		APIVersion string `yaml:"apiVersion"`
		Kind       string
		Spec       ruleFile
	}
	if err := yaml.Unmarshal(data, &operator); err != nil || operator.Kind != "PrometheusRule" || operator.APIVersion != "monitoring.coreos.com/v1" {
		t.Fatalf("%v %s %s", err, operator.Kind, operator.APIVersion)
	}
	templates := 0
	for gi, group := range operator.Spec.Groups {
		for ri, r := range group.Rules {
			for k, v := range r.Annotations {
				if v.Value != g[gi].Rules[ri].Annotations[k] {
					t.Errorf("%s: %s is %q", r.Alert, k, v.Value)
				}
				templates += strings.Count(v.Value, "{{ $")
			}
		}
	}
	if templates < 30 {
		t.Errorf("only %d templates", templates)
	}
	doc, err := os.ReadFile("../docs/alerts.md")
	if err != nil || !strings.Contains(string(doc), ".Files.Get") {
		t.Errorf("docs/alerts.md does not say how the rules survive Helm (%v)", err)
	}
}

// TestOperatorFormHoldsTheSameLines compares bytes: what the operator loads is what promtool has tested.
func TestOperatorFormHoldsTheSameLines(t *testing.T) {
	for name, g := range configurations(t) {
		var b bytes.Buffer
		if err := g.WriteOperator(&b, "x"); err != nil {
			t.Fatal(err)
		}
		_, spec, _ := strings.Cut(b.String(), "\nspec:\n")
		var lines strings.Builder
		for line := range strings.Lines(spec) {
			lines.WriteString(strings.TrimPrefix(line, "  "))
		}
		if banner+lines.String() != string(text(t, g)) {
			t.Errorf("%s: the groups differ", name)
		}
	}
}

// TestTextsSurviveYAML writes what YAML is known to take for something else.
func TestTextsSurviveYAML(t *testing.T) {
	for _, s := range []string{"No", "yes", "~", "1e3", "", " ", "0x1", "a: b", "# c", "- d", "{{ $labels.x }}", `"q" 'q' \n`, "two\nlines", "{a}", "*x", "!!int 1", "ü\u2028"} {
		g := Groups{{Name: s, Rules: []Rule{{Alert: s, Expr: "up == 1", Labels: map[string]string{"a": s}, Annotations: map[string]string{"b": s}}}}}
		var f ruleFile
		if err := yaml.Unmarshal(text(t, g), &f); err != nil {
			t.Errorf("%q: %v", s, err)
			continue
		}
		r := f.Groups[0].Rules[0]
		a, b := r.Labels["a"], r.Annotations["b"]
		if f.Groups[0].Name != s || r.Alert != s || a.Value != s || b.Value != s {
			t.Errorf("%q is read as %q, %q, %q and %q", s, f.Groups[0].Name, r.Alert, a.Value, b.Value)
		}
	}
}

// TestRUL01 is about an exporter that disappears with its node's series: an alert names it, though another still reports and
// nothing is absent. The case is in the committed test of the alert, so here it is only held to be there.
func TestRUL01(t *testing.T) { holdsCase(t, "GoodputExporterDown", "node-b's pod is evicted") }

// aggregated is how a vector begins that is reduced to some labels.
var aggregated = regexp.MustCompile(`^\(?(max|sum) by \(`)

// TestRUL03 is about joins that fail for minutes after a restart, since an old and a new pod both match.
func TestRUL03(t *testing.T) {
	holdsCase(t, "recording", "an old and a new pod of one exporter are there at once")
	holdsCase(t, "GoodputSLOUnanswerable", "an old and a new pod of the exporter say the same at once")
	holdsCase(t, "GoodputEnginePolledTwice", "an old and a new pod of one exporter are there at once, and poll what another one polls")
	// One side of every comparison or division of vectors is reduced to the labels that it is matched by.
	for _, group := range committed(t) {
		for _, r := range group.Rules {
			for _, grouped := range regexp.MustCompile(`group_(left|right) \(\) (\S+ \S+ \S+ \S+ \S+)`).FindAllStringSubmatch(r.Expr, -1) {
				if !strings.Contains(grouped[2], "(sum") && !strings.Contains(grouped[2], "1e-9") && !aggregated.MatchString(grouped[2]) {
					t.Errorf("%s%s: the one side of %s is not aggregated", r.Record, r.Alert, grouped[0])
				}
			}
		}
	}
}

// holdsCase wants a case in a committed test, and the test to pass.
func holdsCase(t *testing.T, test, name string) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", test+".test.yml"))
	if err != nil || !strings.Contains(string(data), "- name: "+name) {
		t.Fatalf("testdata/%s.test.yml has no case %q (%v)", test, name, err)
	}
	if err := judgeCommitted(t, test); err != nil {
		t.Error(err)
	}
}
