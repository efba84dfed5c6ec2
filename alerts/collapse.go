package alerts

import (
	"fmt"

	"github.com/goodput-exporter/goodput-exporter/exporter/catalog"
)

// Numbers of the collapse alert.
const (
	collapseShare   = 0.5 // of the best share of the last hour
	collapseOffered = 0.8 // of the mean load of the last hour: below, traffic is leaving
	collapseTraffic = 50  // sequences in 5 minutes, now and in the best of them
)

// collapse fires when the share that met the objective certainly fell by more than half: the most that it can be now is
// less than half of the least that it was, in the best five minutes of the last hour, while the load stayed.
//
// It compares shares and not rates. After a burst, the rate of qualified sequences of every normal minute is less than
// half of the best one.
//
// Where the ledger cannot be kept, arrivals are not known. The objective's denominator then stands for the load, so that
// a missing ledger does not silence the alert.
//
// Its wait is one more judgement window: half a minute between evaluations and a minute between the counters' steps are
// enough for a second, later look.
func collapse() Rule {
	now := func(base string) string { return catalog.RuleName(base, "5m") }
	hour := func(base string) string { return catalog.RuleName(base, "1h") }
	enough := fmt.Sprintf("%s * 300 >= %d", now(catalog.RuleSLORequests), collapseTraffic)
	r := alert("GoodputCollapse", page, certain, "1m",
		lines(
			fmt.Sprintf("%s < %s * max_over_time((%s and %s)[1h:1m])", now(catalog.RuleShareUpper), number(collapseShare), now(catalog.RuleShareLower), enough),
			"and",
			enough,
			"and (",
			fmt.Sprintf("    %s and %s (%s >= %s * %s)", now(catalog.RuleSLORequests), onModel, now(catalog.RuleArrived), number(collapseOffered), hour(catalog.RuleArrived)),
			"  or",
			fmt.Sprintf("    (%s >= %s * %s) unless %s %s", now(catalog.RuleSLORequests), number(collapseOffered), hour(catalog.RuleSLORequests), onModel, hour(catalog.RuleArrived)),
			")",
		),
		"Goodput of {{ $labels.model }} collapsed: {{ $labels.slo }}",
		"At most {{ $value | humanizePercentage }} of the sequences of {{ $labels.model }} met {{ $labels.slo }} in the last 5 minutes. "+
			"That is certainly less than half of the best 5 minutes of the last hour, and the load has stayed.",
	)
	// One incident is one page. A share that wavers about the half is one incident, and so is what the error budget alert still
	// sees in its short window of 30 minutes when goodput has come back: see the inhibition rules in docs/alerts.md.
	r.KeepFiringFor = "30m"
	return r
}
