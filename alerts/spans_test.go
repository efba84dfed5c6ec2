package alerts

import (
	"strings"
	"testing"
)

// TestRecordingRulesOfClasses judges them on a configuration of its own, whatever the demo's objectives are.
func TestRecordingRulesOfClasses(t *testing.T) {
	if said, passed := judge(t, "classes", configurations(t)[withClasses]); !passed {
		t.Error(said)
	}
}

// TestClassesHaveRulesWhereThereAreSome: without classes no rule speaks of them.
func TestClassesHaveRulesWhereThereAreSome(t *testing.T) {
	for name, g := range configurations(t) {
		found := 0
		for _, group := range g {
			for _, r := range group.Rules {
				if strings.Contains(r.Record, "class") {
					found++
				}
			}
		}
		switch {
		case name == withClasses && found == 0:
			t.Errorf("%s: no rule of a class", name)
		case name != withClasses && name != "the committed ones" && found > 0:
			t.Errorf("%s: %d rules of classes", name, found)
		}
	}
}
