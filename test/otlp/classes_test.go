package otlp

import (
	"context"
	"testing"
	"time"

	"go.opentelemetry.io/otel/attribute"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
)

// TestClassesAndRetries: what a sender writes into an attribute decides a class and never makes a label, and tries under one
// trace are one request.
func TestClassesAndRetries(t *testing.T) {
	e := newEngine(t)
	to := serve(t, settings{engines: map[string]*engine{"a": e}, slo: "classes: {by: attribute, attribute: tenant, list: [{name: gold, values: [acme]}, {name: free, values: [hobby]}]}"})
	load := calls(17, 400, 11*time.Second)
	tenants := []string{"acme", "hobby", "nobody-in-the-list"}
	senders := map[string]*tracer{}
	for _, tenant := range tenants {
		senders[tenant] = newTracer(t, wire{}.client(to), sdktrace.AlwaysSample(), attribute.String("goodput.engine", "a"), attribute.String("tenant", tenant))
	}
	load[101].prompt = load[100].prompt // of a caller that tries two times, at once
	again := caller(true)
	of, seen, good := map[*call]string{}, map[string]float64{}, map[string]float64{}
	for i := range load {
		class := []string{"gold", "free", "other"}[i%3]
		of[&load[i]] = tenants[i%3]
		seen[class]++
		if load[i].qualifies() {
			good[class]++
		}
	}
	e.serve(load, func(c *call, start time.Time) {
		ctx := context.Background()
		if c == &load[100] || c == &load[101] {
			ctx = again
		}
		senders[of[c]].report(ctx, c, start)
	})
	for _, s := range senders {
		s.close(t)
	}
	s := to.committed(t, "a", len(load))
	exact(t, s, "a", load)
	for class := range seen {
		for _, end := range []string{"lower", "upper"} {
			s.want(t, seen[class], "goodput_slo_class_requests_"+end+"_total", label("class", class))
			s.want(t, good[class], "goodput_slo_class_qualified_requests_"+end+"_total", label("class", class))
		}
	}
	s.want(t, 0, "goodput_slo_class_requests_upper_total", label("class", "nobody-in-the-list"))
	s.want(t, float64(len(load)), "goodput_request_attempts_total")
	s.want(t, float64(len(load)-1), "goodput_logical_requests_total")
}
