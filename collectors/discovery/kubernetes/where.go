package kubernetes

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// where is where the pages of a pod are.
type where struct {
	places       []place
	path, scheme string
}

// where finds the ports of a pod that are polled. A state with a reason is why there are none.
func (r *rules) where(p *pod) (where, State, string) {
	w := where{path: r.path, scheme: r.scheme}
	engines := slices.DeleteFunc(slices.Clone(p.Spec.Containers), func(c *container) bool {
		return c == nil || slices.Contains(proxies, c.Name)
	})
	w.places = r.ports.of(engines)
	if r.annotations {
		if state, why := r.heed(p.Metadata.Annotations, engines, &w); why != "" {
			return w, state, why
		}
	}
	if len(w.places) == 0 {
		return w, NoEndpoint, fmt.Sprintf("none of its ports is polled: it declares %s; name one of them in ports, or say in a label that it is no engine: %s=false", declared(engines), optIn)
	}
	if rank := p.worker(); rank != "" {
		w.places = slices.DeleteFunc(w.places, func(at place) bool { return !at.container.probes(at.port) })
		if len(w.places) == 0 {
			return w, NoEndpoint, rank + ", and no probe asks it over HTTP: its leader answers for it"
		}
	}
	for _, at := range w.places {
		if at.port < 1 || at.port > 65535 || !dnsLabel(at.container.Name) {
			return w, Refused, "a container of it has a name or a port that none may have"
		}
	}
	return w, "", ""
}

// Annotations of pods that are listened to when the configuration says so. Whoever may create a pod writes them, so they choose only
// among what the pod declares and the configuration allows.
const (
	scrapeAnnotation = "prometheus.io/scrape"
	portAnnotation   = "prometheus.io/port"
	pathAnnotation   = "prometheus.io/path"
	schemeAnnotation = "prometheus.io/scheme"
)

// heed does as the annotations say.
func (r *rules) heed(a annotations, engines []*container, w *where) (State, string) {
	if a[scrapeAnnotation] == "false" {
		return NoEndpoint, "its annotation " + scrapeAnnotation + " is false"
	}
	if path := a[pathAnnotation]; path != "" && path != r.path && path != "/metrics" {
		return Refused, fmt.Sprintf("its annotation %s names %q: of a pod only %s is polled; correct or remove the annotation, or set path", pathAnnotation, short(path), r.paths())
	} else if path != "" {
		w.path = path
	}
	switch scheme := strings.ToLower(a[schemeAnnotation]); scheme {
	case "":
	case "http", "https":
		w.scheme = scheme
	default:
		return Refused, fmt.Sprintf("its annotation %s names %q, which is neither http nor https: correct or remove it", schemeAnnotation, short(scheme))
	}
	text := a[portAnnotation]
	if text == "" {
		return "", ""
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 || n > 65535 {
		return Refused, fmt.Sprintf("its annotation %s is %q, which is no port: write a number, or remove it", portAnnotation, short(text))
	}
	at := slices.IndexFunc(engines, func(c *container) bool {
		return slices.ContainsFunc(c.Ports, func(x port) bool { return x.tcp() && x.Number == n })
	})
	switch {
	case at >= 0:
		w.places = []place{{engines[at], n}}
	case r.ports.allows(n) && len(engines) > 0:
		w.places = []place{{engines[0], n}}
	default:
		return Refused, fmt.Sprintf("its annotation %s names %d, which neither the pod declares nor the configuration: declare it as a containerPort, or name it in ports", portAnnotation, n)
	}
	return "", ""
}

// paths are those that annotations may choose.
func (r *rules) paths() string {
	if r.path == "/metrics" {
		return r.path
	}
	return r.path + " or /metrics"
}

// short is a text that a pod's author wrote, for a page and a log.
func short(s string) string {
	return strings.ToValidUTF8(s[:min(len(s), 64)], "")
}

// declared names the ports that containers declare: the first few.
func declared(containers []*container) string {
	var all []string
	for _, c := range containers {
		for _, x := range c.Ports {
			s := strconv.Itoa(x.Number)
			if x.Name != "" && portName(x.Name) {
				s += " (" + x.Name + ")"
			}
			all = append(all, s)
		}
	}
	const few = 8
	switch {
	case len(all) == 0:
		return "none"
	case len(all) > few:
		return strings.Join(all[:few], ", ") + fmt.Sprintf(" and %d more", len(all)-few)
	}
	return strings.Join(all, ", ")
}
