// Package file knows the targets that files name, and follows the files as they change. It does not know what stands in
// a file: a function that it is given reads that.
package file

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/goodput-exporter/goodput-exporter/collectors/discovery"
)

// Config is what a Watcher is told once.
type Config struct {
	Patterns []string // of paths, as of the shell; required
	// Parse reads one file, whose name is for its errors. An error holds one line for each mistake. Required.
	Parse  func(data []byte, name string) ([]discovery.Found, error)
	Logger *slog.Logger  // nothing is logged by default
	Reread time.Duration // from one reading to the next when no event comes; half a minute by default
	// Unwatched leaves it at reading the files again from time to time, as where the system tells nothing.
	Unwatched bool

	notify func() (notifier, error) // what tells of changes; tests have their own
}

// settle is how long files must be left alone before they are read: whoever writes in steps is not read in between.
// hurry is for how long that is waited for at most.
const (
	settle = 100 * time.Millisecond
	hurry  = 2 * time.Second
)

// maxFile is what is read of a file, in bytes: one more than what Parse is known to accept.
const maxFile = 1<<20 + 1

// Watcher follows files. A file that cannot be used keeps the targets that it named last.
type Watcher struct {
	Config
	files map[string]*file // by path; only the goroutine of Run writes to it after New
	state atomic.Pointer[state]
}

// file is one file as it was last read.
type file struct {
	sum     [sha256.Size]byte
	read    bool // sum is that of its text
	targets []discovery.Found
	mistake string // why the last reading is of no use; "" when it is
}

// state is what is handed out. It is never written to.
type state struct {
	targets       []discovery.Found
	files, broken int
}

// New reads the files once. Files that cannot be used are no error: they are said and counted, like later.
func New(c Config) (*Watcher, error) {
	switch {
	case len(c.Patterns) == 0:
		return nil, errors.New("file discovery: a pattern is missing")
	case c.Parse == nil:
		return nil, errors.New("file discovery: a parser is missing")
	case c.Reread < 0:
		return nil, fmt.Errorf("file discovery: %v between two readings must be positive", c.Reread)
	}
	for _, p := range c.Patterns {
		if _, err := filepath.Match(p, ""); err != nil {
			return nil, fmt.Errorf("file discovery: pattern %q: %w", p, err)
		}
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	if c.Reread == 0 {
		c.Reread = 30 * time.Second
	}
	if c.notify == nil {
		c.notify = newNotifier
	}
	w := &Watcher{Config: c, files: map[string]*file{}}
	w.state.Store(&state{})
	w.read()
	if len(w.files) == 0 {
		c.Logger.Warn("no file fits the patterns of target files", "patterns", strings.Join(c.Patterns, ", "))
	}
	return w, nil
}

// List is what the files name, in the order of their paths.
func (w *Watcher) List() []discovery.Found { return w.state.Load().targets }

// Files is the number of files in sight, and of those whose last reading is of no use.
func (w *Watcher) Files() (all, broken int) {
	s := w.state.Load()
	return s.files, s.broken
}

// Run follows the files until the context is done. Where changes cannot be watched the files are read again from time to
// time all the same.
func (w *Watcher) Run(ctx context.Context) error {
	var events <-chan struct{}
	n, err := w.notifier()
	if err != nil {
		w.Logger.Warn("changes of target files cannot be watched: the files are read again from time to time", "every", w.Reread, "error", err)
	}
	if n != nil {
		defer n.close()
		events = n.events()
	}
	timer := time.NewTimer(0) // what changed since New
	defer timer.Stop()
	var dirty time.Time // of the first event since the last reading; zero: none
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-events:
			if dirty.IsZero() {
				dirty = time.Now()
			}
			timer.Reset(max(0, min(settle, time.Until(dirty.Add(hurry)))))
		case <-timer.C:
			if n != nil {
				// Before reading: what changes from here on is told.
				w.watch(n)
			}
			w.read()
			dirty = time.Time{}
			timer.Reset(w.Reread)
		}
	}
}

// notifier tells of changes; nil where nothing does.
func (w *Watcher) notifier() (notifier, error) {
	if w.Unwatched {
		return nil, nil
	}
	return w.notify()
}

// watch has the directories of the files watched, and those that links lead to: a directory tells of files that are
// replaced, which a file does not.
func (w *Watcher) watch(n notifier) {
	var dirs []string
	for _, p := range w.Patterns {
		found, _ := filepath.Glob(filepath.Dir(p)) // patterns have been checked
		dirs = append(dirs, found...)
	}
	for _, path := range w.paths() {
		if real, err := filepath.EvalSymlinks(path); err == nil {
			dirs = append(dirs, filepath.Dir(real))
		}
	}
	slices.Sort(dirs)
	n.watch(slices.Compact(dirs))
}

// paths are the files that fit now.
func (w *Watcher) paths() []string {
	var all []string
	for _, p := range w.Patterns {
		found, _ := filepath.Glob(p)
		all = append(all, found...)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// read reads all files and hands out what they name.
func (w *Watcher) read() {
	paths := w.paths()
	for path := range w.files {
		if slices.Contains(paths, path) {
			continue
		}
		// A pattern also finds nothing where a directory cannot be read, which must not remove its targets.
		if _, err := os.Lstat(path); err == nil || !errors.Is(err, fs.ErrNotExist) {
			paths = append(paths, path)
			continue
		}
		w.Logger.Info("a file of targets is gone", "file", path, "targets", len(w.files[path].targets))
		delete(w.files, path)
	}
	slices.Sort(paths)
	changed := len(paths) != w.state.Load().files
	for _, path := range paths {
		changed = w.readOne(path) || changed
	}
	if !changed {
		return
	}
	next := &state{files: len(paths)}
	for _, path := range paths {
		next.targets = append(next.targets, w.files[path].targets...)
		if w.files[path].mistake != "" {
			next.broken++
		}
	}
	w.state.Store(next)
}

// readOne reads a file and reports whether that changed anything.
func (w *Watcher) readOne(path string) bool {
	f, known := w.files[path]
	if !known {
		f = &file{}
		w.files[path] = f
	}
	text, err := load(path)
	if err != nil {
		f.read = false
		return w.broken(path, f, fmt.Errorf("%s: cannot be read: %w; let the user that runs the exporter read it, or remove it", path, err)) || !known
	}
	sum := sha256.Sum256(text)
	if f.read && sum == f.sum {
		return !known
	}
	f.sum, f.read = sum, true
	targets, err := w.Parse(text, path)
	if err != nil {
		return w.broken(path, f, err) || !known
	}
	switch {
	case f.mistake != "":
		w.Logger.Info("a file of targets can be used again", "file", path, "targets", len(targets))
	case known:
		w.Logger.Info("a file of targets has changed", "file", path, "targets", len(targets), "before", len(f.targets))
	}
	f.mistake, f.targets = "", targets
	return true
}

// broken notes a mistake, and says it unless it was the last thing that was said.
func (w *Watcher) broken(path string, f *file, err error) bool {
	if f.mistake == err.Error() {
		return false
	}
	f.mistake = err.Error()
	first, rest, _ := strings.Cut(f.mistake, "\n")
	args := []any{"error", first, "kept targets", len(f.targets)}
	if rest != "" {
		args = append(args, "more mistakes", strings.Count(rest, "\n")+1)
	}
	w.Logger.Warn("a file of targets cannot be used: what it named before is kept", args...)
	return true
}

// load reads a file. What else a pattern may fit is not opened: a pipe would be waited for without end.
func load(path string) ([]byte, error) {
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
		return nil, errors.New("it is not a regular file")
	}
	f, err := os.Open(path)
	if err == nil {
		defer f.Close()
		var text []byte
		if text, err = io.ReadAll(io.LimitReader(f, maxFile)); err == nil {
			return text, nil
		}
	}
	if p, ok := errors.AsType[*fs.PathError](err); ok {
		err = p.Err
	}
	return nil, err
}
