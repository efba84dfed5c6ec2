package config

import (
	"net/url"
	"regexp"
	"strconv"
	"strings"
)

// The forms of names in Kubernetes.
var (
	nodeForm      = regexp.MustCompile(`^[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?$`)
	namespaceForm = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$`)
	portNameForm  = regexp.MustCompile(`^[a-z0-9]+(-[a-z0-9]+)*$`)
	labelKeyForm  = regexp.MustCompile(`^([a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?/)?[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$`)
	labelTextForm = regexp.MustCompile(`^([A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)?$`)
	orderForm     = regexp.MustCompile(`^([^<>]*)[<>]\s*[0-9]{1,18}$`)
	setForm       = regexp.MustCompile(`^(\S+)\s+(in|notin)\s*\(([^()]*)\)$`)
)

func badNode(s string) (what, remedy string) {
	if !nodeForm.MatchString(s) {
		return quote(s) + " is not the name of a node", "write it as kubectl get nodes prints it"
	}
	return "", ""
}

func badNamespace(s string) (what, remedy string) {
	if !namespaceForm.MatchString(s) {
		return quote(s) + " is not a namespace", "use letters a-z, digits and -, as kubectl get namespaces prints it"
	}
	return "", ""
}

// badPodPort refuses what is no name, number or range of ports.
func badPodPort(s string) (what, remedy string) {
	const example = "write a container port's name, a number from 1 to 65535, or a range such as 8000-8007"
	low, high, isRange := strings.Cut(s, "-")
	first, notLow := strconv.ParseUint(low, 10, 16)
	last, notHigh := first, notLow
	if isRange {
		last, notHigh = strconv.ParseUint(high, 10, 16)
	}
	numbers := strings.Trim(s, "0123456789-") == ""
	switch {
	case !numbers && len(s) <= 15 && portNameForm.MatchString(s):
		return "", ""
	case !numbers || notLow != nil || notHigh != nil || first == 0:
		return quote(s) + " is not a port", example
	case last < first:
		return quote(s) + " ends before it begins", "write the lower number first"
	case last-first >= maxPortRange:
		return quote(s) + " has more than " + strconv.Itoa(maxPortRange) + " ports", "each is asked in each round: name those that engines are at"
	}
	return "", ""
}

// maxNamespaces bounds the namespaces that are followed, each by a connection of its own.
const maxNamespaces = 32

// maxPortRange bounds the engines that one range can make of a pod.
const maxPortRange = 64

func badPagePath(s string) (what, remedy string) {
	if !strings.HasPrefix(s, "/") || len(s) > 200 || strings.ContainsAny(s, "?#") || strings.ContainsFunc(s, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return quote(s) + " is not the path of a page", "write it like /metrics"
	}
	return "", ""
}

// badServer refuses what is not the address of an API server. A user in it would be shown: tokens come from files.
func badServer(s string) (what, remedy string) {
	const example = "write it like https://10.0.0.1:6443"
	u, err := url.Parse(s)
	switch {
	case err != nil || u.Hostname() == "" || u.Scheme != "https" && u.Scheme != "http":
		return "is not the URL of an API server", example
	case u.User != nil:
		return "holds a user", "give a token with token_file"
	case u.RawQuery != "" || u.Fragment != "":
		return "has more than an address and a path", example
	}
	return "", ""
}

// badSelector refuses what is no label selector in Kubernetes's syntax: terms between commas, all of which must fit, each
// a label with =, ==, !=, in, notin, < or >, or alone for one that is there, with ! for one that is not.
func badSelector(s string) (what, remedy string) {
	const remedyAll = "write it as for kubectl get pods -l, such as app=vllm or app in (vllm, llm), and quote the whole"
	if len(s) > 1000 {
		return "is longer than 1000 bytes", "split it: a pod is taken that any of the list fits"
	}
	for term := range terms(s) {
		if wrong := badTerm(term); wrong != "" {
			return quote(s) + " is not a label selector: " + wrong, remedyAll
		}
	}
	return "", ""
}

// terms yields what stands between the commas of a selector that are outside of brackets.
func terms(s string) func(func(string) bool) {
	return func(yield func(string) bool) {
		from, depth := 0, 0
		for i, c := range s {
			switch c {
			case '(':
				depth++
			case ')':
				depth--
			case ',':
				if depth == 0 {
					if !yield(strings.TrimSpace(s[from:i])) {
						return
					}
					from = i + 1
				}
			}
		}
		yield(strings.TrimSpace(s[from:]))
	}
}

// badTerm says what is wrong with one term; "" for nothing.
func badTerm(term string) string {
	if term == "" {
		return "a term is empty"
	}
	key, values := term, []string(nil)
	if m := setForm.FindStringSubmatch(term); m != nil {
		key, values = m[1], strings.Split(m[3], ",")
	} else if m := orderForm.FindStringSubmatch(term); m != nil {
		key = m[1]
	} else if left, right, is := strings.Cut(term, "="); is {
		key, values = strings.TrimSuffix(left, "!"), []string{strings.TrimPrefix(right, "=")}
	} else {
		key = strings.TrimPrefix(term, "!")
	}
	if key = strings.TrimSpace(key); !labelKeyForm.MatchString(key) {
		return quote(key) + " is not the name of a label"
	}
	for _, v := range values {
		if v = strings.TrimSpace(v); !labelTextForm.MatchString(v) {
			return quote(v) + " is not the value of a label"
		}
	}
	return ""
}

// settleKubernetes refuses a node where all are meant.
func settleKubernetes(r *reader, path string, k *Kubernetes) {
	if k.Scope == ScopeCluster && k.Node != "" && r.sound(join(path, "scope"), join(path, "node")) {
		r.at(join(path, "node"), "stands beside scope: cluster, which is about all nodes", "remove one of the two")
	}
}

// settlePods compares what is said of pods with the rest.
func settlePods(r *reader, c *Config) {
	const pods, page, address = "engines.kubernetes", "gpu.kubernetes", "gpu.url"
	if !r.sound(pods, page, address, "gpu.source") {
		return
	}
	k, g := c.Engines.Kubernetes, &c.GPU
	_, hasURL := r.lines[address]
	switch given := g.Kubernetes != nil; {
	case given && k == nil:
		r.at(page, "needs engines.kubernetes, which is what looks at pods", "add engines: {kubernetes: {}}, or give the page with gpu.url")
	case given && hasURL:
		r.at(page, "stands beside gpu.url, and there is one page", "keep one of the two")
	case given && k.Scope == ScopeCluster:
		r.at(page, "says nothing with engines.kubernetes.scope: cluster: GPUs are read on their own node", "remove it")
	case k != nil && k.Scope == ScopeNode && !hasURL && (given || g.readsPage()):
		locatePage(r, page, g)
	}
}

// locatePage has a pod of the node serve the page of its GPUs.
func locatePage(r *reader, path string, g *GPU) {
	g.Page = Page{}
	if g.Kubernetes == nil {
		p := defaultPodPage()
		g.Kubernetes = &p
	}
	if g.Access.credentials() && len(g.Kubernetes.Namespaces) == 0 && r.sound("gpu.access") {
		r.at("gpu.access", "has credentials, and any pod of the node that has the labels of a dcgm-exporter would get them",
			"name the namespace of the dcgm-exporter in "+join(path, "namespaces")+", or give its page with gpu.url")
	}
}

// idlePods lists what is said about pods and has no effect.
func (c *Config) idlePods() (idle []string) {
	if k := c.Engines.Kubernetes; k != nil && c.Engines.Access.credentials() && len(k.Namespaces) == 0 {
		idle = append(idle, "engines.access is not acted on for pods, as far as its credentials go: whoever may make a pod could ask for them; name the namespaces that may have them in engines.kubernetes.namespaces")
	}
	if c.GPU.Kubernetes != nil && !c.GPU.readsPage() {
		idle = append(idle, "gpu.kubernetes is not acted on: gpu.source is "+string(c.GPU.Source))
	}
	return idle
}
