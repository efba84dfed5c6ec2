package kubernetes

import "fmt"

// nothing is why there is no engine among the pods. Its zero value: there is one, or nothing is known yet.
type nothing int

const (
	noPod     nothing = iota + 1 // there is no pod at all
	noneFits                     // no selector fits one
	noneTaken                    // some fit, and none of them is polled
)

// logNone says why there is no engine, as often as another reason comes. The lock is held.
func (w *Watcher) logNone(m *merged) {
	seen, heard := 0, false
	for _, s := range w.spaces {
		if !s.asked() {
			return
		}
		seen += len(s.seen)
		heard = heard || !s.state.Heard.IsZero()
	}
	was := w.none
	if w.none = m.none(seen, heard); w.none == was {
		return
	}
	why := ""
	switch w.none {
	case noPod:
		why = "no pod is in sight: see engines.kubernetes.scope, node and namespaces"
	case noneFits:
		why = fmt.Sprintf("of the pods in sight, %d now, none fits engines.kubernetes.selectors: compare them with kubectl get pods --show-labels, or give the engines' pods the label goodput-exporter/engine=true", seen)
	case noneTaken:
		why = "pods fit engines.kubernetes.selectors, and none of them is polled: the status page says why"
	default:
		return // the line about the engines that came says it
	}
	w.config.Logger.Info("there is no engine among the pods", "why", why)
}

// none is why nothing of what was merged is an engine, where the API server has said which pods there are.
func (m *merged) none(seen int, heard bool) nothing {
	fit := 0
	for _, n := range m.pods {
		fit += n
	}
	switch {
	case !heard || len(m.list) > 0:
		return 0
	case fit > 0:
		return noneTaken
	case seen > 0:
		return noneFits
	}
	return noPod
}
