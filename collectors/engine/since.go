package engine

import "github.com/goodput-exporter/goodput-exporter/exporter/fact"

// Since is the first engine version whose page has a latency family, whatever it is called there; "" when every
// version that a dialect knows has it.
func Since(f fact.Family) string {
	first := ""
	for _, a := range aliases {
		if a.field != field(f) {
			continue
		}
		for i, s := range a.names {
			if i == 0 || older(s.first, first) {
				first = s.first
			}
		}
	}
	return first
}
