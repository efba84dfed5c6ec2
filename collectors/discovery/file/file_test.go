package file

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/goodput-exporter/goodput-exporter/collectors/discovery"
	"github.com/goodput-exporter/goodput-exporter/exporter/fact"
)

// words reads a file of ids; the word "broken" is a mistake, and so is an empty file.
func words(data []byte, name string) ([]discovery.Found, error) {
	var all []discovery.Found
	for i, line := range strings.Split(strings.TrimSpace(string(data)), "\n") {
		if line == "broken" || line == "" {
			return nil, fmt.Errorf("%s:%d: is broken; mend it", name, i+1)
		}
		all = append(all, discovery.Found{Target: fact.Target{ID: line}, From: fmt.Sprintf("%s:%d", name, i+1)})
	}
	return all, nil
}

func ids(w *Watcher) string {
	var all []string
	for _, f := range w.List() {
		all = append(all, f.ID)
	}
	return strings.Join(all, " ")
}

// fake is a notifier that tells when a test says so.
type fake struct {
	mu     sync.Mutex
	dirs   []string
	told   chan struct{}
	closed bool
}

func newFake() *fake { return &fake{told: make(chan struct{}, 1)} }

func (f *fake) watch(dirs []string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.dirs = dirs
}
func (f *fake) events() <-chan struct{} { return f.told }
func (f *fake) close()                  { f.closed = true }

// desk is a watcher on a directory of its own.
type desk struct {
	*Watcher
	t    *testing.T
	dir  string
	fake *fake
	log  *bytes.Buffer
}

// open makes a watcher over a.txt, b.txt, ... that holds the given files.
func open(t *testing.T, files map[string]string, tune func(*Config)) *desk {
	t.Helper()
	d := &desk{t: t, dir: t.TempDir(), fake: newFake(), log: &bytes.Buffer{}}
	for name, text := range files {
		d.put(name, text)
	}
	c := Config{
		Patterns: []string{filepath.Join(d.dir, "*.txt")}, Parse: words, Reread: 30 * time.Second,
		Logger: slog.New(slog.NewTextHandler(d.log, nil)), notify: func() (notifier, error) { return d.fake, nil },
	}
	if tune != nil {
		tune(&c)
	}
	w, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	d.Watcher = w
	return d
}

func (d *desk) put(name, text string) {
	d.t.Helper()
	if err := os.WriteFile(filepath.Join(d.dir, name), []byte(text), 0o600); err != nil {
		d.t.Fatal(err)
	}
}

func (d *desk) remove(name string) {
	d.t.Helper()
	if err := os.Remove(filepath.Join(d.dir, name)); err != nil {
		d.t.Fatal(err)
	}
}

// is checks what is known.
func (d *desk) is(want string, broken int) {
	d.t.Helper()
	if got := ids(d.Watcher); got != want {
		d.t.Errorf("targets %q, want %q", got, want)
	}
	if _, got := d.Files(); got != broken {
		d.t.Errorf("%d broken files, want %d", got, broken)
	}
}

// run follows the files in a bubble of virtual time until the test is done with it.
func (d *desk) run(test func()) {
	ctx, stop := context.WithCancel(d.t.Context())
	done := make(chan error, 1)
	go func() { done <- d.Run(ctx) }()
	synctest.Wait()
	test()
	stop()
	if err := <-done; err != nil {
		d.t.Error(err)
	}
	if !d.fake.closed {
		d.t.Error("the notifier is left open")
	}
}

func pass(d time.Duration) {
	<-time.After(d)
	synctest.Wait()
}

func TestReadings(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := open(t, map[string]string{"b.txt": "c", "a.txt": "a\nb", "other.md": "no"}, nil)
		d.is("a b c", 0)
		d.run(func() {
			d.put("a.txt", "a\nx")
			d.is("a b c", 0)
			d.fake.told <- struct{}{}
			pass(settle)
			d.is("a x c", 0)

			d.put("a.txt", "y\nbroken")
			d.put("c.txt", "new")
			d.fake.told <- struct{}{}
			pass(settle)
			d.is("a x c new", 1)

			// Lost events: the net.
			d.put("a.txt", "z")
			d.remove("b.txt")
			pass(29 * time.Second)
			d.is("a x c new", 1)
			pass(2 * time.Second)
			d.is("z new", 0)
		})
		for _, want := range []string{
			"a file of targets has changed", "a file of targets cannot be used: what it named before is kept", "a.txt:2: is broken; mend it", "\"kept targets\"=2",
			"a file of targets can be used again", "a file of targets is gone",
		} {
			if n := strings.Count(d.log.String(), want); n != 1 {
				t.Errorf("%q is %d times in the log\n%s", want, n, d.log.String())
			}
		}
	})
}

func TestAMistakeIsSaidOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := open(t, map[string]string{"a.txt": "broken", "b.txt": "b"}, nil)
		d.is("b", 1)
		d.run(func() { pass(10 * time.Minute) })
		if n := strings.Count(d.log.String(), "cannot be used"); n != 1 {
			t.Errorf("said %d times", n)
		}
		if d.List()[0].From != filepath.Join(d.dir, "b.txt")+":1" {
			t.Errorf("from %s", d.List()[0].From)
		}
	})
}

// TestAFileIsLeftAloneWhileItIsWritten: it is read when it rests, or when it does not rest for long.
func TestAFileIsLeftAloneWhileItIsWritten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := open(t, map[string]string{"a.txt": "a\nb\nc"}, nil)
		d.run(func() {
			d.put("a.txt", "a")
			for range 10 {
				d.fake.told <- struct{}{}
				pass(settle / 2)
				d.is("a b c", 0)
			}
			d.put("a.txt", "a\nb\nc\nd")
			pass(settle)
			d.is("a b c d", 0)
			d.put("a.txt", "e")
			for range int(hurry/(settle/2)) + 2 {
				d.fake.told <- struct{}{}
				pass(settle / 2)
			}
			d.is("e", 0)
		})
	})
}

func TestWithoutANotifierFilesAreRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := open(t, map[string]string{"a.txt": "a"}, func(c *Config) {
			c.notify = func() (notifier, error) { return nil, errors.New("too many watches") }
		})
		d.fake.closed = true
		d.run(func() {
			d.put("a.txt", "b")
			pass(31 * time.Second)
			d.is("b", 0)
		})
		if !strings.Contains(d.log.String(), "too many watches") {
			t.Error("it is not said that nothing is watched")
		}
	})
}

// TestAnUnreadableDirectoryRemovesNothing: only a file that is known to be gone takes its targets with it.
func TestAnUnreadableDirectoryRemovesNothing(t *testing.T) {
	d := open(t, map[string]string{"a.txt": "a"}, func(c *Config) {})
	link := filepath.Join(d.dir, "b.txt")
	if err := os.Symlink(filepath.Join(d.dir, "nowhere"), link); err != nil {
		t.Fatal(err)
	}
	d.read()
	d.is("a", 1)
	if !strings.Contains(d.log.String(), "b.txt: cannot be read: no such file or directory; let the user") {
		t.Errorf("log\n%s", d.log.String())
	}
	// The pattern finds nothing, although the file is there.
	d.Patterns = []string{filepath.Join(d.dir, "none-*.txt")}
	d.read()
	d.is("a", 1)
}

func TestNewRefuses(t *testing.T) {
	for want, c := range map[string]Config{
		"file discovery: a pattern is missing":                      {Parse: words},
		"file discovery: a parser is missing":                       {Patterns: []string{"x"}},
		"file discovery: pattern \"[\": syntax error in pattern":    {Patterns: []string{"["}, Parse: words},
		"file discovery: -1s between two readings must be positive": {Patterns: []string{"x"}, Parse: words, Reread: -time.Second},
	} {
		if w, err := New(c); err == nil || err.Error() != want || w != nil {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

// live follows a directory with the system's own notifier, and reads again too rarely for a test to see it.
func live(t *testing.T, files map[string]string) *desk {
	t.Helper()
	d := open(t, files, func(c *Config) { c.notify, c.Reread, c.Logger = nil, time.Hour, nil })
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- d.Run(ctx) }()
	t.Cleanup(func() { stop(); <-done })
	// Run watches before it reads for the first time, so that what it has read is watched.
	d.put("first.txt", "first")
	d.becomes("first")
	d.remove("first.txt")
	return d
}

// becomes waits until a word is among the targets, or with a ! before it no longer.
func (d *desk) becomes(word string) {
	d.t.Helper()
	gone := strings.HasPrefix(word, "!")
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.After(20 * time.Second); ; {
		if strings.Contains(" "+ids(d.Watcher)+" ", " "+strings.TrimPrefix(word, "!")+" ") != gone {
			return
		}
		select {
		case <-tick.C:
		case <-deadline:
			d.t.Fatalf("targets %q never became %s", ids(d.Watcher), word)
		}
	}
}

// TestTheSystemTells of files that are written, replaced, removed, and behind a link that is swapped.
func TestTheSystemTells(t *testing.T) {
	d := live(t, map[string]string{"a.txt": "a"})
	d.put("a.txt", "written")
	d.becomes("written")
	d.put("new", "replaced")
	if err := os.Rename(filepath.Join(d.dir, "new"), filepath.Join(d.dir, "a.txt")); err != nil {
		t.Fatal(err)
	}
	d.becomes("replaced")
	d.remove("a.txt")
	d.becomes("!replaced")
}

// TestAConfigMapIsFollowed: Kubernetes puts each version into a directory of its own, leads a link named ..data to it, and
// replaces that link when all is there.
func TestAConfigMapIsFollowed(t *testing.T) {
	d := live(t, nil)
	version := func(name, text string) {
		t.Helper()
		dir := filepath.Join(d.dir, ".."+name)
		if err := errors.Join(os.Mkdir(dir, 0o700), os.WriteFile(filepath.Join(dir, "t.txt"), []byte(text), 0o600), os.Symlink(".."+name, filepath.Join(d.dir, "..data_tmp")),
			os.Rename(filepath.Join(d.dir, "..data_tmp"), filepath.Join(d.dir, "..data"))); err != nil {
			t.Fatal(err)
		}
	}
	version("v1", "one")
	if err := os.Symlink("..data/t.txt", filepath.Join(d.dir, "t.txt")); err != nil {
		t.Fatal(err)
	}
	d.becomes("one")
	for i, word := range []string{"two", "three", "four"} {
		version(fmt.Sprint("v", i+2), word)
		if err := os.RemoveAll(filepath.Join(d.dir, fmt.Sprint("..v", i+1))); err != nil {
			t.Fatal(err)
		}
		d.becomes(word)
	}
	if _, broken := d.Files(); broken != 0 {
		t.Errorf("%d broken", broken)
	}
}

// TestAPipeIsNotWaitedFor: what is no file is a mistake like any other, and holds nothing up.
func TestAPipeIsNotWaitedFor(t *testing.T) {
	d := open(t, map[string]string{"a.txt": "x"}, nil)
	if err := syscall.Mkfifo(filepath.Join(d.dir, "b.txt"), 0o600); err != nil {
		t.Fatal(err)
	}
	d.read()
	d.is("x", 1)
	if !strings.Contains(d.log.String(), "it is not a regular file") {
		t.Errorf("log: %s", d.log)
	}
}
