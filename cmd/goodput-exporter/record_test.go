package main

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/goodput-exporter/goodput-exporter/collectors/engine"
	"github.com/goodput-exporter/goodput-exporter/collectors/recording"
	"github.com/goodput-exporter/goodput-exporter/exporter/fact"
)

// fakePager answers without a network: how long an engine takes, and what it says.
type fakePager func(id string, n int) (time.Duration, engine.Raw)

type fakePages struct {
	mu     sync.Mutex
	asked  map[string]int
	answer fakePager
}

func (f *fakePages) Raw(ctx context.Context, t fact.Target) engine.Raw {
	f.mu.Lock()
	if f.asked == nil {
		f.asked = map[string]int{}
	}
	f.asked[t.ID]++
	took, raw := f.answer(t.ID, f.asked[t.ID])
	f.mu.Unlock()
	begun := time.Now()
	timer := time.NewTimer(took)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		raw = engine.Raw{Reason: fact.ReasonTimeout, Detail: "too slow"}
	case <-timer.C:
	}
	raw.Took = time.Since(begun)
	return raw
}

func goodPage(string, int) (time.Duration, engine.Raw) {
	return 10 * time.Millisecond, engine.Raw{ContentType: "text/plain", Body: []byte("x{model_name=\"m\"} 1\n")}
}

func newRecorder(t *testing.T, output string, most int64, pages pager, ids ...string) *recorder {
	t.Helper()
	files, err := newRecordFiles(output, most)
	if err != nil {
		t.Fatal(err)
	}
	disguise, err := recording.NewDisguise([]string{"model_name"})
	if err != nil {
		t.Fatal(err)
	}
	r := &recorder{pager: pages, interval: 2 * time.Second, flush: 5 * time.Second, files: files, disguise: disguise, failures: map[fact.Reason]int{}}
	var targets someTargets
	for _, id := range ids {
		targets = append(targets, fact.Target{ID: id})
	}
	r.source = targets
	return r
}

type someTargets []fact.Target

func (t someTargets) Targets() []fact.Target { return t }

// nextPage is the next page, whatever comes between.
func (r *recordings) nextPage() (recording.Page, error) {
	for {
		switch e, err := r.Next(); {
		case err != nil:
			return recording.Page{}, err
		case e.Page != nil:
			return *e.Page, nil
		}
	}
}

// readRecording reads the pages of files as replay does.
func readRecording(t *testing.T, names ...string) (pages []recording.Page, err error) {
	t.Helper()
	r, err := openRecordings(names)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	for {
		p, err := r.nextPage()
		if errors.Is(err, io.EOF) {
			return pages, nil
		}
		if err != nil {
			return pages, err
		}
		pages = append(pages, p)
	}
}

// TestRecordKeepsTime: a round at every interval, whatever the engines do, for as long as it was told.
func TestRecordKeepsTime(t *testing.T) {
	for name, c := range map[string]struct {
		answer      fakePager
		length      time.Duration
		pages, a, b int // polls that brought a page; asked of a and of b
		timeouts    int
	}{
		"two engines": {goodPage, 20 * time.Second, 20, 10, 10, 0},
		"one that hangs costs only itself": {func(id string, n int) (time.Duration, engine.Raw) {
			took, raw := goodPage(id, n)
			if id == "b" {
				took = time.Hour
			}
			return took, raw
		}, 20 * time.Second, 10, 10, 10, 10},
		"a time that is no whole number of rounds": {goodPage, 5 * time.Second, 6, 3, 3, 0},
	} {
		t.Run(name, func(t *testing.T) {
			output := filepath.Join(t.TempDir(), "r.jsonl.gz")
			synctest.Test(t, func(t *testing.T) {
				pages := &fakePages{answer: c.answer}
				r := newRecorder(t, output, 0, pages, "a", "b")
				r.length = c.length
				begun := time.Now()
				if err := errors.Join(r.run(t.Context(), newProgress(io.Discard, "")), r.files.close()); err != nil {
					t.Fatal(err)
				}
				if took := time.Since(begun); took != c.length {
					t.Errorf("it took %v", took)
				}
				if r.pages != c.pages || pages.asked["a"] != c.a || pages.asked["b"] != c.b || r.failures[fact.ReasonTimeout] != c.timeouts {
					t.Errorf("%d pages, asked %v, failures %v", r.pages, pages.asked, r.failures)
				}
			})
			got, err := readRecording(t, output)
			if err != nil || len(got) != c.a+c.b {
				t.Fatalf("%d pages are read, %v", len(got), err)
			}
			for i, p := range got {
				if p.Err == "" && string(p.Body) != "x{model_name=\"hidden-1\"} 1\n" {
					t.Errorf("page %d is %q", i, p.Body)
				}
			}
		})
	}
}

// TestRecordLosesLittleInAKill copies the file at odd moments, as a kill would leave it: it can always be read to its end,
// and lacks no more than what came since the last flush.
func TestRecordLosesLittleInAKill(t *testing.T) {
	dir := t.TempDir()
	output := filepath.Join(dir, "r.jsonl.gz")
	var copies [][]byte
	var since []time.Duration
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		r := newRecorder(t, output, 0, &fakePages{answer: goodPage}, "a")
		done := make(chan error)
		begun := time.Now()
		go func() { done <- r.run(ctx, newProgress(io.Discard, "")) }()
		for range 12 {
			time.Sleep(3100 * time.Millisecond)
			synctest.Wait()
			data, err := os.ReadFile(output)
			if err != nil {
				t.Error(err)
			}
			copies, since = append(copies, data), append(since, time.Since(begun))
		}
		cancel()
		if err := errors.Join(<-done, r.files.close()); err != nil {
			t.Error(err)
		}
	})
	for i, data := range copies {
		path := filepath.Join(dir, fmt.Sprintf("%d.jsonl.gz", i))
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		pages, err := readRecording(t, path)
		// A flush follows the first round that ends five seconds after the one before it.
		if least := int((since[i] - 7*time.Second) / (2 * time.Second)); len(data) > 0 && err != nil || len(pages) < least {
			t.Errorf("killed after %v: %d pages of at least %d, %v", since[i], len(pages), least, err)
		}
	}
	if pages, err := readRecording(t, output); err != nil || len(pages) != 19 {
		t.Errorf("stopped at the end: %d pages, %v", len(pages), err)
	}
}

// TestRecordRotates into files that replay takes together, each a recording of its own.
func TestRecordRotates(t *testing.T) {
	output := filepath.Join(t.TempDir(), "r.jsonl.gz")
	var names []string
	synctest.Test(t, func(t *testing.T) {
		noise := 0
		r := newRecorder(t, output, 20_000, &fakePages{answer: func(string, int) (time.Duration, engine.Raw) {
			var body bytes.Buffer
			for range 500 { // hardly compressible
				noise = (noise*1103515245 + 12345) & 0x7fffffff
				fmt.Fprintf(&body, "x{n=\"%d\"} %d\n", noise, noise>>7)
			}
			return time.Millisecond, engine.Raw{Body: body.Bytes()}
		}}, "a")
		r.length = time.Minute
		if err := errors.Join(r.run(t.Context(), newProgress(io.Discard, "")), r.files.close()); err != nil {
			t.Error(err)
		}
		names = r.files.names
	})
	if len(names) < 4 || !strings.HasSuffix(names[1], "r.2.jsonl.gz") {
		t.Fatalf("files %v", names)
	}
	if pages, err := readRecording(t, names...); err != nil || len(pages) != 30 {
		t.Errorf("%d pages, %v", len(pages), err)
	}
	for _, n := range names {
		info, err := os.Stat(n)
		if err != nil {
			t.Fatal(err)
		}
		if info.Size() > 60_000 || info.Mode().Perm() != 0o600 {
			t.Errorf("%s has %d bytes and mode %v", n, info.Size(), info.Mode())
		}
	}
	if text := join(names); !strings.HasSuffix(text, fmt.Sprintf("%d files", len(names))) {
		t.Errorf("they are told as %q", text)
	}
}

// TestRecord runs the command against a guarded engine that repeats its password, one that is broken and one that is
// not there, and replays what it wrote.
func TestRecord(t *testing.T) {
	live := livePage(t)
	host := strings.TrimPrefix(live.URL, "http://")
	parrot := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, password, _ := r.BasicAuth()
		fmt.Fprintf(w, "# you said %s\nx{said=%q,q=%q} 1\n", password, password, r.URL.RawQuery)
	}))
	defer parrot.Close()
	cfg := writeFile(t, "goodput.yaml", fmt.Sprintf(`
poll: {interval: 100ms, allow_fast: true}
judgement: {window: 10s}
slos: [{name: chat, clauses: {ttft: 250ms, tpot: 25ms}, objective: 0.95}]
engines:
  targets:
    - {id: live, url: "http://user:hunter2@%s/metrics?token=hunter2"}
    - {id: parrot, url: "http://user:hunter2@%s/metrics?token=hunter2"}
    - {id: gone, url: "http://user:hunter2@%s/metrics"}
`, host, strings.TrimPrefix(parrot.URL, "http://"), freeAddress(t)))
	output := filepath.Join(t.TempDir(), "r.jsonl.gz")
	out := newLockedBuffer()
	if status := run(context.Background(), []string{"record", "--config.file=" + cfg, "--output=" + output, "--for=1s", "--hide-label=model_name"}, out, out); status != 0 {
		t.Fatalf("status %d: %s", status, out)
	}
	if !strings.Contains(out.String(), "polls failed (refused)") || !strings.Contains(out.String(), "MB in "+output) {
		t.Errorf("it says %s", out)
	}
	pages, err := readRecording(t, output)
	if err != nil || len(pages) < 12 {
		t.Fatalf("%d pages, %v", len(pages), err)
	}
	last := map[string]recording.Page{}
	for _, p := range pages {
		last[p.Target] = p
	}
	if reason, _, _ := lastOf(last["gone"]).Failed(); reason != fact.ReasonRefused {
		t.Errorf("the engine that is gone failed as %q", reason)
	}
	if got := string(last["parrot"].Body); got != "# you said <secret>\nx{said=\"<secret>\",q=\"token=<secret>\"} 1\n" {
		t.Errorf("the parrot's page is %q", got)
	}
	sample, err := engine.Decode(last["live"].Body, last["live"].ContentType)
	if err != nil || sample.Ranks[0].Model != "hidden-1" {
		t.Errorf("the live page: %v", err)
	}
	raw := unzipped(t, output)
	for _, secret := range []string{"hunter2", "demo"} {
		if bytes.Contains(raw, []byte(`\"`+secret)) || bytes.Contains(raw, []byte("hunter2")) {
			t.Errorf("%q is in the recording", secret)
		}
	}
	again := run(context.Background(), []string{"record", "--config.file=" + cfg, "--output=" + output, "--for=1s"}, out, out)
	if again != 1 || !strings.Contains(out.String(), "a recording is not written over") {
		t.Errorf("status %d: %s", again, out)
	}
	replayed := replayOutput(t, replayOptions{ConfigFile: cfg, Format: "windows", Recordings: []string{output}})
	if !strings.Contains(replayed, `"engine":"live"`) {
		t.Errorf("replayed: %s", replayed)
	}
}

func lastOf(p recording.Page) *recording.Page { return &p }

func unzipped(t *testing.T, path string) []byte {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func TestRecordFaults(t *testing.T) {
	one := writeFile(t, "one.yaml", chatConfig+"engines: {targets: [{id: a, url: \"http://"+freeAddress(t)+"\"}]}\npoll: {interval: 100ms, allow_fast: true}\n")
	none := writeFile(t, "none.yaml", chatConfig)
	for name, c := range map[string]struct {
		args []string
		want string
	}{
		"nothing to poll":           {[]string{"--config.file=" + none, "--output=x.jsonl.gz"}, "engines.targets and engines.files are empty and engines.kubernetes is not there"},
		"a name that says nothing":  {[]string{"--config.file=" + one, "--output=x.txt"}, "end it in .jsonl.gz"},
		"a directory that is not":   {[]string{"--config.file=" + one, "--output=nowhere/x.jsonl.gz"}, "nowhere"},
		"a label that is needed":    {[]string{"--config.file=" + one, "--output=x.jsonl.gz", "--hide-label=le"}, `--hide-label: the label "le" cannot be hidden`},
		"no flush":                  {[]string{"--config.file=" + one, "--output=x.jsonl.gz", "--flush=0s"}, "must be positive"},
		"nobody who answers at all": {[]string{"--config.file=" + one, "--output=" + filepath.Join(t.TempDir(), "x.jsonl.gz"), "--for=200ms"}, "no page was recorded"},
	} {
		t.Run(name, func(t *testing.T) {
			out := newLockedBuffer()
			if status := run(context.Background(), append([]string{"record"}, c.args...), out, out); status != 1 || !strings.Contains(out.String(), c.want) {
				t.Errorf("status %d, %q not in %s", status, c.want, out)
			}
		})
	}
}

// TestRecordEndsWhenToldTo, also in the middle of a poll that hangs, which is no failure of the engine.
func TestRecordEndsWhenToldTo(t *testing.T) {
	output := filepath.Join(t.TempDir(), "r.jsonl.gz")
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		r := newRecorder(t, output, 0, &fakePages{answer: func(id string, n int) (time.Duration, engine.Raw) {
			took, raw := goodPage(id, n)
			if n == 3 {
				took = time.Hour
			}
			return took, raw
		}}, "a")
		time.AfterFunc(4500*time.Millisecond, cancel)
		begun := time.Now()
		if err := errors.Join(r.run(ctx, newProgress(io.Discard, "")), r.files.close()); err != nil {
			t.Error(err)
		}
		if took := time.Since(begun); took != 4500*time.Millisecond || r.pages != 2 || len(r.failures) != 0 {
			t.Errorf("after %v: %d pages, failures %v", took, r.pages, r.failures)
		}
	})
	if pages, err := readRecording(t, output); err != nil || len(pages) != 2 {
		t.Errorf("%d pages, %v", len(pages), err)
	}
}

// TestRecordTakesTargetsFromFiles too, as serve does.
func TestRecordTakesTargetsFromFiles(t *testing.T) {
	live := livePage(t)
	dir := t.TempDir()
	list := fmt.Sprintf(`[{"targets": [%q], "labels": {"goodput_id": "listed"}}]`, strings.TrimPrefix(live.URL, "http://"))
	for name, text := range map[string]string{
		"targets.json": list,
		"goodput.yaml": chatConfig + "engines: {files: [targets.json]}\njudgement: {window: 10s}\npoll: {interval: 100ms, allow_fast: true}\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	output := filepath.Join(dir, "r.jsonl.gz")
	out := newLockedBuffer()
	if status := run(context.Background(), []string{"record", "--config.file=" + filepath.Join(dir, "goodput.yaml"), "--output=" + output, "--for=300ms"}, out, out); status != 0 {
		t.Fatalf("status %d: %s", status, out)
	}
	if pages, err := readRecording(t, output); err != nil || len(pages) == 0 || pages[0].Target != "listed" {
		t.Errorf("%d pages, %v: %s", len(pages), err, out)
	}
}

// fullDisk takes half of a piece when its time has come.
type fullDisk struct {
	*os.File
	full bool
}

var errFull = errors.New("no space left on device")

func (f *fullDisk) Write(p []byte) (int, error) {
	if !f.full {
		return f.File.Write(p)
	}
	n, _ := f.File.Write(p[:len(p)/2]) // the error is errFull
	return n, errFull
}

// TestRecordOnAFullDisk keeps what was recorded before readable, and says what happened.
func TestRecordOnAFullDisk(t *testing.T) {
	output := filepath.Join(t.TempDir(), "r.jsonl.gz")
	synctest.Test(t, func(t *testing.T) {
		var disk *fullDisk
		r := newRecorder(t, output, 0, &fakePages{answer: func(id string, n int) (time.Duration, engine.Raw) {
			disk.full = n > 6
			return goodPage(id, n)
		}}, "a")
		disk = &fullDisk{File: r.files.file.(*os.File)}
		r.files.file = disk
		err := r.run(t.Context(), newProgress(io.Discard, ""))
		if !errors.Is(err, errFull) || !strings.Contains(err.Error(), "r.jsonl.gz") {
			t.Errorf("error %v", err)
		}
		_ = r.files.close() // the disk is still full
	})
	// The first four were flushed after six seconds; the next flush was due when the disk was full.
	if pages, err := readRecording(t, output); err != nil || len(pages) != 4 {
		t.Errorf("%d pages, %v", len(pages), err)
	}
}

// crowd counts how many ask at once.
type crowd struct {
	mu        sync.Mutex
	now, most int
}

func (c *crowd) Raw(context.Context, fact.Target) engine.Raw {
	c.mu.Lock()
	c.now++
	c.most = max(c.most, c.now)
	c.mu.Unlock()
	<-time.After(100 * time.Millisecond)
	c.mu.Lock()
	c.now--
	c.mu.Unlock()
	_, raw := goodPage("", 0)
	return raw
}

// TestRecordBoundsItsPolls: hundreds of engines are polled in one round, and only so many at once.
func TestRecordBoundsItsPolls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var ids []string
		for i := range 3 * recordParallel {
			ids = append(ids, fmt.Sprintf("e%d", i))
		}
		var pages crowd
		r := newRecorder(t, filepath.Join(t.TempDir(), "r.jsonl.gz"), 0, &pages, ids...)
		if got := r.round(t.Context(), time.Now()); len(got) != len(ids) {
			t.Errorf("%d pages of %d engines", len(got), len(ids))
		}
		if pages.most != recordParallel {
			t.Errorf("%d polls at once, %d are allowed", pages.most, recordParallel)
		}
	})
}
