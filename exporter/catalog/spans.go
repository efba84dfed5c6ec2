package catalog

const (
	fromSpans = "the llm_request spans that the engine sends"
	// What spans say of an engine or an objective is on the page once an engine has sent one.
	onceSpansCame = "Absent until a span of the engine has come"
	whileTaken    = "Absent while no spans are taken in"
	sinceTaken    = "cumulative since the exporter started"
)

// spanSeries is what became of spans on their way from the wire to a verdict.
func spanSeries() []Series {
	engine := []string{LabelEngine}
	model := []string{LabelModel}
	return in(GroupSpans,
		Series{
			Name: SpansReceived, Kind: Counter, Unit: "spans", Stability: Experimental, Labels: []string{LabelOutcome},
			What: "Spans that were read from the wire, by what became of them at the door: taken, other_name (not a span of a request: dropped unread), " +
				"refused (its values cannot be true, see " + SpansRefused + ") or full (no room: the sender was told to come again, and a span that does is counted again). " + whileTaken + ".",
			Population: "spans of all senders, whatever engine they are of; what never arrived is not counted", Window: sinceTaken,
		},
		Series{
			Name: SpansRefused, Kind: Counter, Unit: "spans", Stability: Experimental, Labels: []string{LabelReason},
			What: "Spans of a request that were refused because their values cannot be true; the sequence counts as unseen. The reason is missing (an attribute is not there, or is no number), negative (a duration below zero), " +
				"infinite (a value that is not a finite number), part (a part lasts longer than the whole), long (the request lasts longer than its span), tokens (a number of tokens that no request has), " +
				"time (begins at no time, or more than a day from now, or ends more than a minute after it came), identity (no trace or span id), sequences (stands for several sequences and does not tell their own values), size (more attributes than are read) or other. " +
				"The log shows one example for each. " + whileTaken + ".",
			Population: "refused spans of all senders", Window: sinceTaken,
		},
		Series{
			Name: SpanMessages, Kind: Counter, Unit: "messages", Stability: Experimental, Labels: []string{LabelProtocol, LabelOutcome},
			What: "Messages with spans, by protocol (http or grpc) and by how they were answered: ok, partial (some spans were not taken, and the sender was told), " +
				"or not taken at all: too_large, malformed, unsupported, unauthorized, full (no room; the sender was told to come again), busy (too many at once; told to come again), broken (did not arrive whole, or not in time) or other. " + whileTaken + ".",
			Population: "OTLP export requests", Window: sinceTaken,
		},
		Series{
			Name: SpansBuffered, Kind: Gauge, Unit: "spans", Stability: Experimental,
			What: "Spans that wait for the next round. " + whileTaken + ".",
		},
		Series{
			Name: SpansBufferSize, Kind: Gauge, Unit: "spans", Stability: Experimental,
			What: "How many spans may wait for the next round: spans.buffer. " + whileTaken + ".",
		},
		Series{
			Name: SpansMatched, Kind: Counter, Unit: "spans", Stability: Experimental, Labels: []string{LabelEngine, LabelBy},
			What: "Spans that were matched to the engine, by what told that they are its: engine (the resource attribute goodput.engine), pod (k8s.pod.uid or k8s.pod.name), " +
				"instance (its process was matched before), address (the sender's) or only (there is one target, and nothing contradicts it). " + onceSpansCame + ".",
			Population: "spans of requests, each one finished sequence", Window: sinceFirstSeen,
		},
		Series{
			Name: SpansUnmatched, Kind: Counter, Unit: "spans", Stability: Experimental, Labels: []string{LabelReason},
			What: "Spans that were matched to no engine and so say nothing: their sequences count as unseen. The reason is engine (goodput.engine names no target), pod (no target is of its pod), " +
				"ambiguous (several targets are of its pod or at its address), nothing (nothing on it tells which of several targets it is of) or no_target (there is none). " +
				"The log and the status page say where they came from. Absent until there is one.",
			Population: "spans of requests, each one finished sequence", Window: sinceTaken,
		},
		Series{
			Name: SpansUnused, Kind: Counter, Unit: "spans", Stability: Experimental, Labels: []string{LabelEngine, LabelReason},
			What: "Spans of the engine that are in no window's verdict. The reason is late (their window had been committed: unseen there), outside (they ended when no window was open: before the first page " +
				"or between two processes), duplicate (came before) or dropped (more than is kept for one engine or for all: unseen). " + onceSpansCame + ".",
			Population: "matched spans, each one finished sequence", Window: sinceFirstSeen,
		},
		Series{
			Name: OneTokenSequences, Kind: Counter, Unit: "sequences", Stability: Experimental, Labels: engine, Maybe: model,
			What:       "Sequences with a span that had at most one output token: they have no TPOT, and meet a clause on it by definition. " + onceSpansCame + ".",
			Population: "finished sequences with a span", Window: sinceFirstSeen, Source: fromSpans,
		},
		Series{
			Name: RequestAttempts, Kind: Counter, Unit: "requests", Stability: Experimental, Labels: engine, Maybe: model,
			What:       "Requests with a span, as the engine counts them: each try of a caller is one, and the n sequences of a request are one. " + onceSpansCame + ".",
			Population: "finished requests with a span", Window: spanWindow, Source: fromSpans,
		},
		Series{
			Name: LogicalRequests, Kind: Counter, Unit: "requests", Stability: Experimental, Labels: engine, Maybe: model,
			What: "Of " + RequestAttempts + " those that are no further try of another in the same window, as the trace of the caller and a prompt of the same length tell. " +
				"A caller that sends no trace cannot be seen trying again: then the two are equal. " + onceSpansCame + ".",
			Population: "finished requests with a span, by trace", Window: spanWindow, Source: fromSpans,
		},
	)
}

// spanHistograms are the exact latencies of the sequences that have a span.
func spanHistograms() []Series {
	row := func(name, what string) Series {
		return Series{
			Name: name, Kind: Histogram, Unit: "seconds", Stability: Experimental,
			What: what + ". A native histogram (schema 3: buckets 9 % wide) for a scraper that takes those, and a classic one with an edge at each threshold of the objectives, " +
				"where the share is exact. Its buckets carry traces as exemplars. It begins anew when the thresholds change. " + onceSpansCame + ".",
			Population: "sequences with a span, also those whose window had been committed; of what has no span it says nothing",
			Window:     "cumulative since the created timestamp", Failures: "what never finished has no span", Source: fromSpans,
			Labels: []string{LabelEngine}, Maybe: []string{LabelModel},
		}
	}
	return []Series{
		row(SpanTTFT, "Time from arrival to first token"),
		row(SpanTPOT, "Time per output token after the first, the mean of one sequence; sequences of one token have none and are left out"),
		row(SpanE2E, "Time from arrival to last token"),
	}
}
