package cluster

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/goodput-exporter/goodput-exporter/collectors/discovery/kubernetes"
	"github.com/goodput-exporter/goodput-exporter/internal/kube"
)

// watcher is a discovery that runs.
type watcher struct {
	*kubernetes.Watcher
	t   testing.TB
	log *lines
}

// watch starts a discovery of the pods of a node through a front.
func watch(t testing.TB, c *cluster, f *front, change func(*kubernetes.Config)) *watcher {
	t.Helper()
	log := &lines{}
	logger := slog.New(slog.NewTextHandler(log, nil))
	cfg := kubernetes.Config{
		Node: node, Logger: logger,
		API: kube.Config{Server: f.url, TokenFile: c.dir + "/token", CAFile: c.ca(), Logger: logger},
	}
	if change != nil {
		change(&cfg)
	}
	w, err := kubernetes.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := w.Run(ctx); err != nil && ctx.Err() == nil {
			t.Errorf("discovery ended: %v", err)
		}
	}()
	t.Cleanup(func() { cancel(); <-done })
	return &watcher{w, t, log}
}

// ids are the engines that are known, in order.
func (w *watcher) ids() (ids []string) {
	for _, found := range w.List() {
		ids = append(ids, found.Target.ID)
	}
	return ids
}

// becomes waits until exactly these engines are known.
func (w *watcher) becomes(most time.Duration, want ...string) {
	w.t.Helper()
	until(w.t, most, fmt.Sprintf("the engines are %q", want), func() error {
		if got := w.ids(); !slices.Equal(got, want) {
			return fmt.Errorf("they are %q; %+v", got, w.Status())
		}
		return nil
	})
}

// stays holds that these engines are known for a while.
func (w *watcher) stays(long time.Duration, want ...string) {
	w.t.Helper()
	for end := time.Now().Add(long); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		if got := w.ids(); !slices.Equal(got, want) {
			w.t.Fatalf("the engines became %q, want %q to stay; %+v", got, want, w.Status())
		}
	}
}

// up waits until the API server is followed, or is not.
func (w *watcher) up(most time.Duration, want bool) {
	w.t.Helper()
	until(w.t, most, fmt.Sprintf("up is %v", want), func() error {
		if s := w.Status(); s.Up != want {
			return fmt.Errorf("%+v", s)
		}
		return nil
	})
}

// tells waits until the status says all of these words.
func (w *watcher) tells(most time.Duration, words ...string) {
	w.t.Helper()
	until(w.t, most, fmt.Sprintf("the detail tells %q", words), func() error {
		detail := w.Status().Detail
		for _, word := range words {
			if !strings.Contains(detail, word) {
				return fmt.Errorf("%q", detail)
			}
		}
		return nil
	})
}

// lines is a log.
type lines struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}
