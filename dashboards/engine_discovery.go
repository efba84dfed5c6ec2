package dashboards

import (
	"github.com/grafana/grafana-foundation-sdk/go/statetimeline"
	"github.com/grafana/grafana-foundation-sdk/go/timeseries"

	"github.com/goodput-exporter/goodput-exporter/exporter/catalog"
)

// found is what became of the pods that are meant for engines, all exporters of the data source together.
func found() *timeseries.PanelBuilder {
	return lines(about{
		title: "Pods that are meant for engines, by what became of them, and engines that are starting, all exporters, now",
		says: "A pod is meant for engines when a selector of the configuration fits it; one may hold several. Refused and no_endpoint are not polled: the exporter's status page says why. " +
			"Starting: no page is expected yet, as while a model is loaded. Absent where no pods are looked at.",
		unit: count, width: 8,
	}, polled,
		query{sum(catalog.LabelState, pick(catalog.DiscoveryPods)), "{{state}} pods"},
		query{sum("", pick(catalog.EnginesStarting)), "starting engines"})
}

// followed is whether exporters are told which pods there are.
func followed() *statetimeline.PanelBuilder {
	return states(about{
		title: "Exporters: are they told which pods there are, over time",
		says:  "0, red: the API server does not answer or refuses; the engines found last are polled on, and new ones are not seen. Absent where no pods are looked at.",
		unit:  count, width: 8,
	}, polled, map[string]string{"0": "red", "1": "green"},
		query{aggregate("min", "instance", pick(catalog.DiscoveryUp)), "{{instance}}"})
}

// heard is how old the news of pods are.
func heard() *timeseries.PanelBuilder {
	return lines(about{
		title: "Time since an exporter was last told of pods, the longest of all exporters, now",
		says:  "The API server says so about once a minute when nothing is new. Absent where no pods are looked at, and until the first word.",
		unit:  seconds, width: 8,
	}, polled, query{"time() - min(" + pick(catalog.DiscoverySynced) + ")", "oldest news"})
}
