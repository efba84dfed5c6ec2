package kubernetes

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/goodput-exporter/goodput-exporter/collectors/discovery"
	"github.com/goodput-exporter/goodput-exporter/internal/kube"
)

// Watcher knows the engines among the pods. It is safe for concurrent use.
type Watcher struct {
	config Config
	rules  rules
	dcgm   dcgmRules
	client *kube.Client

	mu     sync.Mutex
	spaces []*space // one for each list and watch
	dirty  bool     // merged is not what spaces know
	merged *merged
	said   map[Skip]bool // refusals that were logged
	none   nothing       // that was logged last
	up     bool
	since  time.Time // that up is what it is
}

// New makes a watcher that has not asked the API server yet. The error is that of Config.Check and of the files that
// Config.API names.
func New(c Config) (*Watcher, error) {
	c, r, d, err := c.settled()
	if err != nil {
		return nil, err
	}
	client, err := kube.NewClient(c.API)
	if err != nil {
		return nil, fmt.Errorf("kubernetes discovery: %w", err)
	}
	w := &Watcher{config: c, rules: r, dcgm: d, client: client, merged: &merged{}, said: map[Skip]bool{}, since: time.Now()}
	for _, name := range followed(c) {
		w.spaces = append(w.spaces, &space{of: w, name: name, pods: map[podName]*verdict{}, exporters: map[podName]*exporter{}})
	}
	return w, nil
}

// followed are the namespaces that are listed; "" is all of them.
func followed(c Config) []string {
	if len(c.Namespaces) == 0 {
		return []string{""}
	}
	all := slices.Concat(c.Namespaces, c.DCGM.Namespaces)
	slices.Sort(all)
	return slices.Compact(all)
}

// Run follows the pods until the context is done.
func (w *Watcher) Run(ctx context.Context) error {
	var wg sync.WaitGroup
	for _, s := range w.spaces {
		q := kube.Query{Version: "v1", Resource: "pods", Namespace: s.name}
		if w.config.Scope == ScopeNode {
			q.Fields = "spec.nodeName=" + w.config.Node
		}
		wg.Go(func() { kube.Follow[pod](ctx, w.client, q, s) })
	}
	wg.Wait()
	w.client.Close()
	return nil
}

// List is the engines' targets, in the order of their ids. Before the first answer of the API server it is empty: see
// Status.
func (w *Watcher) List() []discovery.Found { return w.now().list }

// now is what is known, merged anew if that has changed.
func (w *Watcher) now() *merged {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.dirty {
		return w.merged
	}
	w.dirty = false
	var all []*verdict
	for _, s := range w.spaces {
		for _, v := range s.pods {
			all = append(all, v)
		}
	}
	most := maxOfNode
	if w.config.Scope == ScopeCluster {
		most = maxOfCluster
	}
	next := merge(all, most)
	w.log(next)
	w.logNone(next)
	if same(next.list, w.merged.list) {
		next.list = w.merged.list
	}
	w.merged = next
	return next
}

// log says which engines have come and gone, and each refusal once.
func (w *Watcher) log(next *merged) {
	come, gone := missing(next.list, w.merged.list), missing(w.merged.list, next.list)
	if len(come)+len(gone) > 0 {
		w.config.Logger.Info("the engines among the pods have changed", "engines", len(next.list), "come", few(come), "gone", few(gone))
	}
	refused := map[Skip]bool{}
	for _, s := range next.skipped {
		if s.State != Refused {
			continue
		}
		refused[s] = true
		if !w.said[s] {
			w.config.Logger.Warn("a pod is not polled", "pod", s.Pod, "why", s.Why)
		}
	}
	w.said = refused
}

// missing are the ids of a list that are not in another; both are in order.
func missing(list, in []discovery.Found) (ids []string) {
	for _, f := range list {
		if _, there := slices.BinarySearchFunc(in, f.ID, func(x discovery.Found, id string) int { return strings.Compare(x.ID, id) }); !there {
			ids = append(ids, f.ID)
		}
	}
	return ids
}
