package catalog

import "slices"

const (
	httpRequests = "HTTP requests to generating handlers of the endpoint"
	perWindow    = "cumulative since the exporter first saw the engine; moves when a judgement window is committed"
)

func ledgerSeries() []Series {
	row := func(base, what, failures, source string, labels ...string) []Series {
		return interval(base, Series{
			What: what, Unit: "requests", Population: httpRequests, Window: perWindow, Failures: failures, Source: source,
			Labels: append([]string{LabelEngine}, labels...), Maybe: []string{LabelModel}, Stability: Stable,
		})
	}
	rows := slices.Concat(
		row(RequestsArrived, "requests that reached the engine's front door: offered work",
			"all included, whatever became of them", fromHTTP+", "+fromRunning+" and "+fromWaiting),
		row(RequestsFinished, "requests that ended with all their sequences, whatever the finish reason",
			"failed, cancelled, rejected and lost requests are in the series of those names", fromParamsN),
		row(RequestsFailed, "requests that the service failed: 5xx answers other than admission refusals, and finish reason error",
			"only these", fromHTTP+" and "+fromReasons),
		row(RequestsCancelled, "requests that the client gave up",
			"only these; who gave up, client or proxy, is not known", fromHTTP+", "+fromParamsN+" and "+fromReasons),
		row(RequestsRejected, "requests that were refused before they reached the engine",
			"only these", "vllm:admission_rejections_total and "+fromHTTP, LabelBy),
		row(RequestsLost, "requests that were in flight at the last page of a process that is gone",
			"only these", fromRunning+" and "+fromWaiting),
		row(RequestsUnexplained, "requests on which two independent counts of the page disagree: 0 on a page that tells the truth",
			"not applicable", fromReasons+", "+fromParamsN+" and the counts of the histograms"),
	)
	rows = append(rows,
		Series{
			Name: RequestsInFlight, Kind: Gauge, Unit: "sequences", Stability: Stable,
			What:       "Sequences in the engine now, by stage. Absent once the page is too old to be true now.",
			Population: sequences,
			Source:     fromWaiting + " (queue) and " + fromRunning + " (running), which lag by up to one engine step",
			Labels:     []string{LabelEngine, LabelStage}, Maybe: []string{LabelModel},
		},
		Series{
			Name: LedgerUnanswerable, Kind: Info, Stability: Experimental,
			What:   "Why the ledger of an engine cannot be kept, always 1. While it is there, counters of the ledger are absent or stand still: that says nothing about the traffic.",
			Labels: []string{LabelEngine, LabelReason},
		},
	)
	return in(GroupLedger, rows...)
}
