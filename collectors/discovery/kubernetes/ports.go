package kubernetes

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// maxRange bounds the ports of one range: a pod has no more ranks.
const maxRange = 64

// ports says where in a pod its pages are.
type ports struct {
	names []string // of declared ports; of those that a container has, the first
	spans []span   // numbers and ranges, in the order of the configuration
}

// span is the ports from first to last: one, or the ranks of an engine.
type span struct{ first, last int }

func (s span) holds(port int) bool { return port >= s.first && port <= s.last }

// parsePorts reads names, numbers and ranges.
func parsePorts(list []string) (ports, error) {
	var p ports
	for _, text := range list {
		from, to, isRange := strings.Cut(text, "-")
		first, err := strconv.Atoi(from)
		if err != nil {
			if !portName(text) {
				return p, fmt.Errorf("port %q is neither a name of a port (at most 15 small letters, digits and -), nor a number, nor a range like 8000-8007", text)
			}
			p.names = append(p.names, text)
			continue
		}
		last := first
		if isRange {
			if last, err = strconv.Atoi(to); err != nil {
				return p, fmt.Errorf("port %q is not a range: write 8000-8007", text)
			}
		}
		switch {
		case first < 1 || last > 65535 || last < first:
			return p, fmt.Errorf("port %q is not between 1 and 65535, the smaller first", text)
		case last-first >= maxRange:
			return p, fmt.Errorf("port %q is more than %d ports: write the range of one pod's ranks", text, maxRange)
		}
		p.spans = append(p.spans, span{first, last})
	}
	return p, nil
}

// portName reports whether s is a name that a port of a container may have.
func portName(s string) bool {
	return len(s) <= 15 && dnsLabel(s) && !strings.Contains(s, "--") && strings.ContainsAny(s, "abcdefghijklmnopqrstuvwxyz")
}

// place is one port of one container.
type place struct {
	container *container
	port      int
}

// of finds the ports of a pod. Names and numbers are those that containers declare; of names each container gives one, the first
// of the list. A range is the ranks of an engine: where one of its ports is declared, all are meant. Of a pod that declares no port at
// all the first number or range is taken.
func (p ports) of(containers []*container) []place {
	var all []place
	add := func(c *container, port int) {
		if !slices.ContainsFunc(all, func(x place) bool { return x.port == port }) {
			all = append(all, place{c, port})
		}
	}
	declared := false
	for _, c := range containers {
		declared = declared || len(c.Ports) > 0
		if port, ok := p.named(c); ok {
			add(c, port)
		}
		for _, s := range p.spans {
			if !slices.ContainsFunc(c.Ports, func(x port) bool { return x.tcp() && s.holds(x.Number) }) {
				continue
			}
			for n := s.first; n <= s.last; n++ {
				add(c, n)
			}
		}
	}
	if !declared && len(containers) > 0 && len(p.spans) > 0 {
		for n := p.spans[0].first; n <= p.spans[0].last; n++ {
			add(containers[0], n)
		}
	}
	slices.SortFunc(all, func(a, b place) int { return a.port - b.port })
	return all
}

func (p ports) named(c *container) (int, bool) {
	for _, name := range p.names {
		for _, x := range c.Ports {
			if x.Name == name && x.tcp() {
				return x.Number, true
			}
		}
	}
	return 0, false
}

// allows reports whether a number is one of the configuration.
func (p ports) allows(port int) bool {
	return slices.ContainsFunc(p.spans, func(s span) bool { return s.holds(port) })
}
