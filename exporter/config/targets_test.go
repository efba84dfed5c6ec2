package config

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
)

// written shows a target as id, whole URL, labels and line.
func written(t ListedTarget) string {
	out := fmt.Sprintf("%d: %s %s", t.Line, t.ID, t.URL.Reveal())
	for _, l := range slices.Sorted(maps.Keys(t.Labels)) {
		out += " " + l + "=" + t.Labels[l]
	}
	return out
}

func TestTargetFiles(t *testing.T) {
	for name, c := range map[string]struct {
		file, text string
		want       []string
	}{
		"an address is the id, and has labels": {"a.yaml", "- targets:\n  - 10.0.0.7:8000\n  - '[::1]:8000'\n  labels: {tier: gold}\n",
			[]string{"2: 10.0.0.7:8000 http://10.0.0.7:8000/metrics tier=gold", "3: [::1]:8000 http://[::1]:8000/metrics tier=gold"}},
		"JSON": {"a.json", "[\n\t{\"targets\": [\"h:1\",\n\t\t\"h:2\"], \"labels\": {\"tier\": \"go\\u006cd\"}}\n]\n",
			[]string{"2: h:1 http://h:1/metrics tier=gold", "3: h:2 http://h:2/metrics tier=gold"}},
		"scheme, path, parameters and id come from labels": {"a.yaml",
			"- targets: [h]\n  labels: {__scheme__: https, __metrics_path__: m/x, __param_token: a b, goodput_id: gpu-7}\n",
			[]string{"1: gpu-7 https://h/m/x?token=a+b"}},
		"labels for other readers are left out": {"a.yaml",
			"- targets: [h]\n  labels: {job: vllm, instance: x, pod: p, __meta_kubernetes_pod_name: p, empty: '', tier: gold}\n", []string{"1: h http://h/metrics tier=gold"}},
		"no target":                        {"a.yaml", "[]\n", nil},
		"an address twice is for the join": {"a.yaml", "- targets: [h, h]\n", []string{"1: h http://h/metrics", "1: h http://h/metrics"}},
	} {
		t.Run(name, func(t *testing.T) {
			all, err := ParseTargets([]byte(c.text), c.file)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, x := range all {
				got = append(got, written(x))
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(c.want, "\n"))
			}
		})
	}
}

func TestTargetFilesAreRefusedWithLineAndRemedy(t *testing.T) {
	for name, c := range map[string]struct{ file, text, want string }{
		"an empty file, as one that is being written": {"t.yaml", "", "t.yaml:1: the file is empty; write [] if there are no targets"},
		"an empty JSON file":                          {"t.json", " ", "t.json:1: the file is empty; write [] if there are no targets"},
		"half a JSON file":                            {"t.json", "[\n{\"targets\": [\"h:1\",\n", "t.json:3: not valid JSON here: unexpected end of JSON input; check commas, brackets and quotes, and that the file was written to its end"},
		"YAML in a JSON file":                         {"t.json", "- targets: [h]\n", "t.json:1: not valid JSON here: invalid character ' ' in numeric literal; check commas, brackets and quotes, and that the file was written to its end"},
		"a mapping instead of a list":                 {"t.yaml", "targets: [h]\n", "t.yaml:1: is a mapping, not a list of target groups; write it as a list: [...], or one item a line after a dash"},
		"a misspelt key":                              {"t.yaml", "- target: [h]\n", "t.yaml:1: [0].target: is not a known key; did you mean targets?\nt.yaml:1: [0].targets: is missing; add for example targets: [\"10.0.0.7:8000\"]"},
		"a URL for an address":                        {"t.yaml", "- targets:\n  - http://alice:hunter2@h/metrics\n", "t.yaml:2: [0].targets[0]: is not an address; write HOST:PORT; the scheme goes into __scheme__, the path into __metrics_path__"},
		"a port that is none":                         {"t.yaml", "- targets: [\"h:99999\"]\n", "t.yaml:1: [0].targets[0]: the address, with __scheme__ and __metrics_path__, has a port that is not from 1 to 65535; write it like http://127.0.0.1:8000/metrics"},
		"another scheme":                              {"t.yaml", "- targets: [h]\n  labels: {__scheme__: ftp}\n", "t.yaml:1: [0].targets[0]: the address, with __scheme__ and __metrics_path__, does not begin with http:// or https://; write it like http://127.0.0.1:8000/metrics"},
		"an id like a rank's":                         {"t.yaml", "- targets: [h]\n  labels: {goodput_id: a/0}\n", "t.yaml:1: [0].targets[0]: the engine's id \"a/0\" holds a /, which separates the rank in the engine label; use another character, such as -"},
		"a label that is a list":                      {"t.yaml", "- targets: [h]\n  labels: {a: [b]}\n", "t.yaml:2: [0].labels.a: is a list, not a label value; write for example gold"},
	} {
		t.Run(name, func(t *testing.T) {
			all, err := ParseTargets([]byte(c.text), c.file)
			if err == nil || err.Error() != c.want || all != nil {
				t.Errorf("got\n%v\nwant\n%s", err, c.want)
			}
		})
	}
}

// FuzzTargetFiles: no panic, and what is accepted has usable targets.
func FuzzTargetFiles(f *testing.F) {
	f.Add([]byte("- targets: [h]\n  labels: {__scheme__: https, goodput_id: a}\n"), false)
	f.Add([]byte(`[{"targets": ["h:1"], "labels": {"a": "b"}}]`), true)
	f.Fuzz(func(t *testing.T, text []byte, isJSON bool) {
		all, err := ParseTargets(text, map[bool]string{true: "t.json", false: "t.yaml"}[isJSON])
		if err != nil && len(all) > 0 {
			t.Fatal("targets beside an error")
		}
		for _, x := range all {
			if what, _ := badID(x.ID); what != "" {
				t.Fatalf("id %q %s", x.ID, what)
			}
			if _, what, _ := badURL(x.URL.Reveal()); what != "" {
				t.Fatalf("URL %s", what)
			}
		}
	})
}
