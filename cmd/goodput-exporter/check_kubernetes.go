package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/goodput-exporter/goodput-exporter/collectors/discovery"
	"github.com/goodput-exporter/goodput-exporter/collectors/discovery/kubernetes"
	"github.com/goodput-exporter/goodput-exporter/exporter/config"
)

// checkPatience is how long the API server has for its answer.
const checkPatience = 5 * time.Second

// checkPods prints, as comments, which pods would be engines, and asks the API server once where it is known: inside of a
// cluster, or where the configuration names it. A file may be checked anywhere, so neither that nor a node that is not known is
// a mistake; what the watcher itself would refuse is.
func checkPods(ctx context.Context, cfg *config.Config, out io.Writer) error {
	k := cfg.Engines.Kubernetes
	if k == nil {
		return nil
	}
	asked, unknown := podsOf(cfg)
	where := "the node that the exporter runs on"
	if unknown == nil {
		where = asked.where()
	}
	fmt.Fprintf(out, "# engines.kubernetes: pods on %s that fit %s, at the ports %s\n", where, strings.Join(k.Selectors, " or "), strings.Join(k.Ports, ", "))
	if p := cfg.GPU.Kubernetes; p != nil && unknown == nil {
		fmt.Fprintf(out, "# gpu.kubernetes: the page of the pod there that fits %s, at port %d\n", strings.Join(p.Selectors, " or "), p.Port)
	}
	if unknown != nil {
		fmt.Fprintf(out, "# engines.kubernetes: this machine does not know its node: %s must be set where the exporter runs\n", nodeVariable)
		return nil
	}
	c := asked.watched(slog.New(slog.DiscardHandler))
	if err := c.Check(); err != nil {
		return err
	}
	if k.API.Server == "" && os.Getenv("KUBERNETES_SERVICE_HOST") == "" {
		fmt.Fprintln(out, "# engines.kubernetes: this is no pod of a cluster, so nothing was asked")
		return nil
	}
	w, err := kubernetes.New(c)
	if err != nil {
		fmt.Fprintf(out, "# engines.kubernetes: the API server cannot be asked from here: %v\n", err)
		return nil
	}
	s := onceHeard(ctx, w)
	listPods(out, w, s)
	if cfg.GPU.Kubernetes != nil && !s.Synced.IsZero() {
		url, why := w.DCGMExporter()
		if url == "" {
			url = "no page to read: " + why
		}
		fmt.Fprintf(out, "# gpu.kubernetes: %s\n", url)
	}
	return nil
}

// onceHeard is how it stands as soon as the API server has said which pods there are, or has failed to, or its time is over.
func onceHeard(ctx context.Context, w *kubernetes.Watcher) kubernetes.Status {
	ctx, done := context.WithTimeout(ctx, checkPatience)
	var running sync.WaitGroup
	defer running.Wait()
	defer done()
	running.Go(func() { _ = w.Run(ctx) })
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return w.Status()
		}
		if s := w.Status(); s.Asked {
			return s
		}
	}
}

// listPods prints what was found, and why the rest was not.
func listPods(out io.Writer, w *kubernetes.Watcher, s kubernetes.Status) {
	if s.Synced.IsZero() {
		fmt.Fprintf(out, "# engines.kubernetes: which pods there are is not known: %s\n", s.Detail)
		return
	}
	if len(s.Unknown) > 0 {
		fmt.Fprintf(out, "# engines.kubernetes: which pods there are in %s is not known: %s\n", strings.Join(s.Unknown, ", "), s.Detail)
	}
	found := w.List()
	fmt.Fprintf(out, "# engines.kubernetes: %s in %s%s\n", count(len(found), "engine"), count(s.Seen, "pod"), noneOf(found, s))
	for _, f := range found {
		starting := ""
		if f.Starting {
			starting = ", which is starting"
		}
		fmt.Fprintf(out, "#   %s at %s%s\n", f.ID, f.URL, starting)
	}
	for _, skip := range s.Skipped {
		fmt.Fprintf(out, "#   pod %s is not polled (%s): %s\n", skip.Pod, strings.ReplaceAll(string(skip.State), "_", " "), skip.Why)
	}
}

// noneOf says why nothing was found.
func noneOf(found []discovery.Found, s kubernetes.Status) string {
	switch {
	case len(found) > 0:
		return ""
	case len(s.Skipped) > 0:
		return ": some fit engines.kubernetes.selectors, and none of them is polled"
	case s.Seen == 0:
		return ": there is none in sight; see engines.kubernetes.scope, node and namespaces"
	}
	return ": none fits engines.kubernetes.selectors; compare them with kubectl get pods --show-labels, or give the engines' pods the label goodput-exporter/engine=true"
}
