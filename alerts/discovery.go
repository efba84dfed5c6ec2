package alerts

import (
	"fmt"

	"github.com/goodput-exporter/goodput-exporter/exporter/catalog"
)

// discoveryAlerts are about engines that are looked for. Where none are, there are no such series, and none fires.
func discoveryAlerts(target, where string) []Rule {
	return []Rule{
		alert("GoodputDiscoveryStale", ticket, certain, "10m", maxBy(target+", source", catalog.DiscoveryUp)+" == 0",
			"Engines are not looked for on "+where,
			"The exporter on "+where+" is not told by {{ $labels.source }} which engines there are: those that it found last are polled on, new ones are not seen, and those that went look as if they were down."),
		noEngines(),
	}
}

// noEngines finds a fleet in which discovery works and nothing has ever been found, as where selectors fit no pod. An engine
// within the last day, on any node, shows that they do: then none now is what somebody has scaled down to. The day is looked
// at each half hour only, since all samples of a large fleet would be too many.
func noEngines() Rule {
	const fleet = "cluster, job"
	unless := fmt.Sprintf("unless on (%s) ", fleet)
	return alert("GoodputNoEngines", ticket, certain, "30m",
		lines(
			maxBy(fleet, catalog.DiscoveryUp)+" == 1",
			unless+catalog.EngineUp,
			unless+catalog.EnginesStarting+" > 0",
			unless+fmt.Sprintf("max_over_time(%s[1d:30m])", maxBy(fleet, catalog.EngineUp)),
		),
		"No exporter of job {{ $labels.job }} finds an engine",
		"Discovery works on the nodes of job {{ $labels.job }}, and has found no engine on any of them for a day: no number of this product says anything about them.")
}
