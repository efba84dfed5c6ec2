package dashboards

import (
	"strings"

	"github.com/grafana/grafana-foundation-sdk/go/dashboard"
	"github.com/grafana/grafana-foundation-sdk/go/table"
	"github.com/grafana/grafana-foundation-sdk/go/timeseries"

	"github.com/goodput-exporter/goodput-exporter/exporter/catalog"
)

func polls() *timeseries.PanelBuilder {
	return lines(about{
		title: "Time that the last poll of an engine took, now",
		says: "The engine makes its page in the event loop that also streams tokens, so a slow page is a stall for its users. One poll of many: those between two scrapes are not seen. " +
			"A failed poll shows how long it took to fail.",
		unit: seconds, width: 8,
	}, polled, query{aggregate("max", catalog.LabelEngine, pick(catalog.PollDuration, ofEngine)), "{{engine}}"})
}

func pollFailures() *timeseries.PanelBuilder {
	return lines(about{
		title: "Polls that brought no page that could be used, by reason, each second, 4 min and more",
		says:  "The reason is one of a closed set; the exporter's log has the text, once. Absent: no poll has failed since the exporter started.",
		unit:  "suffix: polls/s", width: 8,
	}, polled, query{sum(catalog.LabelEngine+", "+catalog.LabelReason, rate(perStep, pick(catalog.PollFailures, ofEngine))), "{{engine}} {{reason}}"})
}

func seriesCost() *timeseries.PanelBuilder {
	return lines(about{
		title: "Series that an engine costs in Prometheus, now",
		says:  "Its ranks included; a histogram counts as all its buckets. The exporter's own series and the recording rules' come on top.",
		unit:  count, width: 8,
	}, polled, query{aggregate("max", catalog.LabelEngine, pick(catalog.EngineSeries, ofEngine)), "{{engine}}"})
}

// roundTime is the exporter's own work, all exporters of the data source together: a round polls all engines of one.
func roundTime() *timeseries.PanelBuilder {
	of := catalog.RoundDuration
	return lines(about{
		title: "Mean time of a round of polls, and age of the last round, all exporters, 4 min and more",
		says: "A round polls all engines of one exporter and publishes. The age is that of the oldest: when it grows, everything else stands still. " +
			"A mean hides the slow rounds; those that came too late are in the panel beside it.",
		unit: seconds, width: 12,
	}, polled,
		query{ratio(sum("", rate(perStep, pick(of+"_sum"))), sum("", rate(perStep, pick(of+"_count")))), "mean round"},
		query{"time() - min(" + pick(catalog.LastRound) + ")", "age of the last round"})
}

func roundsMissed() *timeseries.PanelBuilder {
	return lines(about{
		title: "Rounds of polls that were published and that were missed, all exporters, each second, 4 min and more",
		says:  "A round is missed when the one before is still going on: an engine answers too slowly for the interval. What was missed is in the next page's counters, with a wider interval.",
		unit:  "suffix: rounds/s", width: 12,
	}, polled,
		query{sum("", rate(perStep, pick(catalog.Rounds))), "published"},
		query{sum("", rate(perStep, pick(catalog.RoundsMissed))), "missed"})
}

// configuration is what exporters run with.
func configuration() *table.PanelBuilder {
	const by = "instance"
	p := rows(about{
		title: "Configuration of the exporters: was the last reload taken, and when was the last that was, now",
		says: "0: the file was refused, and the exporter goes on with the one before; its log has every mistake. A start is a reload that was taken. " +
			"Two exporters of one time may still have different files.",
		unit: count, width: 16,
	}, []string{by},
		query{aggregate("min", by, pick(catalog.ReloadOK)), "taken"},
		query{aggregate("min", by, pick(catalog.ReloadTime)) + " * 1000", "last taken"})
	p.OverrideByName("last taken", []dashboard.DynamicConfigValue{property("unit", unixTime)})
	return p.Decimals(0)
}

func versions() *table.PanelBuilder {
	const by = "version, revision, goversion"
	return rows(about{
		title: "Versions of the exporters, now",
		says: "How many exporters run which build. Two versions may count differently: the changelog says. " +
			"Engines are in the first table, by the versions that their pages' names fit: the exact one is not on the page.",
		unit: count, width: 8,
	}, strings.Split(by, ", "), query{aggregate("count", by, pick(catalog.BuildInfo)), "exporters"})
}
