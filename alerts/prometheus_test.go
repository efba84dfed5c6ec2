package alerts

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/goodput-exporter/goodput-exporter/exporter/config"
	"github.com/goodput-exporter/goodput-exporter/internal/golden"
)

// promtool is the path of the real one. Without it a test is skipped, or fails where GOODPUT_REQUIRE_PROMETHEUS is set.
func promtool(t testing.TB) string {
	t.Helper()
	path, err := exec.LookPath("promtool")
	switch {
	case err == nil:
		return path
	case os.Getenv("GOODPUT_REQUIRE_PROMETHEUS") != "":
		t.Fatal("promtool is not on PATH, and GOODPUT_REQUIRE_PROMETHEUS is set")
	}
	t.Skip("promtool is not on PATH: install Prometheus, or run .ci/run, which fetches it")
	return ""
}

// command runs a program and returns all that it said. One that is too slow has said nothing: a test that takes it for a
// failure would call a mutant dead that nobody looked at.
func command(t testing.TB, name string, args ...string) (string, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	out, err := exec.CommandContext(ctx, name, args...).CombinedOutput()
	if ctx.Err() != nil {
		t.Fatalf("%s %q: %v", name, args, ctx.Err())
	}
	return string(out), err
}

// committedConfig is the configuration that the committed rules are for.
const committedConfig = "../cmd/goodput-exporter/demo.yaml"

// committed are the groups of the committed files, built anew.
func committed(t testing.TB) Groups {
	t.Helper()
	cfg, err := config.Load(committedConfig)
	if err != nil {
		t.Fatal(err)
	}
	g, err := Build(Options{Objectives: cfg.Objectives()})
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func TestCommittedRulesAreGenerated(t *testing.T) {
	g := committed(t)
	golden.Compare(t, "goodput.rules.yml", text(t, g))
	var b bytes.Buffer
	if err := g.WriteOperator(&b, "goodput-exporter"); err != nil {
		t.Fatal(err)
	}
	golden.Compare(t, "goodput.prometheusrule.yaml", b.Bytes())
}

func text(t testing.TB, g Groups) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := g.WriteYAML(&b); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// write puts rules into a file of their own.
func write(t testing.TB, g Groups) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "rules.yml")
	if err := os.WriteFile(path, text(t, g), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// alertNames are the names of all alerts, each once, in the order of the file.
func alertNames(g Groups) (names []string) {
	for _, group := range g {
		for _, r := range group.Rules {
			if r.Alert != "" && !slices.Contains(names, r.Alert) {
				names = append(names, r.Alert)
			}
		}
	}
	return names
}

var recordedName = regexp.MustCompile(`\bmodel(_slo(_class)?)?:[a-z0-9_:]+`)

// needed are the rules of one alert and the recording rules that they read: what its test has to evaluate.
func needed(g Groups, alert string) (out Groups) {
	want := map[string]bool{}
	var expand func(expr string)
	expand = func(expr string) {
		for _, name := range recordedName.FindAllString(expr, -1) {
			if want[name] {
				continue
			}
			want[name] = true
			for _, group := range g {
				for _, r := range group.Rules {
					if r.Record == name {
						expand(r.Expr)
					}
				}
			}
		}
	}
	for _, group := range g {
		for _, r := range group.Rules {
			if r.Alert == alert {
				expand(r.Expr)
			}
		}
	}
	for _, group := range g {
		kept := Group{Name: group.Name, Interval: group.Interval}
		for _, r := range group.Rules {
			if r.Alert == alert || want[r.Record] {
				kept.Rules = append(kept.Rules, r)
			}
		}
		if len(kept.Rules) > 0 {
			out = append(out, kept)
		}
	}
	return out
}

// judge runs an alert's committed tests on some rules.
func judge(t testing.TB, alert string, rules Groups) (said string, passed bool) {
	t.Helper()
	tool := promtool(t)
	test, err := os.ReadFile("testdata/" + alert + ".test.yml")
	if err != nil {
		t.Fatal(err)
	}
	const line = "rule_files: [../goodput.rules.yml]\n"
	if !bytes.Contains(test, []byte(line)) {
		t.Fatalf("testdata/%s.test.yml does not say %q", alert, line)
	}
	path := filepath.Join(t.TempDir(), "test.yml")
	mine := strings.Replace(string(test), line, "rule_files: ["+write(t, rules)+"]\n", 1)
	if err := os.WriteFile(path, []byte(mine), 0o600); err != nil {
		t.Fatal(err)
	}
	said, err = command(t, tool, "test", "rules", path)
	return said, err == nil
}

var committedOnce sync.Map // name of a test file -> func() error

// judgeCommitted runs a committed test file on the committed rules that it needs, once for all tests.
func judgeCommitted(t *testing.T, name string) error {
	t.Helper()
	promtool(t)
	rules := committed(t)
	if slices.Contains(alertNames(rules), name) {
		rules = needed(rules, name)
	}
	run, _ := committedOnce.LoadOrStore(name, sync.OnceValue(func() error {
		if said, passed := judge(t, name, rules); !passed {
			return errors.New(said)
		}
		return nil
	}))
	return run.(func() error)()
}

// TestAlerts runs the committed tests of every alert: each fires, does not fire, survives missing data and a restart.
func TestAlerts(t *testing.T) {
	promtool(t)
	g := committed(t)
	for _, name := range alertNames(g) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if err := judgeCommitted(t, name); err != nil {
				t.Error(err)
			}
		})
	}
}
