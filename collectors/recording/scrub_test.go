package recording

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"testing"
)

// mask hides a secret everywhere and the values of one label.
func mask(d *Disguise) func(label, text string) string {
	return func(label, text string) string {
		return strings.ReplaceAll(d.Value(label, text), "hunter2", "<secret>")
	}
}

func disguise(t testing.TB, labels ...string) *Disguise {
	t.Helper()
	d, err := NewDisguise(labels)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func TestScrub(t *testing.T) {
	for name, c := range map[string]struct{ page, want string }{
		"nothing to hide":                  {"# HELP a b\na{le=\"0.1\",x=\"y\"} 1\n", "# HELP a b\na{le=\"0.1\",x=\"y\"} 1\n"},
		"a secret in a label value":        {"a{x=\"p hunter2 q\"} 1\n", "a{x=\"p <secret> q\"} 1\n"},
		"a secret in a comment":            {"# see http://u:hunter2@h\na 1\n", "# see http://u:<secret>@h\na 1\n"},
		"a secret in a comment after room": {"  # hunter2\n", "  # <secret>\n"},
		"a secret where no text should be": {"<html>hunter2</html>", "<html><secret></html>"},
		"a quote that is never closed":     {"a{x=\"hunter2\n b 1\n", "a{x=\"<secret>\n b 1\n"},
		"a hidden label":                   {"a{m=\"one\"} 1\na{m=\"two\"} 2\nb{m=\"one\"} 3\n", "a{m=\"hidden-1\"} 1\na{m=\"hidden-2\"} 2\nb{m=\"hidden-1\"} 3\n"},
		"another label of the same value":  {"a{m=\"one\",n=\"one\"} 1\n", "a{m=\"hidden-1\",n=\"one\"} 1\n"},
		"room around the sign":             {"a{ n = \"x\" , m = \"one\" } 1\n", "a{ n = \"x\" , m = \"hidden-1\" } 1\n"},
		"an empty value stays empty":       {"a{m=\"\"} 1\n", "a{m=\"\"} 1\n"},
		"escapes are kept":                 {`a{x="\\ \" \n hunter2"} 1`, `a{x="\\ \" \n <secret>"} 1`},
		"an odd escape is kept":            {`a{x="\t"} 1`, `a{x="\t"} 1`},
		"a backslash before the last quote": {`a{x="\"} hunter2
`, `a{x="\"} <secret>
`},
		"an exemplar":             {"a{x=\"y\"} 1 # {trace=\"hunter2\"} 0.1\n", "a{x=\"y\"} 1 # {trace=\"<secret>\"} 0.1\n"},
		"a quoted name":           {"{\"m\",m=\"one\"} 1\n", "{\"m\",m=\"hidden-1\"} 1\n"},
		"numbers are left alone":  {"a{x=\"y\"} 1.7960007426048532e+09\n", "a{x=\"y\"} 1.7960007426048532e+09\n"},
		"no line feed at the end": {"a 1", "a 1"},
		"carriage returns":        {"# hunter2\r\na 1\r\n", "# <secret>\r\na 1\r\n"},
		"an empty page stays one": {"", ""},
		"what is not UTF-8 stays": {"a{x=\"\xff\"} 1\n", "a{x=\"\xff\"} 1\n"},
	} {
		t.Run(name, func(t *testing.T) {
			got := string(Scrub([]byte(c.page), mask(disguise(t, "m"))))
			if got != c.want {
				t.Errorf("got  %q\nwant %q", got, c.want)
			}
		})
	}
}

func TestDisguiseRefuses(t *testing.T) {
	for name, want := range map[string]string{"le": `the label "le" cannot be hidden`, "engine": `the label "engine" cannot be hidden`, "": "is empty"} {
		if _, err := NewDisguise([]string{"model_name", name}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", name, err)
		}
	}
}

// TestLabelsOfGPUPagesThatAreNeeded: without them no card, no instance and no error of a page could be told from another.
func TestLabelsOfGPUPagesThatAreNeeded(t *testing.T) {
	for _, name := range []string{"UUID", "uuid", "gpu_uuid", "GPU_I_ID", "xid"} {
		if _, err := NewDisguise([]string{name}); err == nil {
			t.Errorf("%s can be hidden", name)
		}
	}
}

// TestDisguiseIsBounded by a page that invents values.
func TestDisguiseIsBounded(t *testing.T) {
	d := disguise(t, "m")
	seen := map[string]bool{}
	for i := range maxDisguised + 100 {
		seen[d.Value("m", fmt.Sprint("v", i))] = true
	}
	if len(seen) != maxDisguised+1 || len(d.labels["m"]) != maxDisguised {
		t.Errorf("%d stand-ins, %d remembered", len(seen), len(d.labels["m"]))
	}
	if d.Value("m", "v0") != "hidden-1" {
		t.Error("a value that is known has got another stand-in")
	}
}

// FuzzScrub: whatever the bytes, the secret is gone, lines stay lines, and what holds nothing to hide stays as it is, byte
// for byte.
func FuzzScrub(f *testing.F) {
	f.Add([]byte("# hunter2\na{m=\"one\",x=\"hunter2\\\"\"} 1\n"))
	f.Add([]byte(`a{x="\`))
	if page, err := os.ReadFile("../../testdata/samples/vllm-0.32-live.prom"); err == nil {
		f.Add(page[:8192])
	}
	f.Fuzz(func(t *testing.T, page []byte) {
		if same := Scrub(page, func(_, text string) string { return text }); !bytes.Equal(same, page) {
			t.Fatalf("%q became %q", page, same)
		}
		got := Scrub(page, mask(disguise(t, "m")))
		if bytes.Count(got, []byte("\n")) != bytes.Count(page, []byte("\n")) {
			t.Fatalf("%q has other lines than %q", got, page)
		}
		// An escape inside of the word hides it from whoever reads the bytes, so that is no leak.
		if bytes.Contains(got, []byte("hunter2")) {
			t.Fatalf("%q still holds the secret", got)
		}
	})
}
