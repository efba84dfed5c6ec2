package kubernetes

import (
	"strings"
	"testing"
)

func TestSelectors(t *testing.T) {
	pods := map[string]map[string]string{
		"none":  {},
		"vllm":  {"app": "vllm", "tier": "gold", "example.org/gen": "3"},
		"nginx": {"app": "nginx", "in": "x"},
	}
	for text, want := range map[string]string{
		"app":                            "nginx vllm",
		"!app":                           "none",
		" ! app ":                        "none",
		"app=vllm":                       "vllm",
		"app==vllm":                      "vllm",
		"app = vllm , tier = gold":       "vllm",
		"app=vllm,tier=silver":           "",
		"app!=vllm":                      "nginx none",
		"app!=vllm,app":                  "nginx",
		"app in (vllm, nginx)":           "nginx vllm",
		"app in(vllm)":                   "vllm",
		"app notin (vllm)":               "nginx none",
		"app in (vllm),!tier":            "",
		"tier=":                          "",
		"tier in ()":                     "",
		"tier notin ()":                  "nginx none vllm",
		"example.org/gen>2":              "vllm",
		"example.org/gen > 3":            "",
		"example.org/gen<4":              "vllm",
		"example.org/gen < 3":            "",
		"app>1":                          "",
		"\tapp\n=\tvllm":                 "vllm",
		"app in (in, notin, vllm)":       "vllm",
		"":                               "!position 1: it is empty, which would be every pod",
		"  ":                             "!position 3: it is empty",
		"app=vllm,":                      "!position 10: a label's name is missing",
		",app":                           "!position 1: a label's name is missing",
		"app in vllm":                    "!position 8: a ( is missing",
		"app in (vllm":                   "!position 13: a ) or a comma is missing",
		"app in (vllm;nginx)":            `!position 9: "vllm;nginx" is not a label's value`,
		"app is vllm":                    `!position 5: "is" is no operator`,
		"app=vllm tier=gold":             `!position 10: a comma is missing before "t"`,
		"in in (x)":                      "nginx",
		"in":                             "nginx",
		"app>-1":                         `!position 5: "-1" is not a whole number from 0`,
		"a b":                            `!position 3: "b" is no operator`,
		"app>many":                       `!position 5: "many" is not a whole number`,
		"app=a/b":                        `!position 5: "a/b" is not a label's value`,
		"/app":                           `!position 1: "/app" is not a label's name`,
		"Example.org/app":                `!position 1: "Example.org/app" is not a label's name`,
		"-app":                           `!position 1: "-app" is not a label's name`,
		"app=-":                          `!position 5: "-" is not a label's value`,
		"app!":                           `!position 4: a comma is missing before "!"`,
		"app)":                           `!position 4: a comma is missing before ")"`,
		"app=" + strings.Repeat("x", 64): "!position 5",
		strings.Repeat("a,", 3000):       "!it is longer than 4096 bytes",
	} {
		s, err := parseSelector(text)
		if wrong, isWrong := strings.CutPrefix(want, "!"); isWrong {
			if err == nil || !strings.Contains(err.Error(), wrong) {
				t.Errorf("%.40q: error %v, want %q in it", text, err, wrong)
			}
			continue
		}
		if err != nil {
			t.Errorf("%q: %v", text, err)
			continue
		}
		var fit []string
		for _, name := range []string{"nginx", "none", "vllm"} {
			if s.matches(pods[name]) {
				fit = append(fit, name)
			}
		}
		if got := strings.Join(fit, " "); got != want {
			t.Errorf("%q fits %q, want %q", text, got, want)
		}
	}
}

// FuzzSelector: no text makes the parser panic, and what it takes says of each pod one thing, the contrary of which its negation says.
func FuzzSelector(f *testing.F) {
	for _, s := range DefaultSelectors {
		f.Add(s, "app", "vllm")
	}
	f.Add("a in (b,,c), !d, e>1", "a", "")
	f.Add("a!=b,c notin (d)", "c", "d")
	f.Fuzz(func(t *testing.T, text, key, value string) {
		s, err := parseSelector(text)
		if err != nil {
			if s != nil {
				t.Error("a selector and an error")
			}
			return
		}
		if len(s) == 0 {
			t.Error("a selector that fits every pod")
		}
		s.matches(map[string]string{key: value})
		if !labelKey(key) || !labelValue(value) {
			return
		}
		labels := map[string]string{key: value}
		is, err := parseSelector(key + "=" + value)
		not, err2 := parseSelector(key + " != " + value)
		if err != nil || err2 != nil {
			t.Fatalf("%q=%q: %v, %v", key, value, err, err2)
		}
		if !is.matches(labels) || not.matches(labels) || is.matches(nil) || !not.matches(nil) {
			t.Errorf("%q=%q is not what it says", key, value)
		}
	})
}
