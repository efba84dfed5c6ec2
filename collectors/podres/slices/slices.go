// Package slices knows which GPU a device of Dynamic Resource Allocation is, from the node's ResourceSlices. It knows
// neither claims nor who holds them, and asks the API server for nothing before a device is asked for.
package slices

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/goodput-exporter/goodput-exporter/internal/kube"
)

// group is the API that ResourceSlices are of.
const group = "resource.k8s.io"

// versions are those in which they are read, best first: Kubernetes has v1 since 1.34, v1beta2 since 1.33 and v1beta1 since
// 1.32; the betas have to be switched on.
var versions = []string{"v1", "v1beta2", "v1beta1"}

// driver is the name of NVIDIA's driver for GPUs.
const driver = "gpu.nvidia.com"

const (
	again  = time.Minute // until a server that has none of the versions is asked anew: it may be upgraded
	moment = time.Second // until one that has lost the version that it had is asked for another
)

// Config is what Slices are told once.
type Config struct {
	Node   string       // whose slices they are; required
	API    kube.Config  // its logger is not used
	Logger *slog.Logger // nothing is logged by default
}

// Slices follow the ResourceSlices of one node. They are safe for concurrent use.
//
// Memory: at most maxSlices slices, each with the names and UUIDs of at most maxDevices devices.
type Slices struct {
	cfg    Config
	client *kube.Client

	needed  chan struct{} // closed when a device was asked for
	need    sync.Once
	devices atomic.Pointer[index]
	trouble atomic.Pointer[trouble] // nil: none, or nothing was asked yet
}

// New makes Slices that Run has to fill. The error is one of the files that Config.API names.
func New(cfg Config) (*Slices, error) {
	if cfg.Node == "" {
		return nil, errors.New("ResourceSlices: it is not said which node's they are")
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	cfg.API.Logger = nil // that one version is missing is nothing to be told of
	client, err := kube.NewClient(cfg.API)
	if err != nil {
		return nil, fmt.Errorf("ResourceSlices: %w", err)
	}
	s := &Slices{cfg: cfg, client: client, needed: make(chan struct{})}
	s.devices.Store(&index{})
	return s, nil
}

// Resolve returns the UUID of a device in a pool, as the driver publishes it. False is for a device that is not known: until
// the API server has answered, for one that no complete pool has, and for a partition that is made when it is needed,
// whose UUID the driver does not publish.
func (s *Slices) Resolve(pool, device string) (uuid string, ok bool) {
	s.need.Do(func() { close(s.needed) })
	uuid, ok = s.devices.Load().uuid[key{pool, device}]
	return uuid, ok
}

// Why says why devices may not be resolved, for people, with the remedy where one is known; "" where nothing is known to be
// wrong.
func (s *Slices) Why() string {
	if t := s.trouble.Load(); t != nil {
		return t.text
	}
	return s.devices.Load().odd
}

// Run waits until a device is asked for, and follows the slices from then on, until the context is done.
func (s *Slices) Run(ctx context.Context) error {
	defer s.client.Close()
	select {
	case <-s.needed:
	case <-ctx.Done():
		return nil
	}
	for ctx.Err() == nil {
		wait := moment
		if !slices.ContainsFunc(versions, func(version string) bool { return s.follow(ctx, version) }) && ctx.Err() == nil {
			s.say(&trouble{http.StatusNotFound, "the API server has no ResourceSlices in a version that is known here (v1, v1beta2, v1beta1 of " + group +
				"): switch one on with its flag --runtime-config, or use Kubernetes 1.34 or newer"})
			wait = again
		}
		select {
		case <-time.After(wait):
		case <-ctx.Done():
		}
	}
	return nil
}

// follow follows the slices in one version of the API, until the server does not have it, or the context is done. It reports
// whether the server had it.
func (s *Slices) follow(ctx context.Context, version string) (had bool) {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	f := &follower{slices: s, missing: stop}
	kube.Follow(ctx, s.client, kube.Query{
		Group: group, Version: version, Resource: "resourceslices",
		Fields: "spec.nodeName=" + s.cfg.Node + ",spec.driver=" + driver,
	}, f)
	return f.up
}

// trouble is why the API server tells nothing.
type trouble struct {
	code int    // of HTTP; 0 where there was no answer
	text string // for people
}

// say keeps what the trouble is, nil for none, and logs it when it is of another kind than before.
func (s *Slices) say(t *trouble) {
	before := s.trouble.Swap(t)
	switch {
	case t == nil && before != nil:
		s.cfg.Logger.Info("devices of resource claims are resolved")
	case t != nil && (before == nil || before.code != t.code):
		s.cfg.Logger.Warn("devices of resource claims are not resolved, or as they were known last", "reason", t.text)
	}
}
