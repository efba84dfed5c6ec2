package dashboards

// engineBoard shows everything that is known of an engine, and how far it can be trusted.
func engineBoard() *builder {
	b := frame(EngineUID, "Goodput: engine",
		"One engine or a few, from the front door to the exporter that watches it. Of several engines counts are added; shares and percentiles never are.").
		WithVariable(modelChoice()).
		WithVariable(engineChoice()).
		WithVariable(sloChoice()).
		WithRow(section("Which engines, and are they there", "")).
		WithPanel(identity()).
		WithPanel(presence()).
		WithRow(section("Where the requests went, all chosen engines together", "")).
		WithPanel(ledgerStack()).
		WithPanel(engineLedger()).
		WithPanel(finishReasons()).
		WithPanel(unexplained()).
		WithRow(section("Latency of engine $engine", "engine")).
		WithPanel(engineQuantiles("ttft", "TTFT of sequences that had a first token")).
		WithPanel(engineQuantiles("tpot", "TPOT of finished sequences")).
		WithPanel(engineQuantiles("e2e", "End-to-end latency of finished sequences")).
		WithPanel(attribution()).
		WithPanel(engineGaps()).
		WithRow(section("Load", "")).
		WithPanel(batch()).
		WithPanel(kvUsage()).
		WithPanel(preemptions()).
		WithPanel(tokenThroughput()).
		WithPanel(lengthMix()).
		WithPanel(finishedTokens()).
		WithRow(section("GPUs under the engines", "")).
		WithPanel(engineGPUHeld()).
		WithPanel(engineGPUActivity()).
		WithPanel(engineGPUPower()).
		WithPanel(engineGPUMemory()).
		WithPanel(engineGPUThrottle()).
		WithPanel(engineJoules()).
		WithPanel(engineGPUErrors()).
		WithRow(section("Evidence of spans, all chosen engines", "")).
		WithPanel(completeness()).
		WithPanel(matched()).
		WithPanel(unused()).
		WithPanel(attempts()).
		WithPanel(arrivals()).
		WithPanel(messages()).
		WithPanel(buffer())
	for _, l := range spanLatencies {
		b.WithPanel(atThresholds(l.histogram, l.what))
	}
	for _, l := range spanLatencies {
		b.WithPanel(distribution(l.histogram, l.what))
	}
	return b.WithRow(section("Can it be trusted", "")).
		WithPanel(coverage()).
		WithPanel(layouts()).
		WithPanel(doubts()).
		WithPanel(unanswerableSLOs()).
		WithPanel(unanswerableLedgers()).
		WithPanel(contracts()).
		WithRow(section("What watching costs", "")).
		WithPanel(polls()).
		WithPanel(pollFailures()).
		WithPanel(seriesCost()).
		WithPanel(roundTime()).
		WithPanel(roundsMissed()).
		WithPanel(versions()).
		WithPanel(configuration()).
		WithRow(section("How engines are found among pods", "")).
		WithPanel(found()).
		WithPanel(followed()).
		WithPanel(heard())
}
