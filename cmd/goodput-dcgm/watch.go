//go:build linux && cgo

package main

import (
	"fmt"
	"math/rand/v2"
	"os"
	"time"

	"github.com/NVIDIA/go-dcgm/pkg/dcgm"
)

// How long DCGM keeps samples. Of values only the newest is read, so three intervals are plenty; events are kept until
// the longest hang of a call, a minute, is long over.
const (
	keepValues = 3 // intervals
	keepEvents = 10 * time.Minute
)

// watch is one group of entities for which one group of fields is sampled.
type watch struct {
	group  dcgm.GroupHandle
	fields dcgm.FieldHandle
}

// watcher makes watches. Names of groups are the host engine's, shared by all its clients, so each is made unique.
type watcher struct {
	interval time.Duration
	prefix   string
	made     int
}

func newWatcher(interval time.Duration) *watcher {
	return &watcher{interval: interval, prefix: fmt.Sprintf("goodput-%d-%08x", os.Getpid(), rand.Uint32())}
}

func (w *watcher) name() string {
	w.made++
	return fmt.Sprintf("%s-%d", w.prefix, w.made)
}

// values watches fields at the interval.
func (w *watcher) values(entities []dcgm.GroupEntityPair, fields []int) (*watch, error) {
	return w.watch(entities, fields, keepValues*w.interval)
}

// events watches fields of which each sample counts.
func (w *watcher) events(entities []dcgm.GroupEntityPair, fields []int) (*watch, error) {
	return w.watch(entities, fields, keepEvents)
}

// watch returns nil when there is nothing to watch. What it made before it failed is taken back.
func (w *watcher) watch(entities []dcgm.GroupEntityPair, fields []int, keep time.Duration) (made *watch, err error) {
	if len(entities) == 0 || len(fields) == 0 {
		return nil, nil
	}
	group, err := dcgm.CreateGroup(w.name())
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			_ = dcgm.DestroyGroup(group)
		}
	}()
	for _, e := range entities {
		if err := dcgm.AddEntityToGroup(group, e.EntityGroupId, e.EntityId); err != nil {
			return nil, err
		}
	}
	ids, err := dcgm.FieldGroupCreate(w.name(), shorts(fields))
	if err != nil {
		return nil, err
	}
	// A number of samples to keep would keep them beyond the age, so there is none.
	if err := dcgm.WatchFieldsWithGroupEx(ids, group, w.interval.Microseconds(), keep.Seconds(), 0); err != nil {
		_ = dcgm.FieldGroupDestroy(ids)
		return nil, err
	}
	return &watch{group, ids}, nil
}

// known sorts out the fields that the library or the engine has never heard of: one of them spoils a whole group.
func (w *watcher) known(fields []int) (good []int, bad map[int]string) {
	if w.try(fields) == nil {
		return fields, nil
	}
	bad = map[int]string{}
	for _, f := range fields {
		if err := w.try([]int{f}); err != nil {
			bad[f] = err.Error()
			continue
		}
		good = append(good, f)
	}
	return good, bad
}

func (w *watcher) try(fields []int) error {
	ids, err := dcgm.FieldGroupCreate(w.name(), shorts(fields))
	if err != nil {
		return err
	}
	return dcgm.FieldGroupDestroy(ids)
}

// end takes a watch back. Its errors are of no use: with the session the engine forgets it anyway.
func (w *watch) end() {
	if w == nil {
		return
	}
	_ = dcgm.UnwatchFields(w.fields, w.group)
	_ = dcgm.FieldGroupDestroy(w.fields)
	_ = dcgm.DestroyGroup(w.group)
}

func shorts(fields []int) []dcgm.Short {
	out := make([]dcgm.Short, len(fields))
	for i, f := range fields {
		out[i] = dcgm.Short(f)
	}
	return out
}
