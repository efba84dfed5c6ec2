package kubernetes

import (
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/goodput-exporter/goodput-exporter/collectors/discovery"
	"github.com/goodput-exporter/goodput-exporter/exporter/fact"
)

// rules are a configuration that has been read.
type rules struct {
	selectors   []selector
	ports       ports
	path        string
	scheme      string
	annotations bool
}

// verdict is what became of a selected pod, by itself.
type verdict struct {
	namespace, name, uid string
	created, started     time.Time // of the pod, and on its node
	host                 bool      // it has the node's address
	ip                   string

	state   State
	why     string // it is not polled; "" when it is, or has ended
	targets []discovery.Found
	ports   []int                // of targets
	ready   map[string]time.Time // containers that have been ready, and when what was ready then had started
}

// judge says what becomes of a pod, and whether a selector matches it at all. before is what was said of it last; nil at first.
func (r *rules) judge(p *pod, before *verdict) (*verdict, bool) {
	m := &p.Metadata
	if m.Labels[optIn] == "false" || !slices.ContainsFunc(r.selectors, func(s selector) bool { return s.matches(m.Labels) }) {
		return nil, false
	}
	v := &verdict{
		namespace: m.Namespace, name: m.Name, uid: m.UID, created: m.Created.Time, started: p.Status.Started.Time,
		host: p.Spec.HostNetwork, ready: p.wereReady(before),
	}
	v.state, v.why = r.settle(p, v)
	return v, true
}

// settle fills in the targets of a pod, or says why there are none.
func (r *rules) settle(p *pod, v *verdict) (State, string) {
	switch {
	case !p.Metadata.Deleted.IsZero():
		return Terminating, ""
	case p.Status.Phase == "Succeeded" || p.Status.Phase == "Failed":
		return Ended, ""
	case !dnsLabel(v.namespace) || !dnsName(v.name):
		return Refused, "its name is none that a pod may have"
	case p.Status.IP == "":
		return Pending, "it has no address yet"
	}
	ip, err := address(p.Status.IP)
	if err != nil {
		return Refused, err.Error()
	}
	v.ip = ip
	where, state, why := r.where(p)
	if why != "" {
		return state, why
	}
	for _, at := range where.places {
		st := p.status(at.container.Name)
		if state, why = p.running(at.container.Name, st); state != Polled {
			continue
		}
		v.targets = append(v.targets, r.target(p, v, where, at, st))
		v.ports = append(v.ports, at.port)
	}
	switch {
	case len(v.targets) == 0:
		return state, why
	case slices.ContainsFunc(v.targets, func(f discovery.Found) bool { return !f.Starting }):
		return Polled, ""
	}
	return Starting, ""
}

// running says what is going on in a container: Polled where something runs there, or should.
func (p *pod) running(name string, st containerStatus) (State, string) {
	never := p.Spec.RestartPolicy == "Never"
	switch {
	case st.State.Terminated != nil && (never || p.Spec.RestartPolicy == "OnFailure" && st.State.Terminated.Code == 0):
		return Ended, "" // other containers of the pod may go on
	case st.State.Running != nil || p.Status.Phase == "Running":
		return Polled, "" // a container that has crashed, and is about to be started again, is an outage
	}
	return Pending, fmt.Sprintf("its container %s does not run yet (the pod is in phase %s)", name, word(p.Status.Phase))
}

// target is the page at one port.
func (r *rules) target(p *pod, v *verdict, where where, at place, st containerStatus) discovery.Found {
	port := strconv.Itoa(at.port)
	return discovery.Found{
		Target: fact.Target{
			ID:       v.namespace + "." + v.name + ":" + port,
			URL:      where.scheme + "://" + net.JoinHostPort(v.ip, port) + where.path,
			Labels:   p.identity(at.container),
			Starting: p.starting(at.container.Name, st, v.ready),
		},
		From: "pod " + v.namespace + "/" + v.name,
	}
}

// address is a pod's own address. What no pod has of itself is refused, whoever wrote it there: the cloud's metadata is at such a one.
func address(text string) (string, error) {
	ip, err := netip.ParseAddr(text)
	if err != nil || ip.Zone() != "" {
		return "", fmt.Errorf("its address is none")
	}
	ip = ip.Unmap()
	if ip.IsUnspecified() || ip.IsLoopback() || ip.IsLinkLocalUnicast() || ip.IsMulticast() || ip == netip.AddrFrom4([4]byte{255, 255, 255, 255}) {
		return "", fmt.Errorf("its address %s is not one of a pod: loopback, link-local and multicast addresses are not polled", ip)
	}
	return ip.String(), nil
}

// word is a word of the API server's, for people.
func word(s string) string {
	if s == "" || len(s) > 32 || strings.ContainsFunc(s, func(r rune) bool { return r > 127 || !alnum(byte(r)) }) {
		return "unknown"
	}
	return s
}
