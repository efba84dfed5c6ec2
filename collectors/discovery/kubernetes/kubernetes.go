package kubernetes

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/goodput-exporter/goodput-exporter/collectors/discovery"
	"github.com/goodput-exporter/goodput-exporter/internal/kube"
)

// The scopes.
const (
	ScopeNode    = "node"    // the pods of one node
	ScopeCluster = "cluster" // all pods that may be listed
)

// Config is what a Watcher is told once. The zero value of a field is its default.
type Config struct {
	Scope       string   // ScopeNode or ScopeCluster; the former by default
	Node        string   // name of the node; required for ScopeNode
	Namespaces  []string // those that are looked at, each listed on its own; all by default
	Selectors   []string // a pod that one of them matches is an engine; DefaultSelectors by default
	Ports       []string // names, numbers, and ranges ("8000-8007"); DefaultPorts by default
	Path        string   // of the page; /metrics by default
	Scheme      string   // http (the default) or https
	Annotations bool     // whether prometheus.io/scrape, port, path, and scheme of pods are listened to
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

// Check says all that is wrong with a configuration, without asking anybody.
func (c Config) Check() error { return nil }

// Watcher knows the engines among the pods.
type Watcher struct{}

// New makes a watcher that has not asked the API server yet. The error is that of Config.Check and of the files that
// Config.API names.
func New(c Config) (*Watcher, error) { return nil, errors.New("kubernetes discovery: not there yet") }

// Run follows the pods until the context is done.
func (w *Watcher) Run(ctx context.Context) error { return nil }

// List is the engines' targets, in the order of their ids. Before the first answer of the API server it is empty: see
// Status.
func (w *Watcher) List() []discovery.Found { return nil }

// DCGMExporter is the address of the page of the node's dcgm-exporter, or why there is none.
func (w *Watcher) DCGMExporter() (url, why string) { return "", "" }

// Status is how it stands.
func (w *Watcher) Status() Status { return Status{} }

// Status is how discovery stands, and what became of the pods.
type Status struct {
	Up      bool      // the API server is followed, everywhere: the list is what it knows
	Since   time.Time // that Up is what it is
	Synced  time.Time // when the API server last said what there is, or that there is nothing new; zero: never
	Detail  string    // why Up is false, for people; "" when it is true
	Pods    map[State]int
	Skipped []Skip // selected pods that are not polled, by namespace and name; at most maxSkips
}

// State is what became of a pod.
type State string

// The states. A pod that no selector matches is not counted.
const (
	Polled      State = "polled"      // an engine
	Starting    State = "starting"    // an engine that has not become ready yet
	Pending     State = "pending"     // it has no address, or nothing runs in it yet
	Ended       State = "ended"       // it has succeeded or failed
	Terminating State = "terminating" // it is being deleted
	NoEndpoint  State = "no_endpoint" // no endpoint is expected: a worker, or none of the ports
	Refused     State = "refused"     // what it asks for is not allowed, or there are too many
)

// Skip is a selected pod that is not polled.
type Skip struct {
	Pod   string // namespace/name
	State State
	Why   string // with the remedy, where there is one
}

// DefaultSelectors and DefaultPorts find engines of well-known deployments.
var (
	DefaultSelectors = []string{"goodput-exporter/engine=true"}
	DefaultPorts     = []string{"http", "metrics", "8000"}
)
