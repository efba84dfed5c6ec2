package discovery

import (
	"strings"
	"testing"

	"github.com/goodput-exporter/goodput-exporter/exporter/fact"
)

func TestStatic(t *testing.T) {
	for name, c := range map[string]struct {
		targets []fact.Target
		wrong   string
	}{
		"no target is a list too": {nil, ""},
		"two targets":             {[]fact.Target{{ID: "a"}, {ID: "b"}}, ""},
		"two targets of one id":   {[]fact.Target{{ID: "a"}, {ID: "a"}}, `two targets have the id "a"`},
		"an id like a rank's":     {[]fact.Target{{ID: "a"}, {ID: "a/0"}}, `the id "a/0" holds a /`},
		"a target without an id":  {[]fact.Target{{ID: "a"}, {}}, "target 1 has no id"},
	} {
		t.Run(name, func(t *testing.T) {
			s, err := NewStatic(c.targets)
			switch {
			case c.wrong == "" && err != nil:
				t.Fatal(err)
			case c.wrong != "" && (err == nil || !strings.Contains(err.Error(), c.wrong)):
				t.Fatalf("error %v, want %q in it", err, c.wrong)
			case err == nil && len(s.Targets()) != len(c.targets):
				t.Fatalf("%d targets", len(s.Targets()))
			}
		})
	}
}
