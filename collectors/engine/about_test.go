package engine

import (
	"strings"
	"testing"
)

// TestEveryDialectCanBeExplained on its own, without the rows around it.
func TestEveryDialectCanBeExplained(t *testing.T) {
	for i := range dialects {
		about, known := AboutDialect(dialects[i].name)
		if !known || about.Who == "" || about.Sign == "" || strings.Contains(about.Sign, "above") {
			t.Errorf("%s: %+v, %v", dialects[i].name, about, known)
		}
	}
	if _, known := AboutDialect("nobody"); known {
		t.Error("a dialect that does not exist is known")
	}
}
