package file

import (
	"slices"

	"github.com/fsnotify/fsnotify"
)

// notifier tells that something in one of its directories may have changed.
type notifier interface {
	watch(dirs []string) // these and no others
	events() <-chan struct{}
	close()
}

// inotify is the system's notifier.
type inotify struct {
	system *fsnotify.Watcher
	told   chan struct{}
	ended  chan struct{}
}

func newNotifier() (notifier, error) {
	system, err := fsnotify.NewWatcher()
	if err != nil {
		return nil, err
	}
	n := &inotify{system: system, told: make(chan struct{}, 1), ended: make(chan struct{})}
	go n.forward()
	return n, nil
}

// forward tells of events, of which any number are one while nobody has listened. An error, such as too many events at
// once, means that there may have been some.
func (n *inotify) forward() {
	defer close(n.ended)
	for {
		select {
		case e, open := <-n.system.Events:
			if !open {
				return
			}
			if e.Op == fsnotify.Chmod {
				continue // also what backup programs and virus scanners do
			}
		case _, open := <-n.system.Errors:
			if !open {
				return
			}
		}
		select {
		case n.told <- struct{}{}:
		default:
		}
	}
}

// watch leaves out what cannot be watched: the next reading tries again.
func (n *inotify) watch(dirs []string) {
	before := n.system.WatchList()
	for _, dir := range dirs {
		if !slices.Contains(before, dir) {
			_ = n.system.Add(dir)
		}
	}
	for _, dir := range before {
		if !slices.Contains(dirs, dir) {
			_ = n.system.Remove(dir)
		}
	}
}

func (n *inotify) events() <-chan struct{} { return n.told }

func (n *inotify) close() {
	_ = n.system.Close()
	<-n.ended
}
