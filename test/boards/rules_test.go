package boards

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"gopkg.in/yaml.v3"
)

// rule is a recording rule of the committed file.
type rule struct {
	Record, Expr string
	Labels       map[string]string
}

func recordingRules(t *testing.T) []rule {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root(t), "alerts/goodput.rules.yml"))
	if err != nil {
		t.Fatal(err)
	}
	var file struct{ Groups []struct{ Rules []rule } }
	if err := yaml.Unmarshal(text, &file); err != nil {
		t.Fatal(err)
	}
	var recording []rule
	for _, g := range file.Groups {
		for _, r := range g.Rules {
			if r.Record != "" {
				recording = append(recording, r)
			}
		}
	}
	if len(recording) == 0 {
		t.Fatal("alerts/goodput.rules.yml has no recording rule")
	}
	return recording
}

// recorded is what the recording rules make of the worlds, evaluated once a minute, as an exposition with timestamps.
// It is what `promtool tsdb create-blocks-from rules` does, which takes minutes: it makes a block of each rule.
func (s *server) recorded(t *testing.T, rules []rule, worlds []*replayed) []byte {
	t.Helper()
	families := map[string]*bytes.Buffer{}
	for _, r := range rules {
		if families[r.Record] == nil {
			families[r.Record] = bytes.NewBufferString("# TYPE " + r.Record + " unknown\n")
		}
		for _, w := range worlds {
			got, err := s.over(r.Expr, w.when, 60)
			if err != nil {
				t.Fatalf("rule %s: %v", r.Record, err)
			}
			for _, one := range got {
				maps.Copy(one.Labels, r.Labels)
				delete(one.Labels, "__name__")
				for i, v := range one.Values {
					fmt.Fprintf(families[r.Record], "%s{%s} %s %s\n", r.Record, labels(one.Labels), number(v), stamp(one.Times[i]))
				}
			}
		}
	}
	var all bytes.Buffer
	for _, name := range slices.Sorted(maps.Keys(families)) {
		all.Write(families[name].Bytes())
	}
	all.WriteString("# EOF\n")
	return all.Bytes()
}

func labels(m map[string]string) string {
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(m)) {
		parts = append(parts, fmt.Sprintf("%s=%q", name, m[name]))
	}
	return strings.Join(parts, ",")
}

// number prints a value with all its digits, and infinities as the format wants them.
func number(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }
