package kubernetes

import (
	"slices"

	"github.com/goodput-exporter/goodput-exporter/internal/kube"
)

// podName is a pod among those that are there at one time.
type podName struct{ namespace, name string }

// space is what one list and watch knows: of one namespace, or of all.
type space struct {
	of   *Watcher
	name string // "" is all

	// Under the watcher's lock.
	pods      map[podName]*verdict // that a selector matches
	exporters map[podName]*exporter
	seen      map[podName]string // UIDs of all pods in sight
	state     kube.State
}

// Replace implements kube.Sink.
func (s *space) Replace(all []pod) {
	s.of.mu.Lock()
	defer s.of.mu.Unlock()
	before := s.pods
	s.pods, s.exporters, s.seen = map[podName]*verdict{}, map[podName]*exporter{}, map[podName]string{}
	for i := range all {
		s.put(&all[i], before)
	}
	s.of.dirty = true
}

// Put implements kube.Sink.
func (s *space) Put(p pod) {
	s.of.mu.Lock()
	defer s.of.mu.Unlock()
	s.put(&p, s.pods)
}

// put takes in one pod, whose last verdict is in before. Nothing of the pod itself is kept.
func (s *space) put(p *pod, before map[podName]*verdict) {
	name := podName{p.Metadata.Namespace, p.Metadata.Name}
	if s.seen == nil {
		s.seen = map[podName]string{}
	}
	w := s.of
	if len(s.seen) == 0 {
		w.dirty = true // why there is no engine may be another
	}
	s.seen[name] = p.Metadata.UID
	if e := w.dcgm.exporter(p); e != nil {
		s.exporters[name] = e
	} else {
		delete(s.exporters, name)
	}
	was := before[name]
	v, selected := w.rules.judge(p, was)
	if selected && (len(w.config.Namespaces) == 0 || slices.Contains(w.config.Namespaces, name.namespace)) {
		s.pods[name] = v
	} else {
		v = nil
		delete(s.pods, name)
	}
	if !v.is(was) { // most changes of a pod change nothing here
		w.dirty = true
	}
}

// Delete implements kube.Sink.
func (s *space) Delete(m kube.Metadata) {
	s.of.mu.Lock()
	defer s.of.mu.Unlock()
	name := podName{m.Namespace, m.Name}
	if uid := s.seen[name]; uid != "" && m.UID != "" && uid != m.UID {
		return // another has its name already
	}
	delete(s.seen, name)
	delete(s.pods, name)
	delete(s.exporters, name)
	s.of.dirty = true
}

// Told implements kube.Sink.
func (s *space) Told(state kube.State) {
	s.of.mu.Lock()
	defer s.of.mu.Unlock()
	before := s.asked()
	s.state = state
	if s.asked() != before {
		s.of.dirty = true // why there is no engine is known from here on
	}
	s.of.settleUp()
}

// asked reports whether the API server has said which pods there are, or has been asked in vain. The lock is held.
func (s *space) asked() bool { return !s.state.Heard.IsZero() || s.state.Problem != "" }
