package kubernetes

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/goodput-exporter/goodput-exporter/collectors/discovery"
	"github.com/goodput-exporter/goodput-exporter/internal/kube"
)

// The scopes.
const (
	ScopeNode    = "node"    // the pods of one node
	ScopeCluster = "cluster" // all pods that may be listed
)

// maxNamespaces bounds how many are followed: each is a connection.
const maxNamespaces = 64

// Config is what a Watcher is told once. The zero value of a field is its default.
type Config struct {
	Scope       string   // ScopeNode or ScopeCluster; the former by default
	Node        string   // name of the node; required for ScopeNode
	Namespaces  []string // those that are looked at, each listed on its own; all by default
	Selectors   []string // a pod that one of them matches is an engine; DefaultSelectors by default
	Ports       []string // names, numbers, and ranges ("8000-8007"); DefaultPorts by default
	Path        string   // of the page; /metrics by default
	Scheme      string   // http (the default) or https
	Annotations bool     // whether prometheus.io/scrape, port, path, and scheme of the selected pods are listened to
	DCGM        DCGM
	API         kube.Config
	Logger      *slog.Logger // nothing is logged by default
}

// DCGM says which pod of the node is its dcgm-exporter. Without selectors none is looked for.
type DCGM struct {
	Selectors  []string
	Port       int      // 9400 by default
	Namespaces []string // where it is looked for: by default those of Config, where it may be none of them
}

// settled is the configuration with its defaults, and what it says.
func (c Config) settled() (Config, rules, dcgmRules, error) {
	if c.Scope == "" {
		c.Scope = ScopeNode
	}
	if len(c.Selectors) == 0 {
		c.Selectors = DefaultSelectors
	}
	if len(c.Ports) == 0 {
		c.Ports = DefaultPorts
	}
	if c.Path == "" {
		c.Path = "/metrics"
	}
	if c.Scheme == "" {
		c.Scheme = "http"
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	if c.API.Logger == nil {
		c.API.Logger = c.Logger
	}
	errs := c.mistakes()
	r := rules{path: c.Path, scheme: c.Scheme, annotations: c.Annotations}
	var err error
	if r.selectors, err = parseSelectors(c.Selectors); err != nil {
		errs = append(errs, err)
	}
	if r.ports, err = parsePorts(c.Ports); err != nil {
		errs = append(errs, err)
	}
	d, err := c.DCGM.rules(c.Namespaces)
	if err != nil {
		errs = append(errs, err)
	}
	for i, err := range errs {
		errs[i] = fmt.Errorf("kubernetes discovery: %w", err)
	}
	return c, r, d, errors.Join(errs...)
}

// mistakes are those of plain values.
func (c Config) mistakes() (errs []error) {
	bad := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	switch {
	case c.Scope != ScopeNode && c.Scope != ScopeCluster:
		bad("scope %q is neither %s nor %s", c.Scope, ScopeNode, ScopeCluster)
	case c.Scope == ScopeNode && c.Node == "":
		bad("the node's name is missing: set node, or NODE_NAME by the downward API (spec.nodeName)")
	case c.Scope == ScopeNode && !dnsName(c.Node):
		bad("node %q is not a node's name: small letters, digits, - and .", c.Node)
	}
	spaces := slices.Concat(c.Namespaces, c.DCGM.Namespaces)
	for _, n := range spaces {
		if !dnsLabel(n) {
			bad("namespace %q is not a namespace's name: small letters, digits and -", n)
		}
	}
	if len(spaces) > maxNamespaces {
		bad("%d namespaces are more than %d: name none, which is all of them, and let the selectors choose", len(spaces), maxNamespaces)
	}
	if !strings.HasPrefix(c.Path, "/") || strings.ContainsAny(c.Path, "?#") || len(c.Path) > 256 || strings.ContainsFunc(c.Path, func(r rune) bool { return r <= ' ' || r > '~' }) {
		bad("path %q is not a page's path: it begins with / and has no ?, # or white space", c.Path)
	}
	if c.Scheme != "http" && c.Scheme != "https" {
		bad("scheme %q is neither http nor https", c.Scheme)
	}
	if err := c.API.Check(); err != nil {
		errs = append(errs, err)
	}
	return errs
}

func parseSelectors(texts []string) ([]selector, error) {
	all := make([]selector, 0, len(texts))
	var errs []error
	for _, text := range texts {
		s, err := parseSelector(text)
		if err != nil {
			errs = append(errs, err)
		}
		all = append(all, s)
	}
	return all, errors.Join(errs...)
}

// Check says all that is wrong with a configuration, a line each, without asking anybody or reading a file.
func (c Config) Check() error {
	_, _, _, err := c.settled()
	return err
}

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
	w.client.CloseIdle()
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
