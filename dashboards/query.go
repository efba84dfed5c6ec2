package dashboards

import (
	"fmt"
	"strings"

	"github.com/goodput-exporter/goodput-exporter/exporter/catalog"
)

// Selectors on the boards' variables. All of model and slo is the pattern ".*", which also takes what has no such label;
// All of engine is the list of the engines of the chosen models.
const (
	ofModel  = catalog.LabelModel + `=~"$model"`
	ofSLO    = catalog.LabelSLO + `=~"$slo"`
	ofEngine = catalog.LabelEngine + `=~"$engine"`
	// ofRank also takes the ranks of a data-parallel engine: a/0 is a rank of a.
	ofRank = catalog.LabelEngine + `=~"(?:$engine)(?:/[0-9]+)?"`
)

// Windows of counters in queries.
const (
	perStep  = "$__rate_interval"
	theRange = "$__range"
)

// pick is a series with its matchers.
func pick(name string, matchers ...string) string {
	return name + "{" + strings.Join(matchers, ",") + "}"
}

func increase(window, selector string) string {
	return fmt.Sprintf("increase(%s[%s])", selector, window)
}
func rate(window, selector string) string { return fmt.Sprintf("rate(%s[%s])", selector, window) }

// aggregate is an aggregation, such as sum by (model) (e). Without labels it is over everything.
func aggregate(op, by, e string) string {
	if by == "" {
		return fmt.Sprintf("%s(%s)", op, e)
	}
	return fmt.Sprintf("%s by (%s) (%s)", op, by, e)
}

func sum(by, e string) string { return aggregate("sum", by, e) }

// end is one end of a counter that is exact or an interval, or changes from one to the other.
type end string

const (
	lowerEnd end = catalog.LowerTotal
	upperEnd end = catalog.UpperTotal
)

// added sums one end of such a counter: what was exact and what was an interval. While a counter changes from one to the
// other, both are in the window and have the same labels; the label end keeps them apart until they are added.
func added(change func(window, selector string) string, window, by, base string, which end, matchers ...string) string {
	part := func(ending, name string) string {
		return fmt.Sprintf(`label_replace(%s, "end", %q, "", "")`, change(window, pick(base+ending, matchers...)), name)
	}
	return sum(by, part(catalog.Total, "exact")+" or "+part(string(which), "interval"))
}

// some turns the absence of a part into nothing where whole says that there is something to be a part of.
func some(part, whole string) string { return fmt.Sprintf("(%s or 0 * %s)", part, whole) }

// ratio is a quotient of sums, absent where nothing was counted.
func ratio(part, whole string) string { return fmt.Sprintf("%s / (%s > 0)", part, whole) }

// labelEndpoint is the engine without its rank, inside a query only.
const labelEndpoint = "endpoint"

// byEndpoint adds up over the ranks of each engine and calls the sum by the engine's own id, under which objectives and
// the ledger stand.
func byEndpoint(e string) string {
	ranks := fmt.Sprintf(`label_replace(%s, %q, "$1", %q, "(.+?)(?:/[0-9]+)?")`, e, labelEndpoint, catalog.LabelEngine)
	named := fmt.Sprintf(`label_replace(%s, %q, "$1", %q, "(.+)")`, sum(labelEndpoint, ranks), catalog.LabelEngine, labelEndpoint)
	return sum(catalog.LabelEngine, named)
}
