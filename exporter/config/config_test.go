package config

import (
	"bytes"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/goodput-exporter/goodput-exporter/exporter/fact"
	"github.com/goodput-exporter/goodput-exporter/exporter/slo"
	"github.com/goodput-exporter/goodput-exporter/internal/golden"
)

func files(t testing.TB, pattern string) []string {
	t.Helper()
	all, err := filepath.Glob(pattern)
	if err != nil || len(all) == 0 {
		t.Fatalf("no files %s (%v)", pattern, err)
	}
	return all
}

func readFile(t testing.TB, path string) []byte {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func TestEachBadFileIsRefusedWithItsMessage(t *testing.T) {
	for _, path := range files(t, "testdata/bad/*.yaml") {
		name := strings.TrimSuffix(filepath.Base(path), ".yaml")
		t.Run(name, func(t *testing.T) {
			c, err := Parse(readFile(t, path), name+".yaml")
			if err == nil || c != nil {
				t.Fatalf("accepted: %+v", c)
			}
			got := err.Error()
			golden.Compare(t, strings.TrimSuffix(path, ".yaml")+".txt", []byte(got+"\n"))
			if n := strings.Count(got, "\n") + 1; n != 1 && !strings.HasSuffix(name, "all-at-once") {
				t.Errorf("one mistake gave %d messages", n)
			}
			for line := range strings.SplitSeq(got, "\n") {
				if !strings.HasPrefix(line, name+".yaml:") || !strings.Contains(line, "; ") {
					t.Errorf("not `file:line: key: what; remedy`: %s", line)
				}
			}
			if strings.Contains(got, "hunter2") {
				t.Error("a message tells a secret")
			}
		})
	}
}

func TestEachGoodFileHasItsEffectiveConfiguration(t *testing.T) {
	for _, path := range files(t, "testdata/good/*.yaml") {
		t.Run(filepath.Base(path), func(t *testing.T) {
			c, err := Load(path)
			if err != nil {
				t.Fatal(err)
			}
			got := c.YAML()
			golden.Compare(t, strings.TrimSuffix(path, ".yaml")+".effective", got)
			roundTrip(t, c)
			if bytes.Contains(got, []byte("hunter2")) {
				t.Error("the effective configuration tells a secret")
			}
		})
	}
}

// roundTrip checks that the effective configuration reads back as the configuration, but for what it must not show.
func roundTrip(t *testing.T, c *Config) {
	t.Helper()
	text := c.YAML()
	again, err := Parse(text, "effective.yaml")
	if err != nil {
		// Without user and query, two targets may look like one page.
		if strings.Contains(err.Error(), "counted twice") && !strings.Contains(err.Error(), "\n") {
			return
		}
		t.Fatalf("the effective configuration is refused: %v\n%s", err, text)
	}
	public := *c
	public.dir = ""
	public.Engines.Targets = slices.Clone(c.Engines.Targets)
	for i := range public.Engines.Targets {
		public.Engines.Targets[i].URL = NewSecret(public.Engines.Targets[i].Address)
	}
	if !reflect.DeepEqual(&public, again) {
		t.Errorf("got %+v\nfrom %+v\nby\n%s", again, &public, text)
	}
}

// TestEveryKeyRefusesNonsense puts a wrong kind of value at every place of a configuration that uses every key: each
// must be refused, and the refusal must name the place.
func TestEveryKeyRefusesNonsense(t *testing.T) {
	whole := strings.NewReplacer(
		"secrets/token}", "secrets/token, tls_config: {insecure_skip_verify: true}}\n  kubernetes: {node: n, namespaces: [x], annotations: true, api: {server: \"https://h\", token_file: t, ca_file: c}}",
		"    objective: 0.9\n", "    objective: 0.9\n    classes: {by: attribute, attribute: tier, list: [{name: gold, values: [gold], clauses: {e2e: 30s}}]}\n",
		"grace: 10s}", "grace: 10s, bearer_token_file: t, tls_config: {cert_file: c, key_file: k, client_ca_file: a}}",
		"source: auto}", "source: auto, kubernetes: {namespaces: [gpu-operator]}, access: {bearer_token_file: t}, dcgm: {command: c}, pod_resources: {socket: s, resources: [a/b]}, engines: {a: [GPU-604ac76c-d9cf-fef3-62e9-d92044ab6e52]}, cost: {currency: EUR, per_gpu_hour: 2, per_kwh: 0.3}}",
	).Replace(string(reference))
	paths := map[string]bool{}
	for _, text := range []string{
		whole + "grid: {ttft: [0.1, 1]}\n",
		strings.Replace(whole, "dcgm: {command: c}", "dcgm: {embedded: true}", 1),                       // excludes an address
		strings.Replace(whole, "kubernetes: {namespaces: [gpu-operator]}", `url: "http://h:9400/m"`, 1), // excludes a pod that serves the page
	} {
		refuseNonsense(t, text, paths)
	}
	for _, r := range schema().rows("", Default()) {
		last := r.path[strings.LastIndexByte(r.path, '.')+1:]
		if r.kind != "mapping" && !paths[last] && !strings.HasPrefix(r.kind, "list of") && !strings.HasPrefix(r.kind, "mapping of") {
			t.Errorf("%s was not tried", r.path)
		}
	}
}

func refuseNonsense(t *testing.T, file string, paths map[string]bool) {
	t.Helper()
	c, err := Parse([]byte(file), "reference.yaml")
	if err != nil {
		t.Fatal(err)
	}
	text := string(c.YAML())
	for i := range strings.Count(text, ": ") {
		head, tail := cutNth(text, ": ", i)
		_, rest, _ := strings.Cut(tail, "\n")
		for _, junk := range []string{"{zz: [1]}", "[[]]", "!!set {}", "\"\\u0007\"", "null", ""} {
			_, err := Parse([]byte(head+": "+junk+"\n"+rest), "f")
			if err == nil {
				t.Errorf("accepted %s after\n%s", junk, head)
				continue
			}
			key := head[strings.LastIndexAny(head, " \n")+1:]
			if !strings.Contains(err.Error(), key) {
				t.Errorf("the message about %s at %s does not name it: %v", junk, key, err)
			}
			paths[key] = true
		}
	}
}

func cutNth(s, sep string, n int) (before, after string) {
	at := 0
	for range n {
		at += strings.Index(s[at:], sep) + len(sep)
	}
	i := at + strings.Index(s[at:], sep)
	return s[:i], s[i+len(sep):]
}

func TestDocumentHasNotDrifted(t *testing.T) {
	golden.Compare(t, "../../docs/config.md", Document())
}

func TestAnnotatedReferenceIsTheReference(t *testing.T) {
	_, text, _ := strings.Cut(string(Document()), "```yaml\n")
	text, _, _ = strings.Cut(text, "```")
	documented, err := Parse([]byte(text), "docs")
	if err != nil {
		t.Fatalf("the documented configuration is refused: %v", err)
	}
	want, err := Parse(reference, "reference.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(documented, want) {
		t.Errorf("documented %+v\nreference %+v", documented, want)
	}
}

func TestSilentFileHasTheDefaults(t *testing.T) {
	c, err := Load("testdata/good/smallest.yaml")
	if err != nil {
		t.Fatal(err)
	}
	got, want := *c, Default()
	got.SLOs, got.Engines.Targets, got.dir = nil, nil, ""
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
	if p := c.SLOs[0].Policy; !reflect.DeepEqual(p, slo.DefaultPolicy()) {
		t.Errorf("policy %+v", p)
	}
}

func TestObjectivesCoverWholeNames(t *testing.T) {
	c, err := Parse([]byte(`
slos:
  - {name: chat, match: {model: "llama|qwen", engine: "a.?"}, clauses: {tpot: 25ms, ttft: 4350ms}, objective: 0.95}
engines: {targets: [{id: a1, url: "http://h"}]}
`), "f")
	if err != nil {
		t.Fatal(err)
	}
	o := c.Objectives()[0]
	want := []slo.Clause{{Metric: fact.TTFT, Threshold: 4.35}, {Metric: fact.TPOT, Threshold: 0.025}}
	if !slices.Equal(o.Clauses, want) {
		t.Errorf("clauses %v, want %v", o.Clauses, want)
	}
	for _, x := range []struct {
		engine, model string
		want          bool
	}{
		{"a", "llama", true}, {"a1", "qwen", true}, {"a", "llama-2", false}, {"a", "my-qwen", false}, {"ba", "qwen", false},
	} {
		if got := o.Covers(x.engine, x.model); got != x.want {
			t.Errorf("%s serving %s: covered %v, want %v", x.engine, x.model, got, x.want)
		}
	}
}

func TestTargetsCarryWhatIsNotShown(t *testing.T) {
	c, err := Parse([]byte(`
slos: [{name: chat, clauses: {ttft: 250ms}, objective: 0.95}]
engines: {targets: [{id: a, url: "http://user:hunter2@h:8000?key=k", labels: {tier: gold}}]}
`), "f")
	if err != nil {
		t.Fatal(err)
	}
	want := []fact.Target{{ID: "a", URL: "http://user:hunter2@h:8000/metrics?key=k", Labels: map[string]string{"tier": "gold"}}}
	if got := c.Targets(); !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
	if a := c.Engines.Targets[0].Address; a != "http://h:8000/metrics" {
		t.Errorf("shown as %s", a)
	}
}

func TestTargetsOutsideAFileObeyTheSameRules(t *testing.T) {
	got, err := NewTarget("a", "http://user:hunter2@h:8000")
	if err != nil || got.Address != "http://h:8000/metrics" || got.URL.Reveal() != "http://user:hunter2@h:8000/metrics" {
		t.Errorf("got %+v, %v", got, err)
	}
	for _, bad := range []struct{ id, url, want string }{
		{"a/0", "http://h", `engine id "a/0" holds a /, which separates the rank in the engine label; use another character, such as -`},
		{"a", "http://user:hunter2@h:port", "the engine's URL is not a URL; write it like http://127.0.0.1:8000/metrics"},
	} {
		if _, err := NewTarget(bad.id, bad.url); err == nil || err.Error() != bad.want {
			t.Errorf("%s at %s: %v, want %s", bad.id, bad.url, err, bad.want)
		}
	}
}

func TestLoadSaysWhatToDoAboutAnUnreadableFile(t *testing.T) {
	dir := t.TempDir()
	for path, want := range map[string]string{
		"testdata/absent.yaml": "testdata/absent.yaml: cannot be read: no such file or directory; give the path of an existing file with --config.file",
		dir:                    dir + ": cannot be read: is a directory; check the path and the file",
	} {
		if _, err := Load(path); err == nil || err.Error() != want {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

// TestHostileFilesCostLittle gives files that grow when they are read.
func TestHostileFilesCostLittle(t *testing.T) {
	const slos = "slos: [{name: chat, clauses: {ttft: 250ms}, objective: 0.95}]\n"
	long := "slos:\n- {name: n, clauses: {ttft: 1s}, objective: 0.9, policy: {success: &a [" + strings.Repeat("stop,", 10_000) + "stop]}}\n" +
		strings.Repeat("- {name: n, clauses: {ttft: 1s}, objective: 0.9, policy: {success: *a}}\n", 99)
	wide := "engines: {targets: [&s {" + strings.Repeat("it: 1, ", 10_000) + "id: a}" + strings.Repeat(", *s", 9000) + "]}"
	for name, c := range map[string]struct{ text, want string }{
		"too many bytes":         {slos + strings.Repeat("#", maxBytes), "larger than 1 MiB"},
		"aliases of a long list": {long, "here the file exceeds 400000 values"},
		"aliases of a wide map":  {wide, "more mistakes; mend these first"},
		"nesting without an end": {strings.Repeat("[", 100_000), "not valid YAML"},
		"a cycle of aliases":     {"slos: &s [*s, *s, *s]", "is a list, not"},
		"thousands of mistakes":  {"slos:\n" + strings.Repeat("- {}\n", 90), "more mistakes; mend these first"},
		"a key of a kilobyte":    {strings.Repeat("k", 1000) + ": 1\n", "kkk\"...: is not a known key"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Parse([]byte(c.text), "f")
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Fatalf("got %.300v, want %q", err, c.want)
			}
			if len(err.Error()) > 20_000 {
				t.Errorf("the message has %d bytes", len(err.Error()))
			}
		})
	}
}

func FuzzParse(f *testing.F) {
	for _, pattern := range []string{"testdata/good/*.yaml", "testdata/bad/*.yaml"} {
		for _, path := range files(f, pattern) {
			f.Add(readFile(f, path))
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		c, err := Parse(data, "f")
		if (c == nil) == (err == nil) {
			t.Fatalf("config %v and error %v", c, err)
		}
		if err != nil {
			return
		}
		roundTrip(t, c)
		if len(c.Objectives()) != len(c.SLOs) || len(c.Targets()) != len(c.Engines.Targets) {
			t.Error("a conversion lost something")
		}
		for i, o := range c.Objectives() {
			if (len(o.Classes.List) > 0) != (c.SLOs[i].Classes.By != "") {
				t.Errorf("classes %+v of %+v", o.Classes, c.SLOs[i].Classes)
			}
		}
		for fam, edges := range c.Grids() {
			if len(edges) == 0 || !slices.IsSorted(edges) {
				t.Errorf("grid of %s: %v", fact.Family(fam), edges)
			}
		}
	})
}

// TestIdleKeysAreNamed: what the file asks for and what cannot come of it as the file is, is said.
func TestIdleKeysAreNamed(t *testing.T) {
	d := Default()
	if idle := d.Idle(); len(idle) > 0 {
		t.Errorf("the defaults are idle: %q", idle)
	}
	for file, want := range map[string][]string{
		"spans":           nil,
		"reference":       nil,
		"spans-not-taken": {"slos[0] (chat): classes and policy.retries: logical", "spans.tls_config", "spans.bearer_token_file"},
		"gpu":             nil,
		"gpu-embedded":    nil,
		"kubernetes":      nil,
		"kubernetes-idle": {"engines.access is not acted on for pods", "gpu.kubernetes"},
		"gpu-idle":        {"gpu.url with gpu.access", "gpu.dcgm", "gpu.pod_resources", "gpu.engines", "gpu.cost"},
	} {
		c, err := Load("testdata/good/" + file + ".yaml")
		if err != nil {
			t.Fatal(err)
		}
		idle := c.Idle()
		if len(idle) != len(want) {
			t.Errorf("%s: idle are %q, want %q", file, idle, want)
			continue
		}
		for i := range want {
			if !strings.HasPrefix(idle[i], want[i]) {
				t.Errorf("%s: idle is %q, want %q", file, idle[i], want[i])
			}
		}
	}
}

func TestPathsBeginAtTheFile(t *testing.T) {
	c, err := Load("testdata/good/access.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for written, want := range map[string]string{"ca.crt": "testdata/good/ca.crt", "/run/p": "/run/p", "": "", "../x/*.yaml": "testdata/x/*.yaml"} {
		if got := c.Path(written); got != want {
			t.Errorf("%q leads to %q, want %q", written, got, want)
		}
	}
}
