package dashboards

import (
	"github.com/grafana/grafana-foundation-sdk/go/dashboard"
	"github.com/grafana/grafana-foundation-sdk/go/statetimeline"
	"github.com/grafana/grafana-foundation-sdk/go/table"
	"github.com/grafana/grafana-foundation-sdk/go/timeseries"

	"github.com/goodput-exporter/goodput-exporter/exporter/catalog"
)

// identity says which engines are meant.
func identity() *table.PanelBuilder {
	p := rows(about{
		title: "The chosen engines: identity, age and restarts, now and over the range",
		says: "What each page said of itself at the end of the range. Dialect and version are what the names on the page fit, not what the engine claims. " +
			"Restarts are changes of the process that were seen; an exporter that started later knows nothing of earlier ones.",
		unit: count, width: 14,
	}, []string{catalog.LabelEngine, catalog.LabelModel, "dialect", "version", "url"},
		query{aggregate("max", "engine, model, dialect, version, url", pick(catalog.EngineInfo, ofEngine)), "is there"},
		query{aggregate("max", catalog.LabelEngine, pick(catalog.EngineStart, ofEngine)) + " * 1000", "process started"},
		query{aggregate("max", catalog.LabelEngine, pick(catalog.LastPoll, ofEngine)) + " * 1000", "last page"},
		query{sum(catalog.LabelEngine, increase(theRange, pick(catalog.EngineResets, ofEngine))), "restarts in the range"})
	p.OverrideByRegexp("^(process started|last page)$", []dashboard.DynamicConfigValue{property("unit", unixTime)})
	return p.Decimals(0)
}

// presence is up, progressing and phase over time.
func presence() *statetimeline.PanelBuilder {
	p := states(about{
		title: "Engines: is the page there, does work move, and in which phase, over time",
		says: "Up: the last poll brought a page that could be used. Progressing: work is in flight and something moved within a minute; an idle engine progresses. " +
			"Phase: starting while no page is expected yet, warming_up until the first judgement window is committed. Red is 0. A gap: the exporter itself was not scraped.",
		unit: count, width: 10,
	}, polled, map[string]string{"0": "red", "1": "green"},
		query{pick(catalog.EngineUp, ofEngine), "{{engine}} up"},
		query{pick(catalog.EngineProgressing, ofEngine), "{{engine}} progressing"},
		query{pick(catalog.EnginePhaseInfo, ofEngine), "{{engine}} {{phase}}"})
	p.OverrideByRegexp("/ (down|stalled)$/", []dashboard.DynamicConfigValue{property("mappings", colouredValues(map[string]string{"1": "red"}))})
	p.OverrideByRegexp("/ (unseen|starting|warming_up|asleep)$/", []dashboard.DynamicConfigValue{property("mappings", colouredValues(map[string]string{"1": "orange"}))})
	return p
}

// ledgerStack is the ledger as parts that add up to what arrived.
func ledgerStack() *timeseries.PanelBuilder {
	of := func(base string, which end) string { return added(rate, perStep, "", base, which, ofEngine) }
	arrived := of(catalog.RequestsArrived, lowerEnd)
	left := arrived
	var parts []query
	for _, o := range outcomes {
		if o.colour == "" {
			continue
		}
		part := some(of(o.base, lowerEnd), arrived)
		parts, left = append(parts, query{part, o.name}), left+" - "+part
	}
	parts = append(parts, query{left, "in flight, change"}, query{arrived, "arrived"})
	p := stacked(about{
		title: "HTTP requests that ended, by outcome, and that arrived, each second, 5 min and more",
		says: "The stack adds up to the grey line. What is left over between them stays in flight: above 0 the engine fills, below 0 it drains. " +
			"Where failed or cancelled are intervals only, their lower ends are stacked and the doubt is in that rest. Who gave up, client or proxy, is not known.",
		unit: requestsRate, width: 14, signed: true,
	}, judged, parts...)
	for _, o := range outcomes {
		if o.colour != "" {
			line(p, o.name, o.colour)
		}
	}
	line(p, "in flight, change", doubtColour)
	overlay(p, "arrived", offeredColour)
	return p
}

// finishReasons is how sequences ended.
func finishReasons() *timeseries.PanelBuilder {
	return stacked(about{
		title: "Sequences that ended, by finish reason, each second, 4 min and more",
		says: "stop and length are successes as a rule; the SLO's policy says. abort is counted by vLLM's Rust front end only: on the Python one cancelled sequences end nowhere. " +
			"Refused and lost requests are not here.",
		unit: sequenceRate, width: 12,
	}, polled, query{sum(catalog.LabelReason, rate(perStep, pick(catalog.SequencesFinished, ofRank))), "{{reason}}"})
}

// engineLedger is where the requests went, in numbers.
func engineLedger() *table.PanelBuilder {
	return ledgerTable(about{
		title: "HTTP requests of the chosen engines by what became of them, over the dashboard's range",
		says: "arrived = finished + failed + cancelled + rejected + lost + change of what is in flight. Where the pages tell an interval only, at least and at most are different. " +
			"An outcome without a row is not told by the page: see the ledgers that cannot be kept below.",
		unit: count, width: 10,
	}, ofEngine)
}

// unexplained is what two routes of counting disagree on.
func unexplained() *timeseries.PanelBuilder {
	return lines(about{
		title: "HTTP requests on which two counts of the same page disagree, and refusals, each second, 5 min and more",
		says: "Unexplained is 0 on a page that tells the truth; above it, a proxy counts differently, pages are torn, or the engine miscounts. " +
			"Rejected by admission is the engine's own limit, by client_error a 4xx answer. It cannot be said which requests they were.",
		unit: requestsRate, width: 12,
	}, judged,
		query{added(rate, perStep, catalog.LabelEngine, catalog.RequestsUnexplained, lowerEnd, ofEngine), "unexplained, {{engine}}"},
		query{added(rate, perStep, catalog.LabelEngine+", "+catalog.LabelBy, catalog.RequestsRejected, lowerEnd, ofEngine), "rejected by {{by}}, {{engine}}"})
}
