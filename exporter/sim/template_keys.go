package sim

// valueKey is a number of a template.
type valueKey struct {
	value func(*endpoint) float64
	own   bool // it appears with its own first count, else with the first token of any sequence
	real  bool // the library holds it as a real number
}

func ofStats(f func(*stats) float64) valueKey {
	return valueKey{value: func(e *endpoint) float64 { return f(e.ranks[0].stats) }}
}

func ofReason(i int) valueKey {
	k := ofStats(func(s *stats) float64 { return s.success[i] })
	k.own = true
	return k
}

func ofStatus(group string) valueKey {
	return valueKey{own: true, value: func(e *endpoint) float64 {
		for _, s := range e.http.statuses {
			if s.group == group {
				return s.count
			}
		}
		return 0
	}}
}

var valueKeys = map[string]valueKey{
	"running":        ofStats(func(s *stats) float64 { return s.running }),
	"waiting":        ofStats(func(s *stats) float64 { return s.waiting }),
	"usage":          {real: true, value: func(e *endpoint) float64 { return e.ranks[0].stats.usage }},
	"preemptions":    ofStats(func(s *stats) float64 { return s.preemptions }),
	"prompt_tokens":  ofStats(func(s *stats) float64 { return s.promptTokens }),
	"output_tokens":  ofStats(func(s *stats) float64 { return s.outputTokens }),
	"queries":        ofStats(func(s *stats) float64 { return s.queries }),
	"hits":           ofStats(func(s *stats) float64 { return s.hits }),
	"computed":       ofStats(func(s *stats) float64 { return s.computedTokens }),
	"cached":         ofStats(func(s *stats) float64 { return s.cachedTokens }),
	"zero":           ofStats(func(*stats) float64 { return 0 }),
	"success.stop":   ofReason(0),
	"success.length": ofReason(1),
	"success.abort":  ofReason(2),
	"success.error":  ofReason(3),
	"http.2xx":       ofStatus("2xx"),
	"http.4xx":       ofStatus("4xx"),
	"http.5xx":       ofStatus("5xx"),
	"boot":           {real: true, value: func(e *endpoint) float64 { return e.world.config.Start + e.booted }},
}

func histogramOf(f func(*stats) *histogram) func(*endpoint) *histogram {
	return func(e *endpoint) *histogram { return f(e.ranks[0].stats) }
}

var histogramKeys = map[string]func(*endpoint) *histogram{
	"ttft":        histogramOf(func(s *stats) *histogram { return s.ttft }),
	"gaps":        histogramOf(func(s *stats) *histogram { return s.gaps }),
	"tpot":        histogramOf(func(s *stats) *histogram { return s.tpot }),
	"e2e":         histogramOf(func(s *stats) *histogram { return s.e2e }),
	"queue":       histogramOf(func(s *stats) *histogram { return s.queue }),
	"inference":   histogramOf(func(s *stats) *histogram { return s.inference }),
	"prefill":     histogramOf(func(s *stats) *histogram { return s.prefill }),
	"decode":      histogramOf(func(s *stats) *histogram { return s.decode }),
	"prompt":      histogramOf(func(s *stats) *histogram { return s.prompt }),
	"output":      histogramOf(func(s *stats) *histogram { return s.output }),
	"iteration":   histogramOf(func(s *stats) *histogram { return s.iteration }),
	"longest":     histogramOf(func(s *stats) *histogram { return s.longest }),
	"params":      histogramOf(func(s *stats) *histogram { return s.params }),
	"max_tokens":  histogramOf(func(s *stats) *histogram { return s.maxTokens }),
	"preempts":    histogramOf(func(s *stats) *histogram { return s.preempts }),
	"kv_computed": histogramOf(func(s *stats) *histogram { return s.kvComputed }),
	"fine":        func(e *endpoint) *histogram { return e.http.fine },
	"coarse":      func(e *endpoint) *histogram { return e.http.coarse },
}
