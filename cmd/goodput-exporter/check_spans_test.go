package main

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/goodput-exporter/goodput-exporter/exporter/fact"
	"github.com/goodput-exporter/goodput-exporter/exporter/slo"
)

// TestFilesThatCannotBeRead: check says so and goes on, whatever stands at the path.
func TestFilesThatCannotBeRead(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	if err := os.WriteFile(at("token"), []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(at("pipe"), 0o600); err != nil {
		t.Fatal(err)
	}
	for what, c := range map[string]struct{ path, want string }{
		"a file":                           {at("token"), ""},
		"no file":                          {at("none"), "no such file"},
		"a directory":                      {dir, "not a regular file"},
		"a pipe that nobody writes to":     {at("pipe"), "not a regular file"},
		"a path through what is no folder": {at("token/x"), "not a directory"},
	} {
		t.Run(what, func(t *testing.T) {
			if got := unreadable(c.path); got != c.want && (c.want == "" || !strings.Contains(got, c.want)) {
				t.Errorf("%q, want %q", got, c.want)
			}
		})
	}
}

// TestMissingFilesAreAnErrorWhereTheyShouldBe: a configuration may be checked on another machine than the one that it is
// for, whose folders are not there.
func TestMissingFilesAreAnErrorWhereTheyShouldBe(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "token"), []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	const slos = "slos: [{name: chat, clauses: {ttft: 250ms}, objective: 0.95}]\n"
	for what, c := range map[string]struct {
		spans, prints, fails string // parts of what is printed, and of the error
	}{
		"a token that is there":             {"{listen: 127.0.0.1:4318, bearer_token_file: token}", "is valid", ""},
		"no token where it should be":       {"{listen: 127.0.0.1:4318, bearer_token_file: none}", "# spans are taken in", "spans.bearer_token_file: " + filepath.Join(dir, "none") + " cannot be used: no such file or directory"},
		"a folder for a token":              {"{listen: 127.0.0.1:4318, bearer_token_file: .}", "", "not a regular file"},
		"no certificate where it should be": {"{listen: 127.0.0.1:4318, tls_config: {cert_file: c, key_file: token}}", "", "spans.tls_config.cert_file: "},
		"a token of another machine":        {"{listen: 127.0.0.1:4318, bearer_token_file: none/token}", "# warning: spans.bearer_token_file", ""},
		"nothing is taken in, and no token": {"{bearer_token_file: none}", "is valid", ""},
		"a grace and no address":            {"{grace: 20s}", "# note: no spans are taken in, whatever spans.grace says: set spans.listen or spans.grpc_listen", ""},
		"a grace, a buffer and no address":  {"{grace: 20s, buffer: 2000}", "whatever spans.grace, spans.buffer says", ""},
		"the defaults, written, no address": {"{grace: 10s}", "is valid", ""},
	} {
		t.Run(what, func(t *testing.T) {
			path := filepath.Join(dir, "c.yaml")
			if err := os.WriteFile(path, []byte(slos+"spans: "+c.spans+"\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			var out strings.Builder
			err := runCheck(t.Context(), path, "", &out, io.Discard)
			if (err != nil) != (c.fails != "") || err != nil && !strings.Contains(err.Error(), c.fails) {
				t.Errorf("error %v, want %q in it", err, c.fails)
			}
			if !strings.Contains(out.String(), c.prints) {
				t.Errorf("%q is not in\n%s", c.prints, out.String())
			}
			if c.spans == "{grace: 10s}" && strings.Contains(out.String(), "# note") {
				t.Errorf("a note on defaults:\n%s", out.String())
			}
		})
	}
}

// TestClausesNameTheirClasses: what no request is promised is not judged, and a clause says whose it is.
func TestClausesNameTheirClasses(t *testing.T) {
	clause := func(seconds float64) slo.Clause { return slo.Clause{Metric: fact.TTFT, Threshold: seconds} }
	o := slo.Objective{Clauses: []slo.Clause{clause(1)}, Classes: slo.Classes{By: slo.ByPromptTokens, List: []slo.Class{
		{Name: "short", AtMost: 10, Clauses: []slo.Clause{clause(0.25)}}, {Name: "middle", AtMost: 20, Clauses: []slo.Clause{clause(0.25)}},
		{Name: "long", Clauses: []slo.Clause{clause(2)}},
	}}}
	got := ""
	for _, c := range everyClause(&o) {
		got += configured(c.Threshold) + ofClasses(classesWith(&o, c)) + "; "
	}
	if want := "250ms, of the classes short, middle; 2s, of class long; "; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	o.Classes.List = o.Classes.List[:1]
	if all := everyClause(&o); len(all) != 2 || ofClasses(classesWith(&o, clause(1))) != ", of class other" {
		t.Errorf("%v, %q: what the rest is promised is the objective's own", all, ofClasses(classesWith(&o, clause(1))))
	}
	o.Classes = slo.Classes{}
	if all := everyClause(&o); len(all) != 1 || ofClasses(classesWith(&o, clause(1))) != "" {
		t.Errorf("%v without classes", all)
	}
}
