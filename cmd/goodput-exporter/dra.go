package main

import (
	"cmp"
	"context"
	"log/slog"
	"os"
	"strings"

	"github.com/goodput-exporter/goodput-exporter/collectors/podres/slices"
	"github.com/goodput-exporter/goodput-exporter/exporter/config"
	"github.com/goodput-exporter/goodput-exporter/exporter/fact"
	"github.com/goodput-exporter/goodput-exporter/internal/kube"
)

// draAsked says where the node's ResourceSlices are read. Its zero value is nowhere: the API server is spoken to only where
// engines.kubernetes says so, and the kubelet's claims are of one node.
type draAsked struct{ node, server, tokenFile, caFile string }

func draOf(cfg *config.Config) draAsked {
	k := cfg.Engines.Kubernetes
	if k == nil || k.Scope != config.ScopeNode {
		return draAsked{}
	}
	return draAsked{
		node: cmp.Or(k.Node, os.Getenv(nodeVariable)), server: k.API.Server, tokenFile: cfg.Path(k.API.TokenFile), caFile: cfg.Path(k.API.CAFile),
	}
}

// dra knows the devices of resource claims. It is one of the sources that generations share.
type dra struct {
	*slices.Slices
	stop context.CancelFunc
	done chan struct{}
}

// newDRA returns nil where none are to be read. Nothing is asked of the API server before the kubelet tells of a device of a claim.
func newDRA(asked draAsked, log *slog.Logger) (*dra, error) {
	if asked.node == "" {
		return nil, nil
	}
	s, err := slices.New(slices.Config{
		Node: asked.node, API: kube.Config{Server: asked.server, TokenFile: asked.tokenFile, CAFile: asked.caFile}, Logger: log,
	})
	if err != nil {
		return nil, err
	}
	ctx, stop := context.WithCancel(context.Background())
	d := &dra{Slices: s, stop: stop, done: make(chan struct{})}
	go func() { defer close(d.done); _ = s.Run(ctx) }()
	return d, nil
}

func (d *dra) close() {
	d.stop()
	<-d.done
}

// explain says in claims why some devices of resource claims have no UUID.
func (d *dra) explain(claims *fact.DeviceClaims) {
	for i := range claims.Claims {
		if claims.Claims[i].Unresolved != fact.UnresolvedDRA {
			continue
		}
		why := "devices of resource claims are resolved only with engines.kubernetes, for the pods of a node"
		if d != nil {
			why = cmp.Or(d.Why(), "no ResourceSlice tells the UUID of "+claims.Claims[i].Device)
		}
		claims.Detail = strings.TrimPrefix(claims.Detail+"; "+why, "; ")
		return
	}
}
