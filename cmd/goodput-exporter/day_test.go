package main

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/goodput-exporter/goodput-exporter/exporter"
	"github.com/goodput-exporter/goodput-exporter/exporter/fact"
	"github.com/goodput-exporter/goodput-exporter/exporter/fold"
	"github.com/goodput-exporter/goodput-exporter/exporter/hist"
)

// clockwork is a fleet in which each engine finishes a request at each tick of its own rhythm, so that what it has
// finished at any instant is known without asking it.
type clockwork struct {
	edges, tokens []float64

	mu    sync.Mutex
	keeps map[string]bool // targets for which something is kept
}

// finished is how many requests an engine has finished at a time, unix seconds.
func (*clockwork) finished(id string, at float64) uint64 {
	rate := 1 + float64(len(id))/3 + float64(id[len(id)-1]%7)
	return uint64(rate * (at - 9e8))
}

func (c *clockwork) Poll(ctx context.Context, t fact.Target) fact.Poll {
	p := fact.Poll{Target: t.ID, Sent: unix(time.Now())}
	select {
	case <-time.After(10 * time.Millisecond):
	case <-ctx.Done():
		p.Received, p.Reason = unix(time.Now()), fact.ReasonTimeout
		return p
	}
	c.mu.Lock()
	c.keeps[t.ID] = true
	c.mu.Unlock()
	p.Received, p.Sample = unix(time.Now()), c.page(c.finished(t.ID, p.Sent))
	return p
}

func (c *clockwork) Forget(id string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.keeps, id)
}

func (c *clockwork) page(n uint64) *fact.EngineSample {
	r := fact.Rank{
		Model: "m", Finished: []fact.ReasonCount{{Reason: "stop", Count: n}}, Requests: fact.Known(float64(n)), Running: fact.Known(0), Waiting: fact.Known(0),
		PromptTokens: fact.Known(float64(2 * n)), OutputTokens: fact.Known(float64(2 * n)), Preemptions: fact.Known(0),
	}
	// Each stage takes 8 ms, so that the sums add up as on a real page, and each request has two tokens.
	for f, parts := range map[fact.Family]uint64{
		fact.Queue: 1, fact.Prefill: 1, fact.Decode: 1, fact.TPOT: 1, fact.TokenGap: 1, fact.TTFT: 2, fact.Inference: 2, fact.E2E: 3,
	} {
		r.Histograms[f] = hist.Histogram{Edges: c.edges, Counts: []uint64{n, 0, 0, 0, 0, 0}, Sum: float64(parts*n) / 128}
	}
	for _, f := range []fact.Family{fact.PromptTokens, fact.OutputTokens} {
		r.Histograms[f] = hist.Histogram{Edges: c.tokens, Counts: []uint64{0, n, 0}, Sum: float64(2 * n)}
	}
	return &fact.EngineSample{
		Dialect: "clockwork", ProcessStart: 9e8, Ranks: []fact.Rank{r}, HTTPKnown: true, Admission: fact.Known(0),
		HTTP: []fact.HTTPCount{{Handler: "/v1/completions", Method: "POST", Class: "2xx", Count: n}},
	}
}

// auditor is a reducer that holds each committed window against the clockwork, and against the window before it.
type auditor struct {
	t     *testing.T
	fleet *clockwork
	*fold.State
	ends    map[string]float64 // of the last window, by engine and objective
	counted map[string]uint64  // in all windows, likewise
	windows int
	gone    map[string]bool // engines and objectives that were away since their last window
}

func (a *auditor) Apply(r fold.Round) *fold.Snapshot {
	s := a.State.Apply(r)
	present := map[string]bool{}
	for i := range s.Engines {
		for k := range s.Engines[i].SLOs {
			if e := &s.Engines[i]; !e.Gone {
				present[e.ID+" "+e.SLOs[k].Objective.Name] = true
			}
		}
	}
	for _, w := range s.Windows {
		key := w.Engine + " " + w.SLO
		if want := a.fleet.finished(w.Engine, w.End) - a.fleet.finished(w.Engine, w.Start); w.Requests != want || w.Lower != want {
			a.t.Errorf("%s: a window from %f to %f has %d requests and %d qualified, want %d", key, w.Start, w.End, w.Requests, w.Lower, want)
		}
		if end, known := a.ends[key]; known && w.Start != end && (w.Start < end || !a.gone[key]) {
			a.t.Errorf("%s: a window begins at %f, the one before ended at %f", key, w.Start, end)
		}
		a.ends[key] = w.End
		a.counted[key] += w.Requests
		a.windows++
		delete(a.gone, key)
	}
	for key := range a.ends {
		if !present[key] {
			a.gone[key] = true
		}
	}
	return s
}

// churn is the world of the test.
type churn struct {
	t       *testing.T
	rng     *rand.Rand
	dir     string
	fleet   *clockwork
	auditor *auditor
	around  surroundings
	e       *exporter.Exporter

	reloads, refused, files int
	listed                  []string // targets of the file, as it was last sound
}

// write puts a file into its place at once, as an operator's tool does.
func (d *churn) write(name, text string) {
	d.t.Helper()
	path := filepath.Join(d.dir, name)
	if err := os.WriteFile(path+".new", []byte(text), 0o600); err != nil {
		d.t.Fatal(err)
	}
	if err := os.Rename(path+".new", path); err != nil {
		d.t.Fatal(err)
	}
}

// configure writes a configuration in which only the objective "stays" and the target "a" are certain.
func (d *churn) configure() {
	pick := func(of ...string) string { return of[d.rng.IntN(len(of))] }
	text := "poll: {interval: " + pick("8s", "10s", "12s") + "}\nslos:\n  - {name: stays, clauses: {ttft: 250ms, tpot: 25ms}, objective: " + pick("0.9", "0.95", "0.99") + "}\n"
	if d.rng.IntN(2) == 0 {
		text += "  - {name: changes, clauses: {ttft: " + pick("100ms", "250ms", "500ms") + "}, objective: 0.9}\n"
	}
	text += "quantiles: {q: [" + pick("0.5", "0.5, 0.99") + "], windows: [" + pick("5m", "5m, 1h") + "]}\n"
	text += "engines:\n  files: [targets.yaml]\n  targets:\n    - {id: a, url: \"http://a:8000\", labels: {tier: " + pick("gold", "silver") + "}}\n"
	if d.rng.IntN(2) == 0 {
		text += "    - {id: b, url: \"http://b:8000\"}\n"
	}
	d.write("goodput.yaml", text)
}

// list writes a file of targets.
func (d *churn) list() {
	d.files++
	d.listed = nil
	text := ""
	for i := range 5 {
		if d.rng.IntN(3) > 0 {
			id := fmt.Sprint("x", i)
			d.listed = append(d.listed, id)
			text += fmt.Sprintf("- targets: [\"%s:8000\"]\n  labels: {goodput_id: %s, rack: r%d}\n", id, id, d.rng.IntN(3))
		}
	}
	if text == "" {
		text = "[]\n"
	}
	d.write("targets.yaml", text)
}

func (d *churn) generation() (*generation, error) {
	cfg, err := loadServed(filepath.Join(d.dir, "goodput.yaml"))
	if err != nil {
		return nil, err
	}
	return d.around.build(cfg)
}

// settings are those of a generation, with the clockwork in the place of the network.
func (d *churn) settings(g *generation) exporter.Settings {
	s := g.settings(d.auditor.State)
	s.Poller = d.fleet
	return s
}

func (d *churn) reload() {
	g, err := d.generation()
	if err != nil {
		d.refused++
		return
	}
	if err := d.e.Reload(d.settings(g)); err != nil {
		d.t.Fatal(err)
	}
	d.reloads++
}

// happen does one of the things that operators do.
func (d *churn) happen() {
	switch d.rng.IntN(6) {
	case 0, 1:
		d.configure()
		d.reload()
	case 2:
		d.write("goodput.yaml", "slos: [{name: stays}]\n")
		d.reload()
	case 3, 4:
		d.list()
	case 5:
		d.write("targets.yaml", "- targets: [x0:8000\n")
	}
}

// TestADayOfChanges plays a day: every few minutes the configuration is reloaded, rightly or wrongly, and targets come, go,
// and change their labels. No window is lost or in two places, and at the end there is no more than there was after two
// hours.
func TestADayOfChanges(t *testing.T) {
	hours := 24
	if testing.Short() {
		hours = 3
	}
	synctest.Test(t, func(t *testing.T) {
		d := &churn{
			t: t, rng: rand.New(rand.NewPCG(9, 9)), dir: t.TempDir(), fleet: &clockwork{edges: []float64{0.025, 0.1, 0.25, 0.5, 1}, tokens: []float64{1, 2}, keeps: map[string]bool{}},
			around: surroundings{running: new(sync.WaitGroup), unwatched: true, log: slog.New(slog.DiscardHandler)},
		}
		d.configure()
		d.list()
		first, err := d.generation()
		if err != nil {
			t.Fatal(err)
		}
		started := time.Now()
		d.auditor = &auditor{t: t, fleet: d.fleet, State: fold.New(foldOptions(first.cfg, unix(started))), ends: map[string]float64{}, counted: map[string]uint64{}, gone: map[string]bool{}}
		d.e, err = exporter.New(exporter.Config{Settings: d.settings(first), Reducer: d.auditor, Started: started})
		if err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- d.e.Run(ctx) }()

		var early uint64
		goroutines := 0
		for time.Since(started) < time.Duration(hours)*time.Hour {
			<-time.After(time.Duration(60+d.rng.IntN(600)) * time.Second)
			synctest.Wait()
			d.happen()
			if early == 0 && time.Since(started) > 2*time.Hour {
				early, goroutines = heap(), runtime.NumGoroutine()
			}
		}
		// An end that is known: a sound file, and time for it to be seen and for windows to end.
		d.list()
		<-time.After(3 * time.Minute)
		synctest.Wait()
		d.check(heap(), early, runtime.NumGoroutine(), goroutines)
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		d.around.running.Wait()
	})
}

func heap() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

func (d *churn) check(late, early uint64, goroutines, before int) {
	d.t.Helper()
	s := d.e.Snapshot()
	var current []string
	for i := range s.Engines {
		e := &s.Engines[i]
		if e.Gone {
			d.t.Errorf("%s is still on the page", e.ID)
		}
		current = append(current, e.ID)
		for k := range e.SLOs {
			if o := &e.SLOs[k]; o.Objective.Name == "stays" && e.ID == "a" && o.Requests != d.auditor.counted["a stays"] {
				d.t.Errorf("the counter of a says %d, its windows %d", o.Requests, d.auditor.counted["a stays"])
			}
		}
	}
	kept := slices.Sorted(maps.Keys(d.fleet.keeps))
	if !slices.Equal(kept, current) {
		d.t.Errorf("something is kept for %v, targets are %v", kept, current)
	}
	for _, id := range d.listed {
		if !slices.Contains(current, id) {
			d.t.Errorf("%s of the file is not polled", id)
		}
	}
	d.t.Logf("%d windows, %d reloads, %d refused, %d files; heap %d kB after 2 h, %d kB at the end; goroutines %d, %d",
		d.auditor.windows, d.reloads, d.refused, d.files, early/1024, late/1024, before, goroutines)
	if d.reloads < 5 || d.refused < 1 || d.files < 5 || d.auditor.windows < 500 {
		d.t.Error("too little has happened")
	}
	if late > early+early/2+4<<20 {
		d.t.Errorf("the heap grew from %d to %d bytes", early, late)
	}
	if goroutines > before+2 {
		d.t.Errorf("%d goroutines, %d after two hours", goroutines, before)
	}
}
