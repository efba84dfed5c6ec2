package main

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"os"
	"reflect"
	"slices"
	"strings"
	"sync"

	"github.com/goodput-exporter/goodput-exporter/collectors/discovery"
	"github.com/goodput-exporter/goodput-exporter/collectors/discovery/kubernetes"
	"github.com/goodput-exporter/goodput-exporter/exporter"
	"github.com/goodput-exporter/goodput-exporter/exporter/config"
	"github.com/goodput-exporter/goodput-exporter/exporter/fold"
	"github.com/goodput-exporter/goodput-exporter/internal/kube"
)

// nodeVariable is set from spec.nodeName by the manifests.
const nodeVariable = "NODE_NAME"

// pods follow the pods that a configuration is about. Generations that ask for the same share them, so that a reload neither
// asks the API server for all pods again nor loses sight of an engine. Whoever holds them releases them once.
type pods struct {
	asked   podsAsked
	watcher *kubernetes.Watcher
	end     context.CancelFunc

	mu      sync.Mutex
	holders int
	before  []discovery.Found // what was known under another configuration, until the API server has been heard of its namespace
	page    podPage           // of the GPUs, likewise
	from    []discovery.Found // of the watcher, that list was made of
	list    []discovery.Found
}

// podPage is where a pod has the page of the node's GPUs, and which one, for people. Its zero value is nowhere.
type podPage struct{ namespace, address, pod string }

// podsAsked is what pods are followed by.
type podsAsked struct {
	engines config.Kubernetes
	page    *config.PodPage
	node    string
}

func podsOf(cfg *config.Config) (podsAsked, error) {
	a := podsAsked{engines: *cfg.Engines.Kubernetes, page: cfg.GPU.Kubernetes}
	a.engines.API.TokenFile, a.engines.API.CAFile = cfg.Path(a.engines.API.TokenFile), cfg.Path(a.engines.API.CAFile)
	if a.engines.Scope == config.ScopeCluster {
		return a, nil
	}
	if a.node = a.engines.Node; a.node == "" {
		a.node = os.Getenv(nodeVariable)
	}
	if a.node == "" {
		return a, fmt.Errorf("engines.kubernetes.node is not given and the environment variable %s is not set, so it is not known whose pods are engines: set %s from spec.nodeName in the pod's manifest, or give node, or scope: cluster for one exporter of all nodes", nodeVariable, nodeVariable)
	}
	return a, nil
}

// watched are pods in the watcher's terms.
func (a *podsAsked) watched(log *slog.Logger) kubernetes.Config {
	k := &a.engines
	c := kubernetes.Config{
		Scope: string(k.Scope), Node: a.node, Namespaces: k.Namespaces, Selectors: k.Selectors, Ports: k.Ports, Path: k.Path, Scheme: string(k.Scheme),
		Annotations: k.Annotations, Logger: log,
		API: kube.Config{Server: k.API.Server, TokenFile: k.API.TokenFile, CAFile: k.API.CAFile, Logger: log},
	}
	if a.page != nil {
		c.DCGM = kubernetes.DCGM{Selectors: a.page.Selectors, Port: a.page.Port, Namespaces: a.page.Namespaces}
	}
	return c
}

// where is where pods are looked for, for people.
func (a *podsAsked) where() string {
	where := "node " + a.node
	if a.engines.Scope == config.ScopeCluster {
		where = "the cluster"
	}
	if n := a.engines.Namespaces; len(n) > 0 {
		where += ", namespace " + strings.Join(n, ", ")
	}
	return where
}

// covers reports whether all pods that others ask for may be asked for here too.
func (a *podsAsked) covers(others *podsAsked) bool {
	return a.engines.Scope == config.ScopeCluster || a.engines.Scope == others.engines.Scope && a.node == others.node
}

// newPods follows the pods that a configuration asks for, as part of running, held once. before are those that are followed
// now, which are held once more when they are the same; nil for none. It is nil where no pod is asked for.
func newPods(cfg *config.Config, before *pods, running *sync.WaitGroup, log *slog.Logger) (*pods, error) {
	if cfg.Engines.Kubernetes == nil {
		return nil, nil
	}
	asked, err := podsOf(cfg)
	if err != nil {
		return nil, err
	}
	if before != nil && reflect.DeepEqual(asked, before.asked) && before.hold() {
		return before, nil
	}
	p := &pods{asked: asked, holders: 1}
	if p.watcher, err = kubernetes.New(asked.watched(log)); err != nil {
		return nil, fmt.Errorf("engines.kubernetes: %w", err)
	}
	if before != nil && asked.covers(&before.asked) {
		p.before = before.List()
		if reflect.DeepEqual(asked.page, before.asked.page) {
			p.page, _ = before.located()
		}
	}
	ctx, end := context.WithCancel(context.Background())
	p.end = end
	running.Go(func() { _ = p.watcher.Run(ctx) }) // it ends with its context only, and then without an error
	return p, nil
}

// hold holds the pods once more; false when they are not followed any more.
func (p *pods) hold() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.holders == 0 {
		return false
	}
	p.holders++
	return true
}

// release lets go of them. The last one ends the following.
func (p *pods) release() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.holders--; p.holders == 0 {
		p.end()
	}
}

// List is the engines among the pods. Right after a reload that asks for other pods, those that were known before stay until
// the API server has been heard of their namespace: a reload must not have an engine vanish for a moment, nor one that is gone
// stay because of a namespace that may not be seen.
func (p *pods) List() []discovery.Found {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.before) > 0 {
		unheard := slices.DeleteFunc(slices.Clone(p.before), func(f discovery.Found) bool { return p.watcher.Knows(f.Labels["pod_namespace"]) })
		if len(unheard) < len(p.before) {
			p.before, p.list = unheard, nil
		}
	}
	from := p.watcher.List() // after what is known of namespaces: else a pod could be in neither
	if p.list == nil || len(from) != len(p.from) || len(from) > 0 && &from[0] != &p.from[0] {
		p.from, p.list = from, p.vouched(withBefore(from, p.before))
	}
	return p.list
}

// withBefore adds to a list what was known before, as far as its id and its address have not been taken.
func withBefore(list, before []discovery.Found) []discovery.Found {
	for _, f := range before {
		if !slices.ContainsFunc(list, func(n discovery.Found) bool { return n.ID == f.ID || n.URL == f.URL }) {
			list = append(slices.Clip(list), f)
		}
	}
	return list
}

// vouched is a list in which the pods of namespaces that the configuration does not name are shown no credential.
func (p *pods) vouched(list []discovery.Found) []discovery.Found {
	list = append(make([]discovery.Found, 0, len(list)), list...)
	for i := range list {
		list[i].Anonymous = !p.asked.engines.Vouches(list[i].Labels["pod_namespace"])
	}
	return list
}

// status is how the following stands, in the exporter's terms.
func (p *pods) status() *exporter.Discovery {
	s := p.watcher.Status()
	d := &exporter.Discovery{
		Source: "kubernetes", Where: p.asked.where(), Up: s.Up, Since: s.Since, Synced: s.Synced, Detail: s.Detail, Unknown: s.Unknown, Others: s.Seen,
	}
	for _, state := range kubernetes.States() {
		if n := s.Pods[state]; n > 0 {
			d.Pods = append(d.Pods, fold.Tally{Name: string(state), Count: uint64(n)})
			d.Others -= n
		}
	}
	for _, skip := range s.Skipped {
		d.Skipped = append(d.Skipped, exporter.SkippedPod{Pod: skip.Pod, State: string(skip.State), Why: skip.Why})
	}
	return d
}

// located is the page of the node's GPUs, or "" and why it is not known. It outlasts a reload as the engines do.
func (p *pods) located() (page podPage, why string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.page.address != "" && p.watcher.Knows(p.page.namespace) {
		p.page = podPage{}
	}
	if page.namespace, page.address, why = p.watcher.DCGMPod(); page.address != "" {
		p.page, page.pod = podPage{}, why
		return page, ""
	}
	if p.page.address != "" {
		return p.page, ""
	}
	return podPage{}, why
}

// located is where the node's dcgm-exporter has its page now, and which pod it is; or "" and why it is not known.
func (g *gpuSources) located() (address, why string) {
	p := g.pods.Load()
	if p == nil {
		return "", "the pods of the node were not known yet when it was looked for, which each reading does anew"
	}
	page, why := p.located()
	return page.address, cmp.Or(why, page.pod)
}
