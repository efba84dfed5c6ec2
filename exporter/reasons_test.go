package exporter

import (
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/goodput-exporter/goodput-exporter/exporter/catalog"
	"github.com/goodput-exporter/goodput-exporter/exporter/fact"
	"github.com/goodput-exporter/goodput-exporter/exporter/fold"
	"github.com/goodput-exporter/goodput-exporter/exporter/slo"
)

// notes reads from the source of package slo every note that a window can have, by the name of its constant.
func notes(t *testing.T) map[string]string {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), "slo/window.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]string{}
	ast.Inspect(file, func(n ast.Node) bool {
		if spec, ok := n.(*ast.ValueSpec); ok && strings.HasPrefix(spec.Names[0].Name, "Note") {
			text, err := strconv.Unquote(spec.Values[0].(*ast.BasicLit).Value)
			if err != nil {
				t.Fatal(err)
			}
			found[spec.Names[0].Name] = text
		}
		return true
	})
	return found
}

func TestEveryNoteHasItsWord(t *testing.T) {
	want := map[string]string{
		slo.NoteTorn: "torn", slo.NoteContradiction: "contradiction", slo.NoteDisjoint: "disjoint", slo.NoteTooLarge: "too_large",
		// A configuration with such a clause is refused, so no window has this note.
		slo.NoteNoLatency: "other",
	}
	for name, note := range notes(t) {
		if want[note] == "" {
			t.Errorf("slo.%s has no word: give it one in fallbackReason, in the catalogue and here", name)
		}
	}
	for f := fact.TTFT; f < fact.NumFamilies; f++ {
		want["no "+f.String()+" histogram"] = "missing_family"
	}
	want["no such thing"] = "other"
	want["GET /secret histogram"] = "other"
	for note, word := range want {
		if got := fallbackReason(note); got != word {
			t.Errorf("%q is %q, want %q", note, got, word)
		}
	}
}

func TestReasonsAreExplained(t *testing.T) {
	for name, words := range map[string][]string{
		catalog.WindowFallbacks: {catalog.ReasonTorn, catalog.ReasonContradiction, catalog.ReasonDisjoint, catalog.ReasonTooLarge, catalog.ReasonMissingFamily, catalog.ReasonOther},
		catalog.PagesSkipped:    {catalog.ReasonTorn, catalog.ReasonUnjudged, catalog.ReasonOther},
	} {
		help := newFamilies()[name].Help()
		for _, w := range words {
			if !strings.Contains(help, " "+w+" (") && !strings.Contains(help, "or "+w+".") {
				t.Errorf("the HELP of %s does not explain the reason %s: %s", name, w, help)
			}
		}
	}
}

func TestReasonsOfOneWordAreOneSeries(t *testing.T) {
	got := closed([]fold.Tally{{Name: "torn", Count: 1}, {Name: "made up", Count: 2}, {Name: "unjudged", Count: 3}, {Name: "also made up", Count: 4}}, skipReason)
	want := []fold.Tally{{Name: "torn", Count: 1}, {Name: "other", Count: 6}, {Name: "unjudged", Count: 3}}
	if !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}
