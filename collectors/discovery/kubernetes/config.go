package kubernetes

import (
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"

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
