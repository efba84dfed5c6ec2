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
		enginesMissing(target, where),
		noEngines(),
	}
}

// enginesMissing finds what discovery has found and no number is about. An engine that never gets ready has no goodput_engine_up,
// so that no other alert sees it. Models load within 2 to 20 minutes, the largest from slow disks. A container that crashes while it
// loads starts again, after a wait of up to 5 minutes in which it is down instead; the alert looks past these. Only how many engines
// start is known: where one after another is rolled out, some engine starts all the time, so it is nothing as long as a process of
// the last hour has answered. An engine that hangs beside these is told of an hour later.
func enginesMissing(target, where string) Rule {
	because := func(why string, expr ...string) []string {
		out := []string{"label_replace("}
		for _, l := range expr {
			out = append(out, "  "+l)
		}
		return append(out, fmt.Sprintf(`, "why", %q, "", "")`, why))
	}
	starting := because("not ready", maxBy(target, "max_over_time("+catalog.EnginesStarting+"[6m])")+" > 0",
		fmt.Sprintf("unless on (%s) time() - %s < 3600", target, maxBy(target, catalog.EngineStart)))
	refused := because("refused", maxBy(target, catalog.DiscoveryPods+`{state="refused"}`)+" > 0")
	return alert("GoodputEnginesMissing", ticket, certain, "30m", lines(append(append(starting, "or"), refused...)...),
		"{{ if eq $labels.why \"refused\" }}Pods that may hold engines are refused{{ else }}Engines do not become ready{{ end }} on "+where+": {{ $value }}",
		"{{ if eq $labels.why \"refused\" }}The exporter on "+where+" does not poll {{ $value }} of the pods that a selector fits, because of their address or of what they ask for{{ else }}For half an hour there has been an engine on "+where+" that has not become ready since its container started, and has never answered{{ end }}: no number and no other alert is about such an engine.")
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
