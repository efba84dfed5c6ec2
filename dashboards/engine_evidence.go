package dashboards

import (
	"github.com/grafana/grafana-foundation-sdk/go/timeseries"

	"github.com/goodput-exporter/goodput-exporter/exporter/catalog"
)

// ofSpans selects what spans say among the sources of evidence.
const ofSpans = catalog.LabelSource + `="` + catalog.SourceSpans + `"`

// completeness is how much of what finished was seen.
func completeness() *timeseries.PanelBuilder {
	of := func(name string) string {
		return sum(catalog.LabelEngine, rate(perStep, pick(name, ofSpans, ofEngine)))
	}
	return lines(about{
		title: "Completeness: share of an engine's finished sequences that have a span, last window, and 5 min and more",
		says: "1 makes the engine's goodput exact. A sampler leaves it at its ratio; then the interval is wider, and never wrong. " +
			"A fall is spans that were lost, came late or were matched to nothing: see the panels beside and below. No line: the engine sends none, or nothing finished.",
		unit: share, width: 6,
	}, judged,
		query{ratio(of(catalog.EvidenceSequencesSeen), of(catalog.EvidenceSequences)), "{{engine}}"},
		query{aggregate("max", catalog.LabelEngine, pick(catalog.EvidenceCompleteness, ofSpans, ofEngine)), "{{engine}} last window"})
}

// matched is by what spans were told to be an engine's.
func matched() *timeseries.PanelBuilder {
	const by = catalog.LabelEngine + ", " + catalog.LabelBy
	return lines(about{
		title: "Spans matched to the engines, by what told them, each second, 4 min and more",
		says: "engine: its goodput.engine attribute. pod: the pod that it names. instance: its process was matched before. address: the sender's. only: there is one target. " +
			"Each is one finished sequence. A Collector on the way has its own address: then engine or pod have to tell.",
		unit: "suffix: spans/s", width: 6,
	}, polled, query{sum(by, rate(perStep, pick(catalog.SpansMatched, ofEngine))), "{{engine}} by {{by}}"})
}

// unused are spans that were matched and are in no verdict.
func unused() *timeseries.PanelBuilder {
	const by = catalog.LabelEngine + ", " + catalog.LabelReason
	return lines(about{
		title: "Spans of the engines that came to nothing, and windows that they contradict, each second, 5 min and more",
		says: "late: the window had been committed; a longer grace helps. dropped: more than is kept. Both count as unseen. outside and duplicate cost nothing. " +
			"A conflict is a window in which spans and page cannot both be right: the page was believed.",
		unit: mixedRate, width: 6,
	}, judged,
		query{sum(by, rate(perStep, pick(catalog.SpansUnused, ofEngine))), "spans, {{engine}} {{reason}}"},
		query{sum(catalog.LabelEngine, rate(perStep, pick(catalog.EvidenceConflicts, ofSpans, ofEngine))), "windows, {{engine}} conflict"})
}

// attempts is how often callers try.
func attempts() *timeseries.PanelBuilder {
	of := func(name string) string { return sum("", rate(perStep, pick(name, ofEngine))) }
	return lines(about{
		title: "Requests with a span: attempts, logical requests, and sequences of one token, each second, 5 min and more",
		says: "Attempts above logical requests are tries of the same caller, as far as its traces tell; a caller without traces looks as if it never tried again. " +
			"Sequences of at most one token have no TPOT and meet a clause on it by definition. What did not finish has no span.",
		unit: mixedRate, width: 6,
	}, judged,
		query{of(catalog.RequestAttempts), "attempts, requests"},
		query{of(catalog.LogicalRequests), "logical, requests"},
		query{of(catalog.OneTokenSequences), "one token, sequences"})
}

// arrivals is what became of spans at the door, of all engines: what is refused or unmatched is of none.
func arrivals() *timeseries.PanelBuilder {
	return lines(about{
		title: "Spans that came to the exporters, by outcome, and those of no engine, each second, 4 min and more",
		says: "All engines of the data source together. other_name: not of a request, dropped unread. refused: impossible values. full: no room, the sender was told to come again. " +
			"Of no engine: taken, and matched to none, for the reason in the legend; the runbook of GoodputSpansUnmatched has the remedies. Absent: no spans are taken in.",
		unit: "suffix: spans/s", width: 8,
	}, polled,
		query{sum(catalog.LabelOutcome, rate(perStep, pick(catalog.SpansReceived))), "{{outcome}}"},
		query{sum(catalog.LabelReason, rate(perStep, pick(catalog.SpansUnmatched))), "of no engine, {{reason}}"})
}

// messages is how senders were answered.
func messages() *timeseries.PanelBuilder {
	const by = catalog.LabelProtocol + ", " + catalog.LabelOutcome
	return lines(about{
		title: "Messages with spans to the exporters, by answer, and spans refused, by reason, each second, 4 min and more",
		says: "All engines of the data source together. ok and partial were taken, partial less the spans that were refused. Of the others nothing was taken: unauthorized is a wrong token, too_large is above spans.max_message. " +
			"The exporter's log has an example for each reason of refused spans.",
		unit: mixedRate, width: 8,
	}, polled,
		query{sum(by, rate(perStep, pick(catalog.SpanMessages))), "messages, {{protocol}} {{outcome}}"},
		query{sum(catalog.LabelReason, rate(perStep, pick(catalog.SpansRefused))), "spans refused, {{reason}}"})
}

// buffer is the room at the door.
func buffer() *timeseries.PanelBuilder {
	p := lines(about{
		title: "Spans that wait for the next round, and how many may, all exporters, now",
		says: "Of the fullest and of the smallest buffer of any exporter. At the line, senders are told to come again. " +
			"What waits between two scrapes is not seen; a round empties the buffer.",
		unit: count, width: 8,
	}, polled,
		query{aggregate("max", "", pick(catalog.SpansBuffered)), "waiting, most"},
		query{aggregate("min", "", pick(catalog.SpansBufferSize)), "room, least"})
	dashed(p, "room, least", objectiveColour)
	return p
}
