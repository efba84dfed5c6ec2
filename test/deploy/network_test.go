package deploy

import (
	"net/netip"
	"slices"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// peer is one end of a connection. Without a namespace it is no pod: a node, a Service of the API server, something outside.
type peer struct {
	namespace string
	labels    map[string]string
	ip        string
	ports     map[string]int32 // of its containers, by name
}

// wire is a port and a protocol.
type wire struct {
	port     int32
	protocol corev1.Protocol
}

// lets is whether policies allow a connection, as the network's plugins read them: what no policy speaks of is allowed,
// and otherwise one rule of one policy has to allow it.
func lets(policies []*networkingv1.NetworkPolicy, from, to peer, w wire) bool {
	out := allowed(policies, networkingv1.PolicyTypeEgress, from, func(p *networkingv1.NetworkPolicy) bool {
		return slices.ContainsFunc(p.Spec.Egress, func(r networkingv1.NetworkPolicyEgressRule) bool {
			return fits(r.To, p.Namespace, to) && open(r.Ports, to, w)
		})
	})
	in := allowed(policies, networkingv1.PolicyTypeIngress, to, func(p *networkingv1.NetworkPolicy) bool {
		return slices.ContainsFunc(p.Spec.Ingress, func(r networkingv1.NetworkPolicyIngressRule) bool {
			return fits(r.From, p.Namespace, from) && open(r.Ports, to, w)
		})
	})
	return in && out
}

// allowed is whether one of the policies that select a pod allows something, or none selects it.
func allowed(policies []*networkingv1.NetworkPolicy, direction networkingv1.PolicyType, pod peer, allows func(*networkingv1.NetworkPolicy) bool) bool {
	selected := false
	for _, p := range policies {
		types := p.Spec.PolicyTypes
		if len(types) == 0 {
			if types = []networkingv1.PolicyType{networkingv1.PolicyTypeIngress}; len(p.Spec.Egress) > 0 {
				types = append(types, networkingv1.PolicyTypeEgress)
			}
		}
		if pod.namespace != p.Namespace || !slices.Contains(types, direction) || !matches(&p.Spec.PodSelector, pod.labels) {
			continue
		}
		if selected = true; allows(p) {
			return true
		}
	}
	return !selected
}

// fits is whether a peer is among those of a rule; no peers are all.
func fits(peers []networkingv1.NetworkPolicyPeer, own string, p peer) bool {
	return len(peers) == 0 || slices.ContainsFunc(peers, func(r networkingv1.NetworkPolicyPeer) bool {
		if r.IPBlock != nil {
			return within(r.IPBlock, p.ip)
		}
		namespace := p.namespace == own
		if r.NamespaceSelector != nil {
			namespace = matches(r.NamespaceSelector, map[string]string{"kubernetes.io/metadata.name": p.namespace})
		}
		return p.namespace != "" && namespace && (r.PodSelector == nil || matches(r.PodSelector, p.labels))
	})
}

func within(block *networkingv1.IPBlock, ip string) bool {
	in := func(cidr string) bool {
		prefix, err := netip.ParsePrefix(cidr)
		return err == nil && prefix.Contains(netip.MustParseAddr(ip))
	}
	return in(block.CIDR) && !slices.ContainsFunc(block.Except, in)
}

// open is whether a port is among those of a rule; none are all. A name is one of the pod that is connected to.
func open(ports []networkingv1.NetworkPolicyPort, to peer, w wire) bool {
	return len(ports) == 0 || slices.ContainsFunc(ports, func(r networkingv1.NetworkPolicyPort) bool {
		if protocol := r.Protocol; protocol != nil && *protocol != w.protocol || protocol == nil && w.protocol != corev1.ProtocolTCP {
			return false
		}
		switch {
		case r.Port == nil:
			return true
		case r.Port.Type == intstr.String:
			return to.ports[r.Port.StrVal] == w.port && w.port != 0
		case r.EndPort != nil:
			return r.Port.IntVal <= w.port && w.port <= *r.EndPort
		}
		return r.Port.IntVal == w.port
	})
}

func matches(s *metav1.LabelSelector, of map[string]string) bool {
	selector, err := metav1.LabelSelectorAsSelector(s)
	return err == nil && selector.Matches(labels.Set(of))
}

// cutOff finds connections that a policy forbids and that are needed, and those that it is there to forbid (DEP-07).
func cutOff(w *world) (found complain) {
	policies := all[*networkingv1.NetworkPolicy](w)
	f, err := w.facts()
	if len(policies) == 0 || err != nil {
		return nil
	}
	for _, wl := range w.workloads() {
		us := peer{wl.GetNamespace(), wl.template.Labels, "10.0.1.5", map[string]int32{}}
		for _, p := range wl.container().Ports {
			us.ports[p.Name] = p.ContainerPort
		}
		for _, c := range connections(w, f) {
			from, to := c.peer, us
			if c.ours {
				from, to = us, c.peer
			}
			if got := lets(policies, from, to, c.wire); got != c.want {
				found.f("%s: allowed: %t, want %t", c.what, got, c.want)
			}
		}
	}
	return found
}
