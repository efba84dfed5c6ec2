package catalog

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/goodput-exporter/goodput-exporter/internal/golden"
)

func TestReferenceIsGenerated(t *testing.T) {
	golden.Compare(t, "../../docs/metrics.md", []byte(Document()))
}

// faults lists what is wrong with one declaration, by the rules that Prometheus and this project have for names.
func faults(s Series) []string {
	var found []string
	say := func(when bool, what string) {
		if when {
			found = append(found, what)
		}
	}
	counts := s.Kind == Counter || s.Kind == Histogram
	say(!regexp.MustCompile(`^goodput(_[a-z0-9]+)+$`).MatchString(s.Name), "name is not goodput_ and lower-case words")
	say((s.Kind == Counter) != strings.HasSuffix(s.Name, "_total"), "a counter ends in _total, and nothing else does")
	say((s.Kind == Info) != strings.HasSuffix(s.Name, "_info"), "an info ends in _info, and nothing else does")
	say(regexp.MustCompile(`_(bucket|count|sum|created)$`).MatchString(s.Name), "name ends like a part of a histogram")
	say((s.Kind == Info) != (s.Unit == ""), "everything but an info has a unit")
	say(strings.HasPrefix(s.Unit, "seconds") != regexp.MustCompile(`_seconds(_total)?$`).MatchString(s.Name), "seconds are in the name exactly where they are the unit")
	say(strings.HasPrefix(s.Unit, "ratio") != strings.HasSuffix(s.Name, "_ratio"), "ratio is in the name exactly where it is the unit")
	say(counts && s.Window == "", "a count has a window")
	say(counts && s.Population == "" && s.Group != GroupSelf, "a count has a population")
	say(counts && s.Failures == "" && slices.Contains([]Group{GroupLedger, GroupObjective, GroupLatency, GroupTokens}, s.Group), "a count of work says how failures enter")
	say(!strings.HasSuffix(s.What, "."), "What is a sentence")
	say(strings.Contains(s.Help(), "..") || strings.Contains(s.Help(), "\n"), "HELP has a double stop or a line break")
	say(s.Stability != Stable && s.Stability != Experimental, "no stability")
	say(!slices.Contains(Groups(), s.Group), "no group")
	for _, l := range slices.Concat(s.Labels, s.Maybe) {
		say(slices.Contains([]string{"pod", "namespace", "node", "instance", "job", "type", "verdict", "bound", "le", "quantile"}, l), "label "+l+" is reserved or splits a family that must make sense under sum()")
		say(s.Name != BuildInfo && !slices.ContainsFunc(LabelMeanings(), func(m LabelMeaning) bool { return m.Name == l }), "label "+l+" is not explained")
	}
	return found
}

func TestDeclarationsAreComplete(t *testing.T) {
	all := All()
	for i, s := range all {
		for _, f := range faults(s) {
			t.Errorf("%s: %s", s.Name, f)
		}
		if i > 0 && all[i-1].Name == s.Name {
			t.Errorf("%s is declared twice", s.Name)
		}
	}
	for _, m := range LabelMeanings() {
		if !slices.ContainsFunc(all, func(s Series) bool { return slices.Contains(slices.Concat(s.Labels, s.Maybe), m.Name) }) {
			t.Errorf("label %s is explained, but no series has it", m.Name)
		}
	}
}

// TestFaultsAreFound breaks one rule at a time, so that silence above means obedience.
func TestFaultsAreFound(t *testing.T) {
	good := Series{
		Name: "goodput_things_total", Kind: Counter, Group: GroupLedger, What: "Things.", Unit: "things", Population: "things",
		Window: "always", Failures: "included", Labels: []string{LabelEngine}, Stability: Stable,
	}
	if f := faults(good); len(f) > 0 {
		t.Fatalf("a good declaration is refused: %q", f)
	}
	for name, spoil := range map[string]func(*Series){
		"a counter without _total":          func(s *Series) { s.Name = "goodput_things" },
		"a name outside the namespace":      func(s *Series) { s.Name = "things_total" },
		"a gauge with _total":               func(s *Series) { s.Kind = Gauge },
		"a histogram's part as a name":      func(s *Series) { s.Name, s.Kind = "goodput_things_count", Gauge },
		"no unit":                           func(s *Series) { s.Unit = "" },
		"seconds that the name hides":       func(s *Series) { s.Unit = "seconds" },
		"a ratio that the name hides":       func(s *Series) { s.Name, s.Kind, s.Unit = "goodput_things", Gauge, "ratio" },
		"no population":                     func(s *Series) { s.Population = "" },
		"no window":                         func(s *Series) { s.Window = "" },
		"no failure policy":                 func(s *Series) { s.Failures = "" },
		"What that is no sentence":          func(s *Series) { s.What = "things" },
		"two full stops":                    func(s *Series) { s.Unit = "things." },
		"no stability":                      func(s *Series) { s.Stability = "" },
		"no group":                          func(s *Series) { s.Group = "" },
		"a label that the scraper owns":     func(s *Series) { s.Maybe = []string{"instance"} },
		"a verdict label":                   func(s *Series) { s.Labels = []string{"verdict"} },
		"a label that nobody has explained": func(s *Series) { s.Labels = []string{"colour"} },
	} {
		t.Run(name, func(t *testing.T) {
			s := good
			spoil(&s)
			if len(faults(s)) == 0 {
				t.Errorf("%+v is accepted", s)
			}
		})
	}
}

func TestIntervalDeclaresThreeSeries(t *testing.T) {
	rows := interval("goodput_x", Series{What: "things that are"})
	for i, want := range []struct{ name, what string }{
		{"goodput_x_total", "Things that are. Absent once only an interval is known: then goodput_x_lower_total and goodput_x_upper_total are there."},
		{"goodput_x_lower_total", "Lower end of an interval: at least so many things that are. Only while goodput_x_total is absent."},
		{"goodput_x_upper_total", "Upper end of an interval: at most so many things that are. Only while goodput_x_total is absent."},
	} {
		if got := rows[i]; got.Name != want.name || got.What != want.what || got.Kind != Counter {
			t.Errorf("row %d: %+v, want %+v", i, got, want)
		}
	}
}
