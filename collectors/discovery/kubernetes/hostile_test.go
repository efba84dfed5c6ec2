package kubernetes

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode"
)

// TestHostileTextIsNotHandedOn: whatever stands in a pod, what is said of it is one short line of characters that a terminal shows,
// and what is polled has no part of it.
func TestHostileTextIsNotHandedOn(t *testing.T) {
	for what, text := range map[string]string{
		"lines and colours":   "a\n\x1b[31m\rb\x00",
		"a page":              `<script>alert("1")</script>`,
		"a way out of a path": "../../x?y#z@host/",
		"other directions":    "a\u202eb\u0085c\u2028d",
		"no text at all":      "\xff\xfe",
		"a lot":               strings.Repeat("long ", 20_000),
	} {
		quoted, err := json.Marshal(text)
		if err != nil {
			t.Fatal(err)
		}
		q := string(quoted)
		of := func(where string) edits { return edits{where: q} }
		for where, e := range map[string]edits{
			"name": of("metadata|name"), "namespace": of("metadata|namespace"), "uid": of("metadata|uid"), "phase": of("status|phase").and(edits{"status|containerStatuses": ""}),
			"address": of("status|podIP"), "owner": {"metadata|ownerReferences": `[{"kind": ` + q + `, "name": ` + q + `, "controller": true}]`},
			"group":     {"metadata|labels": `{"app": "vllm", "leaderworkerset.sigs.k8s.io/name": ` + q + `, "ray.io/cluster": ` + q + `}`},
			"container": {"spec|containers": `[{"name": ` + q + `, "ports": [{"name": "http", "containerPort": 8000}]}]`},
			"port":      {"spec|containers": `[{"name": "vllm", "ports": [{"name": ` + q + `, "containerPort": 1}]}]`},
			"path":      annotatedText("path", q), "port's annotation": annotatedText("port", q), "scheme": annotatedText("scheme", q), "scrape": annotatedText("scrape", q),
		} {
			m := join(t, Config{Annotations: true}, podWith(t, e))
			for _, s := range m.skipped {
				for _, said := range []string{s.Pod, s.Why} {
					if len(said) > 500 || strings.ContainsFunc(said, func(r rune) bool { return !unicode.IsPrint(r) }) {
						t.Errorf("%s as %s: %.600q is said", what, where, said)
					}
				}
			}
			for _, f := range m.list {
				all := f.ID + f.URL + strings.TrimPrefix(f.From, "pod ")
				for _, v := range f.Labels {
					all += v
				}
				if strings.ContainsAny(all, "<>\"\n\r\x00\x1b?#@ \u202e\u0085\u2028\ufffd") || len(all) > 500 || strings.Contains(all, "..") {
					t.Errorf("%s as %s: polled is %+v", what, where, f)
				}
			}
			r, err := DCGM{Selectors: DefaultSelectors}.rules(nil)
			if err != nil {
				t.Fatal(err)
			}
			if x := r.exporter(decoded(t, podWith(t, e))); x != nil && (len(x.name+x.why) > 500 || strings.ContainsFunc(x.name+x.why, func(r rune) bool { return !unicode.IsPrint(r) })) {
				t.Errorf("%s as %s: of a dcgm-exporter %.600q is said", what, where, x.name+x.why)
			}
		}
	}
}

func annotatedText(which, quoted string) edits {
	return edits{"metadata|annotations": `{"prometheus.io/` + which + `": ` + quoted + `}`}
}
