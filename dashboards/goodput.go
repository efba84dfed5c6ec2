package dashboards

// goodputBoard answers whether the promise is kept, by how much, and by whom it is broken.
func goodputBoard() *builder {
	return frame(GoodputUID, "Goodput",
		"Are we keeping the promise? Shares are intervals: the truth lies between lower and upper. Made from goodput-exporter's series and recording rules.").
		WithVariable(modelChoice()).
		WithVariable(sloChoice()).
		WithPanel(promiseTable()).
		WithRow(section("Objective $slo: is it kept?", "slo")).
		WithPanel(threeRates()).
		WithPanel(shareOverTime()).
		WithPanel(violations()).
		WithPanel(budgetLeft()).
		WithPanel(tokenGoodput()).
		WithPanel(wastedTokens()).
		WithPanel(classesOverTime()).
		WithRow(section("Who misses and why, and where the requests went", "")).
		WithPanel(losers()).
		WithPanel(rangeLedger()).
		WithPanel(clauseShares()).
		WithRow(section("How exact it is, and for which class of requests", "")).
		WithPanel(exactness()).
		WithPanel(classTable()).
		WithPanel(classThresholds()).
		WithRow(section("Percentiles of model $model over all its engines", "model")).
		WithPanel(fleetQuantiles("ttft", "TTFT of sequences that had a first token")).
		WithPanel(fleetQuantiles("tpot", "TPOT of finished sequences")).
		WithPanel(fleetQuantiles("e2e", "End-to-end latency of finished sequences")).
		WithPanel(fleetGaps()).
		WithPanel(fleetCoverage()).
		WithRow(section("What fires", "")).
		WithPanel(firing())
}
