package deploy

import (
	"strconv"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"sigs.k8s.io/yaml"
)

// connection is one that is needed, or that a policy is there to forbid.
type connection struct {
	what string
	ours bool // the exporter connects, and is not connected to
	peer
	wire
	want bool
}

// connections are those of an exporter whose Prometheus is in the namespace mon and whose engines are in serving.
func connections(w *world, f *facts) []connection {
	tcp := func(port int32) wire { return wire{port, corev1.ProtocolTCP} }
	udp := func(port int32) wire { return wire{port, corev1.ProtocolUDP} }
	engine := peer{"serving", map[string]string{"app": "vllm"}, "10.0.2.7", map[string]int32{"http": 8000}}
	dns := peer{"kube-system", map[string]string{"k8s-app": "kube-dns"}, "10.0.0.10", nil}
	prometheus := peer{"mon", map[string]string{"app.kubernetes.io/name": "prometheus"}, "10.0.3.3", nil}
	stranger := peer{"mon", map[string]string{"app.kubernetes.io/name": "shell"}, "10.0.3.4", nil}
	api, service := peer{ip: "198.51.100.2"}, peer{ip: "10.96.0.1"}
	found := []connection{
		{"Prometheus in another namespace scrapes", false, prometheus, tcp(9810), true},
		{"another pod scrapes", false, stranger, tcp(9810), false},
		{"something outside the cluster scrapes", false, peer{ip: "203.0.113.9"}, tcp(9810), false},
		{"Prometheus connects to another port", false, prometheus, tcp(9811), false},
		{"the exporter asks an engine in another namespace", true, engine, tcp(8000), f.pods},
		{"the exporter asks an engine at a port that is configured by name", true, engine, tcp(9090), f.pods},
		{"the exporter asks a second rank of an engine", true, engine, tcp(8007), f.pods},
		{"the exporter asks an engine on its node's network", true, peer{ip: "198.51.100.3"}, tcp(8000), f.pods},
		{"the exporter looks up a name", true, dns, udp(53), true},
		{"the exporter looks up a name over TCP", true, dns, tcp(53), true},
		{"the exporter looks up a name at a cache of its node", true, peer{ip: "169.254.20.10"}, udp(53), true},
		{"the exporter asks the API server through its Service", true, service, tcp(443), (f.pods || w.slices) && !w.behind},
		{"the exporter asks the API server behind it", true, api, tcp(6443), f.pods || w.slices},
	}
	if f.GPU.Source != "none" {
		dcgm := peer{"gpu-operator", map[string]string{"app": "nvidia-dcgm-exporter"}, "10.0.4.4", nil}
		found = append(found, connection{"the exporter asks the dcgm-exporter", true, dcgm, tcp(9400), true})
		if _, port, is := strings.Cut(f.GPU.DCGM.Address, ":"); is {
			n, _ := strconv.Atoi(port)
			found = append(found, connection{"the exporter asks DCGM's host engine", true, dcgm, tcp(int32(n)), true})
		}
	}
	for _, port := range []string{f.http, f.grpc} {
		if n, _ := strconv.Atoi(port); n > 0 {
			found = append(found, connection{"an engine sends spans to port " + port, false, engine, tcp(int32(n)), true})
		}
	}
	return append(found, connection{"the exporter asks the cloud's metadata", true, peer{ip: "169.254.169.254"}, tcp(80), false})
}

// TestPoliciesAreReadAsTheNetworkReadsThem tries the reader of policies on its own.
func TestPoliciesAreReadAsTheNetworkReadsThem(t *testing.T) {
	a := peer{"a", map[string]string{"app": "a"}, "10.0.0.1", map[string]int32{"http": 80}}
	b := peer{"b", map[string]string{"app": "b"}, "10.0.0.2", nil}
	web, dns := wire{80, corev1.ProtocolTCP}, wire{53, corev1.ProtocolUDP}
	for name, c := range map[string]struct {
		spec     string
		from, to peer
		wire
		want bool
	}{
		"no policy selects either":                         {`podSelector: {matchLabels: {app: other}}`, b, a, web, true},
		"a policy without rules forbids all that comes":    {`podSelector: {}`, b, a, web, false},
		"and nothing that goes":                            {`podSelector: {}`, a, b, web, true},
		"it does if it says so":                            {`{podSelector: {}, policyTypes: [Egress]}`, a, b, web, false},
		"rules for what goes are enough to say so":         {`{podSelector: {}, egress: [{ports: [{port: 443}]}]}`, a, b, web, false},
		"an empty rule allows all":                         {`{podSelector: {}, ingress: [{}]}`, b, a, web, true},
		"pods of the same namespace":                       {`{podSelector: {}, ingress: [{from: [{podSelector: {}}]}]}`, b, a, web, false},
		"pods of all namespaces":                           {`{podSelector: {}, ingress: [{from: [{namespaceSelector: {}}]}]}`, b, a, web, true},
		"what is outside is in no namespace":               {`{podSelector: {}, ingress: [{from: [{namespaceSelector: {}}]}]}`, peer{ip: "10.0.0.2"}, a, web, false},
		"both selectors of one peer have to match":         {`{podSelector: {}, ingress: [{from: [{namespaceSelector: {}, podSelector: {matchLabels: {app: c}}}]}]}`, b, a, web, false},
		"one of two peers has to match":                    {`{podSelector: {}, ingress: [{from: [{namespaceSelector: {}}, {podSelector: {matchLabels: {app: c}}}]}]}`, b, a, web, true},
		"a namespace by its name":                          {`{podSelector: {}, ingress: [{from: [{namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: b}}}]}]}`, b, a, web, true},
		"another namespace":                                {`{podSelector: {}, ingress: [{from: [{namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: c}}}]}]}`, b, a, web, false},
		"addresses":                                        {`{podSelector: {}, ingress: [{from: [{ipBlock: {cidr: 10.0.0.0/24}}]}]}`, b, a, web, true},
		"addresses but some":                               {`{podSelector: {}, ingress: [{from: [{ipBlock: {cidr: 10.0.0.0/24, except: [10.0.0.2/32]}}]}]}`, b, a, web, false},
		"a port by its name":                               {`{podSelector: {}, ingress: [{ports: [{port: http}]}]}`, b, a, web, true},
		"a name that the pod has not":                      {`{podSelector: {}, ingress: [{ports: [{port: metrics}]}]}`, b, a, web, false},
		"a range of ports":                                 {`{podSelector: {}, ingress: [{ports: [{port: 79, endPort: 81}]}]}`, b, a, web, true},
		"a port is one of TCP unless it says otherwise":    {`{podSelector: {}, egress: [{ports: [{port: 53}]}]}`, a, b, dns, false},
		"and one of UDP where it says so":                  {`{podSelector: {}, egress: [{ports: [{port: 53, protocol: UDP}]}]}`, a, b, dns, true},
		"a policy of one namespace says nothing of others": {`podSelector: {}`, a, b, web, true},
	} {
		t.Run(name, func(t *testing.T) {
			p := &networkingv1.NetworkPolicy{}
			p.Namespace = "a"
			if err := yaml.UnmarshalStrict([]byte(c.spec), &p.Spec); err != nil {
				t.Fatal(err)
			}
			if got := lets([]*networkingv1.NetworkPolicy{p}, c.from, c.to, c.wire); got != c.want {
				t.Errorf("allowed: %t, want %t", got, c.want)
			}
		})
	}
}
