package sim

import (
	"math"
)

// front adds the families of the HTTP front end. Before the first response there are no children, only the names.
func (p *page) front(is func(family) bool) {
	h := p.e.http
	handler := p.e.config.Handler
	by := labelled("handler", handler)
	since := func(int) float64 { return p.e.world.config.Start + h.first }
	if is(httpRequests) {
		p.declare(httpRequests)
		var labels []string
		for i := range h.statuses {
			labels = append(labels, labelled("handler", handler, "method", "POST", "status", h.statuses[i].group))
			p.sample(httpRequests.name, labels[i], &h.statuses[i].count)
		}
		if h.seen {
			p.creation(httpRequests, labels, func(i int) float64 { return p.e.world.config.Start + h.statuses[i].since })
		}
	}
	for _, s := range []struct {
		family
		sum *float64
	}{{httpRequestSize, &h.taken}, {httpResponseSize, &h.sent}} {
		if !is(s.family) {
			continue
		}
		p.declare(s.family)
		if h.seen {
			p.sample(s.name+"_count", by, &h.responses)
			p.sample(s.name+"_sum", by, s.sum)
			p.creation(s.family, []string{by}, since)
		}
	}
	if is(httpDurationFine) {
		p.declare(httpDurationFine)
		p.histogram(httpDurationFine.name, h.fine)
		p.creation(httpDurationFine, []string{""}, p.atBoot)
		p.declare(httpDuration)
		if h.seen {
			p.histogram(httpDuration.name, h.coarse, "handler", handler, "method", "POST")
			p.creation(httpDuration, []string{labelled("handler", handler, "method", "POST")}, since)
		}
	}
}

// process adds what prometheus_client says of the Python process. Of these only the start time means something here;
// the rest is there because it is on a real page.
func (p *page) process() {
	e := p.e
	generation := func(f family, values [3]func() float64) {
		p.declare(f)
		for i, v := range values {
			head := f.name + labelled("generation", string(rune('0'+i))) + " "
			p.parts = append(p.parts, func(b []byte) []byte {
				return append(appendValue(append(b, head...), v()), '\n')
			})
		}
	}
	grows := func(base, per float64) func() float64 {
		return func() float64 { return base + math.Floor(per*e.http.responses) }
	}
	zero := grows(0, 0)
	generation(family{name: "python_gc_objects_collected_total", kind: "counter", help: "Objects collected during gc"}, [3]func() float64{grows(14723, 3.7), grows(3351, 0.6), grows(1011, 0)})
	generation(family{name: "python_gc_objects_uncollectable_total", kind: "counter", help: "Uncollectable objects found during GC"}, [3]func() float64{zero, zero, zero})
	generation(family{name: "python_gc_collections_total", kind: "counter", help: "Number of times this generation was collected"}, [3]func() float64{grows(1200, 0.34), grows(108, 0.03), grows(11, 0)})

	read := func(name, kind, help string, value func() float64) {
		p.declareAs(name, help, kind)
		p.parts = append(p.parts, func(b []byte) []byte {
			return append(appendValue(append(b, name+" "...), value()), '\n')
		})
	}
	constant := func(v float64) func() float64 { return func() float64 { return v } }
	p.declareAs("python_info", "Python platform information", "gauge")
	p.fixed("python_info", labelled("implementation", "CPython", "major", "3", "minor", "11", "patchlevel", "7", "version", "3.11.7"), 1)
	read("process_virtual_memory_bytes", "gauge", "Virtual memory size in bytes.", constant(4.88454144e9))
	read("process_resident_memory_bytes", "gauge", "Resident memory size in bytes.", constant(1.096630272e9))
	read("process_start_time_seconds", "gauge", "Start time of the process since unix epoch in seconds.", constant(math.Round((p.created-loading)*100)/100))
	read("process_cpu_seconds_total", "counter", "Total user and system CPU time spent in seconds.", func() float64 {
		return math.Round((21+0.02*e.http.responses)*100) / 100
	})
	read("process_open_fds", "gauge", "Number of open file descriptors.", func() float64 { return float64(35 + len(e.inFlight)) })
	read("process_max_fds", "gauge", "Maximum number of open file descriptors.", constant(20000))
}

// loading is from the start of a process to the creation of its metrics, seconds: a model that is loaded from a local
// disk. A process that was down for less had it in its page cache; the timestamps only have to lie in that order.
const loading = 4
