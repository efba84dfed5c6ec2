package sim

// httpStats is what the front end's instrumentation counts: prometheus_fastapi_instrumentator, of one handler.
type httpStats struct {
	statuses     []httpStatus // in the order in which they were first seen
	first        float64      // when the first response was counted, seconds since the world's start
	seen         bool
	sent, taken  float64 // bytes of bodies whose length was declared
	responses    float64
	fine, coarse *histogram // seconds from the arrival to the end of the response
}

type httpStatus struct {
	group string // "2xx" to "5xx"
	count float64
	since float64
}

// Edges of the instrumentation's two duration histograms.
var (
	fineEdges   = []float64{0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 1.5, 2, 2.5, 3, 3.5, 4, 4.5, 5, 7.5, 10, 30, 60}
	coarseEdges = []float64{0.1, 0.5, 1}
)

func newHTTPStats() *httpStats {
	return &httpStats{fine: newHistogram(fineEdges), coarse: newHistogram(coarseEdges)}
}

// count notes a response at its end.
func (h *httpStats) count(r *request, status int, now float64) {
	if !h.seen {
		h.seen, h.first = true, now
	}
	h.status(status, now).count++
	h.responses++
	h.taken += float64(240 + 5*r.sequences[0].prompt) // the body's length: about five bytes a token, and the parameters
	if status >= 400 {
		h.sent += 152 // an error's; a stream declares no length
	}
	h.fine.observe(now - r.arrived)
	h.coarse.observe(now - r.arrived)
}

func (h *httpStats) status(status int, now float64) *httpStatus {
	group := string(rune('0'+status/100)) + "xx"
	for i := range h.statuses {
		if h.statuses[i].group == group {
			return &h.statuses[i]
		}
	}
	h.statuses = append(h.statuses, httpStatus{group: group, since: now})
	return &h.statuses[len(h.statuses)-1]
}
