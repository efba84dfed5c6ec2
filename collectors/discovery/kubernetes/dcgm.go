package kubernetes

import (
	"cmp"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"
)

// dcgmRules are a DCGM that has been read.
type dcgmRules struct {
	selectors  []selector
	port       int
	namespaces []string // "" in no list is all
}

// rules reads what is configured; of is the engines' namespaces.
func (d DCGM) rules(of []string) (dcgmRules, error) {
	r := dcgmRules{port: cmp.Or(d.Port, 9400), namespaces: d.Namespaces}
	if len(r.namespaces) == 0 {
		r.namespaces = of
	}
	if r.port < 1 || r.port > 65535 {
		return r, fmt.Errorf("port %d of dcgm-exporter is not between 1 and 65535", d.Port)
	}
	var err error
	r.selectors, err = parseSelectors(d.Selectors)
	return r, err
}

// exporter is a pod that is dcgm-exporter.
type exporter struct {
	in      string // namespace
	name    string // for people
	url     string
	why     string // it cannot be asked; "" when it can
	ready   bool
	started time.Time
}

// exporter is nil for any other pod.
func (d *dcgmRules) exporter(p *pod) *exporter {
	m := &p.Metadata
	if !slices.ContainsFunc(d.selectors, func(s selector) bool { return s.matches(m.Labels) }) ||
		len(d.namespaces) > 0 && !slices.Contains(d.namespaces, m.Namespace) {
		return nil
	}
	e := &exporter{
		in: m.Namespace, name: title(m.Namespace, m.Name), started: p.Status.Started.Time,
		ready: p.condition("Ready").Status == "True",
	}
	switch {
	case !m.Deleted.IsZero():
		e.why = "is being deleted"
	case p.Status.Phase != "Running":
		e.why = "does not run (phase " + word(p.Status.Phase) + ")"
	case p.Status.IP == "":
		e.why = "has no address yet"
	default:
		ip, err := address(p.Status.IP)
		if err != nil {
			e.why = "cannot be asked: " + err.Error()
			break
		}
		e.url = "http://" + net.JoinHostPort(ip, strconv.Itoa(d.port)) + "/metrics"
	}
	return e
}

// DCGMExporter is the address of the page of the node's dcgm-exporter and which pod has it, or "" and why there is none.
func (w *Watcher) DCGMExporter() (url, why string) {
	_, url, why = w.DCGMPod()
	return url, why
}

// DCGMPod is likewise, with the namespace of its pod, where there is one.
func (w *Watcher) DCGMPod() (namespace, url, why string) {
	switch {
	case len(w.dcgm.selectors) == 0:
		return "", "", "no selector says which pod is dcgm-exporter"
	case w.config.Scope != ScopeNode:
		return "", "", "the pods of a whole cluster are followed, whose nodes have a dcgm-exporter each: run one exporter per node, or name the URL"
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	var all []*exporter
	var unknown []string // where it may be
	for _, s := range w.spaces {
		for _, e := range s.exporters {
			all = append(all, e)
		}
		if s.state.Heard.IsZero() && (s.name == "" || len(w.dcgm.namespaces) == 0 || slices.Contains(w.dcgm.namespaces, s.name)) {
			unknown = append(unknown, s.name)
		}
	}
	if len(all) == 0 {
		return "", "", w.noExporter(unknown)
	}
	best := slices.MinFunc(all, betterExporter)
	if best.url == "" {
		return best.in, "", "the pod " + best.name + " " + best.why
	}
	return best.in, best.url, "the pod " + best.name
}

// betterExporter puts first the pod that can be asked, then the one that is ready, then the one that came first: one that comes
// later, with the labels, takes nothing from one that is there. One that is replaced is being deleted.
func betterExporter(a, b *exporter) int {
	yes := func(b bool) int {
		if b {
			return 0
		}
		return 1
	}
	return cmp.Or(yes(a.url != "")-yes(b.url != ""), yes(a.ready)-yes(b.ready), a.started.Compare(b.started), cmp.Compare(a.name, b.name))
}

// noExporter says why there is no pod to ask. unknown are the namespaces of which nothing was heard yet; "" is all. It is read
// until the next reading, when they may long be known.
func (w *Watcher) noExporter(unknown []string) string {
	switch {
	case slices.Equal(unknown, []string{""}):
		return "the pods of the node were not known yet when it was looked for, which each reading does anew"
	case len(unknown) > 0:
		return "the node's pods in " + few(unknown) + " were not known yet when it was looked for, which each reading does anew"
	}
	where := "on node " + w.config.Node
	if len(w.dcgm.namespaces) > 0 {
		where += " in the namespaces that are looked at (" + few(w.dcgm.namespaces) + "; gpu.kubernetes.namespaces may name others)"
	}
	texts := w.config.DCGM.Selectors
	return "no pod " + where + " matches " + strings.Join(texts[:min(len(texts), 5)], " or ")
}
