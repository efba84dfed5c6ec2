package alerts

import (
	"strings"
	"testing"
)

// TestBothKindsOfPairsAreLookedFor: a pair that is known by its start, and one that is known by its address. Without
// either half of the expression the committed tests have to fail.
func TestBothKindsOfPairsAreLookedFor(t *testing.T) {
	const name = "GoodputEnginePolledTwice"
	g := needed(committed(t), name)
	whole := g[0].Rules[0]
	byStart, byAddress, two := strings.Cut(whole.Expr, "\nor\n")
	if !two || !strings.Contains(byStart, `"start"`) || !strings.Contains(byAddress, "by (cluster, url)") {
		t.Fatalf("the expression is not a search by start or by address:\n%s", whole.Expr)
	}
	for what, expr := range map[string]string{"start": byStart, "address": byAddress} {
		t.Run("by "+what+" alone", func(t *testing.T) {
			half := whole
			half.Expr = expr
			if said, passed := judge(t, name, g.with(whole, half)); passed {
				t.Errorf("the tests pass\n%s", said)
			}
		})
	}
}
