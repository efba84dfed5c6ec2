package fold

import (
	"cmp"
	"maps"
	"net/netip"
	"slices"

	"github.com/goodput-exporter/goodput-exporter/exporter/fact"
)

// Matcher tells which target a span is of, by what its resource and its sender's address say. It asks nobody: names are
// not resolved. What it cannot tell it does not guess. The zero Matcher is ready; not for concurrent use.
type Matcher struct {
	places   map[string]*place // by id of the target
	leaving  map[string]*place // of targets that have gone and whose spans are still of use, likewise
	uids     map[string][]*place
	names    map[string][]*place // by name of the pod, of whatever namespace
	hosts    map[netip.Addr][]*place
	unplaced int                // targets that are at no known address: they may be at any
	saysUID  bool               // some target that has not gone says the uid of its pod
	saysName bool               // likewise, its name
	left     map[string]float64 // when targets went, by id, of those whose spans may still come
	memory   memory
}

// lingering is for how long spans of a target that went may still come, in seconds: for five minutes an OpenTelemetry
// Collector tries to hand on what it holds (retry_on_failure.max_elapsed_time), longer than the exporters in an engine do.
const lingering = 300

// Match says which of the targets a span of an origin is of and how that is told (ByEngine and so on), or else why it
// cannot be told. It is given all targets that there are at the time, and remembers between calls which process was matched
// to what.
func (m *Matcher) Match(targets []fact.Target, o *fact.Origin, at float64) (target, how, why string) {
	m.know(targets, nil, at)
	return m.match(o, at)
}

func (m *Matcher) match(o *fact.Origin, at float64) (target, how, why string) {
	p, how, why := m.tell(o, m.memory.recall(o.Instance, at), at)
	if p == nil {
		return "", "", why
	}
	switch how {
	case ByEngine, ByPod, ByAddress:
		m.memory.keep(o, p, how, at)
	}
	return p.id, how, ""
}

// tell matches an origin whose process was matched before to known, or to nothing.
//
// What a span says of itself goes before what was learnt of its process, and that helps where the address tells nothing. If
// it tells something else, either it is not the sender's own (a Collector's that is beside another engine) or the process
// is not the one that was known (replicas that were given one service.instance.id): which cannot be told.
//
// A target that has gone is told by its name, its pod and its process, and not by its address, which may be another's.
func (m *Matcher) tell(o *fact.Origin, known *place, at float64) (p *place, how, why string) {
	if len(m.places) == 0 {
		defer func() {
			if p == nil {
				why = UnmatchedNoTarget
			}
		}()
	}
	if o.Engine != "" {
		if p := cmp.Or(m.places[o.Engine], m.leaving[o.Engine]); p != nil {
			return p, ByEngine, ""
		}
		return nil, "", UnmatchedEngine
	}
	among, other := m.ofPod(o)
	switch {
	case len(among) == 1:
		return among[0], ByPod, ""
	case other:
		return nil, "", UnmatchedPod
	}
	if len(among) > 0 && !slices.Contains(among, known) {
		known = nil
	}
	here, sure := m.atAddress(o.Peer, among)
	switch {
	case sure && (known == nil || known == here[0]):
		return here[0], ByAddress, ""
	case sure:
		return nil, "", UnmatchedAmbiguous
	case known != nil:
		return known, ByInstance, ""
	case len(among) > 1 || len(here) > 0 && len(m.places) > 1:
		return nil, "", UnmatchedAmbiguous
	}
	if p := m.only(at); p != nil {
		return p, ByOnly, ""
	}
	return nil, "", UnmatchedNothing
}

// only is the sole target, nil while there are several, or while spans of one that was there beside it may still come.
func (m *Matcher) only(at float64) (sole *place) {
	if len(m.places) != 1 || len(m.leaving) > 0 {
		return nil
	}
	for _, when := range m.left {
		if at-when <= lingering {
			return nil
		}
	}
	for _, p := range m.places {
		sole = p
	}
	return sole
}

// ofPod lists the targets of the pod that an origin names; other reports that it names one which is no target's. A target
// that does not say what pod it is of may be of any; a name without a namespace is the same in all of them.
func (m *Matcher) ofPod(o *fact.Origin) (among []*place, other bool) {
	if o.PodUID != "" {
		if among = m.uids[o.PodUID]; len(among) > 0 {
			return among, false
		}
		other = m.saysUID
	}
	if o.PodName == "" {
		return nil, other
	}
	for _, p := range m.names[o.PodName] {
		sameUID := o.PodUID == "" || p.uid == ""
		if sameUID && (o.PodNamespace == "" || p.namespace == "" || o.PodNamespace == p.namespace) {
			among = append(among, p)
		}
	}
	return among, len(among) == 0 && (other || m.saysName)
}

// atAddress lists the targets at the address of a sender, of all or of some. It is sure of a sole one while every other is
// known to be elsewhere.
func (m *Matcher) atAddress(peer string, among []*place) (here []*place, sure bool) {
	host := parseHost(peer)
	if !host.IsValid() {
		return nil, false
	}
	here = m.hosts[host]
	if len(among) == 0 {
		return here, len(here) == 1 && m.unplaced == 0
	}
	unplaced := slices.ContainsFunc(among, func(p *place) bool { return !p.host.IsValid() || p.host == host && m.leaving[p.id] == p })
	here = slices.DeleteFunc(slices.Clone(here), func(p *place) bool { return !slices.Contains(among, p) })
	return here, len(here) == 1 && !unplaced
}

// know takes in the targets that there are now, and those that have gone and are to be told still. What was learnt of a
// target ends with it, or when it becomes another, and when others come that it would not have been learnt beside.
func (m *Matcher) know(targets, leaving []fact.Target, at float64) {
	if allOf(m.places, targets) && allOf(m.leaving, leaving) {
		return
	}
	before, gone := m.places, m.leaving
	m.places, m.leaving, m.unplaced = make(map[string]*place, len(targets)), make(map[string]*place, len(leaving)), 0
	m.uids, m.names, m.hosts = map[string][]*place{}, map[string][]*place{}, map[netip.Addr][]*place{}
	known := func(t *fact.Target) *place {
		for _, p := range [...]*place{before[t.ID], gone[t.ID]} {
			if p != nil && p.is(t) {
				return p
			}
		}
		return newPlace(t)
	}
	for i := range targets {
		p := known(&targets[i])
		m.places[p.id] = p
		m.addPod(p)
		if p.host.IsValid() {
			m.hosts[p.host] = append(m.hosts[p.host], p)
		} else {
			m.unplaced++
		}
	}
	m.saysUID, m.saysName = len(m.uids) > 0, len(m.names) > 0
	for i := range leaving {
		p := known(&leaving[i])
		m.leaving[p.id] = p
		m.addPod(p)
	}
	m.depart(before, at)
	m.memory.forget(func(r *recollection) bool {
		if m.leaving[r.place.id] == r.place {
			return false
		}
		p, _, _ := m.tell(r.origin, nil, at)
		return p != r.place
	})
}

// allOf reports whether places are those of the targets, and of no others.
func allOf(places map[string]*place, targets []fact.Target) bool {
	for i := range targets {
		if p := places[targets[i].ID]; p == nil || !p.is(&targets[i]) {
			return false
		}
	}
	return len(places) == len(targets)
}

func (m *Matcher) addPod(p *place) {
	if p.uid != "" {
		m.uids[p.uid] = append(m.uids[p.uid], p)
	}
	if p.name != "" {
		m.names[p.name] = append(m.names[p.name], p)
	}
}

// depart notes which targets went, and lets go of those that came back and those of which nothing can come any more.
func (m *Matcher) depart(before map[string]*place, at float64) {
	if m.left == nil {
		m.left = map[string]float64{}
	}
	for id := range before {
		m.left[id] = at
	}
	maps.DeleteFunc(m.left, func(id string, when float64) bool { return m.places[id] != nil || at-when > lingering })
}
