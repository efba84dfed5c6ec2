package fold

import (
	"net/netip"
	"strings"

	"github.com/goodput-exporter/goodput-exporter/exporter/fact"
)

// place is all that a target can be recognised by.
type place struct {
	id                   string
	page                 string     // address of its page
	host                 netip.Addr // of that; not valid where it is a name, or unknown
	uid, name, namespace string     // of its pod
}

// Labels of targets that say which pod they are of.
const (
	labelPodUID       = "pod_uid"
	labelPodName      = "pod_name"
	labelPodNamespace = "pod_namespace"
)

func newPlace(t *fact.Target) *place {
	return &place{
		id: t.ID, page: pageAddress(t.URL), host: parseHost(hostOf(t.URL)),
		uid: t.Labels[labelPodUID], name: t.Labels[labelPodName], namespace: t.Labels[labelPodNamespace],
	}
}

// is reports whether a target of the same id is still what it was.
func (p *place) is(t *fact.Target) bool {
	return p.uid == t.Labels[labelPodUID] && p.name == t.Labels[labelPodName] && p.namespace == t.Labels[labelPodNamespace] &&
		p.page == pageAddress(t.URL)
}

// hostOf is the host of a URL without its port.
func hostOf(url string) string {
	_, rest, _ := strings.Cut(pageAddress(url), "://")
	host, _, _ := strings.Cut(rest, "/")
	if inner, bracketed := strings.CutPrefix(host, "["); bracketed {
		host, _, _ = strings.Cut(inner, "]")
		return host
	}
	host, _, _ = strings.Cut(host, ":")
	return host
}

// parseHost is the address that a literal stands for; not valid for a name. An IPv4 address in IPv6's form is the IPv4
// address, and a zone is the sender's or ours, so it says nothing. All addresses of the own host are one: which of them a
// process sends from is not told by which it listens at. 0.0.0.0 and :: are among them, for to connect there is to connect
// to the own host.
func parseHost(host string) netip.Addr {
	if strings.EqualFold(host, "localhost") || strings.EqualFold(host, "localhost.") {
		return netip.IPv6Loopback()
	}
	host, _, _ = strings.Cut(host, "%")
	addr, err := netip.ParseAddr(host)
	if err != nil {
		return netip.Addr{}
	}
	if addr = addr.Unmap(); addr.IsLoopback() || addr.IsUnspecified() {
		return netip.IPv6Loopback()
	}
	return addr
}
