package kubernetes

import (
	"cmp"
	"fmt"
	"maps"
	"net"
	"slices"
	"strconv"
	"strings"

	"github.com/goodput-exporter/goodput-exporter/collectors/discovery"
)

// Limits on targets: a node has 8 GPUs as a rule, and 256 at the most of what there is. More than that is a selector that fits
// what is no engine, and each would be asked every few seconds.
const (
	maxOfNode    = 256
	maxOfCluster = 8192
	maxSkips     = 100
)

// merged is what is handed out. It is never written to.
type merged struct {
	list    []discovery.Found
	pods    map[State]int
	skipped []Skip
}

// merge joins what has been said of each pod by itself. Of two pods with one address the one that has come last is polled: the
// other is dead, and its address was given away. most bounds the targets; those that came first stay.
func merge(all []*verdict, most int) *merged {
	m := &merged{pods: map[State]int{}}
	slices.SortFunc(all, newest)
	stale := stale(all)
	slices.Reverse(all) // from the oldest: who has been polled goes on
	for _, v := range all {
		state, why := v.state, v.why
		if state == Polled || state == Starting {
			switch {
			case stale[v] != "":
				state, why = Refused, stale[v]
			case len(m.list)+len(v.targets) > most:
				state, why = Refused, fmt.Sprintf("there are %d targets before it, and %d is the most: make the selectors fit engines only", len(m.list), most)
			default:
				m.list = append(m.list, v.targets...)
			}
		}
		m.pods[state]++
		if why != "" {
			m.skipped = append(m.skipped, Skip{title(v.namespace, v.name), state, why})
		}
	}
	slices.SortFunc(m.list, func(a, b discovery.Found) int { return cmp.Compare(a.ID, b.ID) })
	slices.SortFunc(m.skipped, func(a, b Skip) int { return cmp.Compare(a.Pod, b.Pod) })
	if len(m.skipped) > maxSkips {
		m.skipped = m.skipped[:maxSkips]
	}
	return m
}

// newest orders pods by when they were started on their node, the latest first. Times are whole seconds; what they leave open
// is decided by the UID, so that it is decided alike each time.
func newest(a, b *verdict) int {
	return cmp.Or(b.started.Compare(a.started), b.created.Compare(a.created), cmp.Compare(b.uid, a.uid), cmp.Compare(b.name, a.name))
}

// stale says which pods, the newest first, have lost their address to another. Pods of the node's own network share it lawfully, each
// with ports of its own.
func stale(all []*verdict) map[*verdict]string {
	holders := map[string]*verdict{}
	lost := map[*verdict]string{}
	for _, v := range all {
		if v.state != Polled && v.state != Starting {
			continue
		}
		holds := []string{v.ip}
		if v.host {
			holds = holds[:0]
		}
		for _, port := range v.ports {
			holds = append(holds, net.JoinHostPort(v.ip, strconv.Itoa(port)))
		}
		for _, at := range holds {
			if by := holders[at]; by != nil {
				lost[v] = fmt.Sprintf("its address %s is that of %s/%s, which was started later", at, by.namespace, by.name)
				break
			}
		}
		if lost[v] != "" {
			continue
		}
		for _, at := range holds {
			holders[at] = v
		}
	}
	return lost
}

// is reports whether a pod is to be treated as it was before; nil is one that no selector matches.
func (v *verdict) is(was *verdict) bool {
	if v == nil || was == nil {
		return v == was
	}
	return v.uid == was.uid && v.created.Equal(was.created) && v.started.Equal(was.started) && v.host == was.host && v.ip == was.ip &&
		v.state == was.state && v.why == was.why && same(v.targets, was.targets)
}

// same reports whether two lists name the same targets in the same way.
func same(a, b []discovery.Found) bool {
	return slices.EqualFunc(a, b, func(a, b discovery.Found) bool {
		return a.ID == b.ID && a.URL == b.URL && a.Starting == b.Starting && a.From == b.From && maps.Equal(a.Labels, b.Labels)
	})
}

// few names the first of a list, for a log.
func few(ids []string) string {
	const n = 5
	if len(ids) > n {
		return fmt.Sprintf("%s and %d more", strings.Join(ids[:n], ", "), len(ids)-n)
	}
	return strings.Join(ids, ", ")
}
