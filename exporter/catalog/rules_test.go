package catalog

import (
	"regexp"
	"slices"
	"strings"
	"testing"
)

func TestRecordingRulesAreNamedByLevelMetricAndOperation(t *testing.T) {
	names := RuleNames()
	for i, name := range names {
		if !regexp.MustCompile(`^model(_slo(_class)?)?:goodput(_[a-z0-9]+)+:[a-z]+(_[a-z]+)?([0-9]+[mhd])?$`).MatchString(name) {
			t.Errorf("%s is not level:metric:operations", name)
		}
		if i > 0 && names[i-1] == name {
			t.Errorf("%s is declared twice", name)
		}
	}
	for _, r := range RecordingRules() {
		if r.What == "" || !strings.HasSuffix(r.What, ".") || r.Unit == "" {
			t.Errorf("%s: incomplete: %+v", r.Base, r)
		}
		level, _, _ := strings.Cut(r.Base, ":")
		for _, label := range []string{LabelModel, LabelSLO, LabelClass} {
			if slices.Contains(strings.Split(level, "_"), label) != slices.Contains(r.Labels, label) {
				t.Errorf("%s: its level does not say its labels %q", r.Base, r.Labels)
			}
		}
	}
}
