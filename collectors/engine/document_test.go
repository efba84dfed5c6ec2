package engine

import (
	"testing"

	"github.com/goodput-exporter/goodput-exporter/internal/golden"
)

func TestDocument(t *testing.T) {
	golden.Compare(t, "../../docs/dialects.md", Document())
}

// Every row of the table says how it is recognised, what differs and on what it was tried.
func TestDialectsAreDescribed(t *testing.T) {
	for _, d := range dialects {
		if d.who == "" || d.sign == "" || len(d.unlike) == 0 || d.tested == "" {
			t.Errorf("%s: %+v", d.name, d)
		}
	}
}
