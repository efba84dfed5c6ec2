package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/goodput-exporter/goodput-exporter/collectors/engine"
	"github.com/goodput-exporter/goodput-exporter/collectors/recording"
	"github.com/goodput-exporter/goodput-exporter/exporter"
	"github.com/goodput-exporter/goodput-exporter/exporter/config"
	"github.com/goodput-exporter/goodput-exporter/exporter/fact"
)

// recordOptions is what the record command was told.
type recordOptions struct {
	ConfigFile string
	Output     string
	For        time.Duration // 0: until it is stopped
	Flush      time.Duration // how often what was recorded becomes safe
	MaxSize    int64         // bytes after which a further file is begun; 0: never
	Hide       []string      // labels whose values are not recorded
	Notes      io.Writer
	Log        *slog.Logger
}

// pager fetches a page as it is served.
type pager interface {
	Raw(context.Context, fact.Target) engine.Raw
}

// runRecord writes the pages of all configured engines to a recording until its time is up or it is stopped.
func runRecord(ctx context.Context, o recordOptions, out io.Writer) error {
	cfg, err := config.Load(o.ConfigFile)
	if err != nil {
		return err
	}
	switch {
	case !finds(cfg):
		return fmt.Errorf("%s: engines.targets and engines.files are empty and engines.kubernetes is not there, so there is nothing to record", o.ConfigFile)
	case o.For < 0 || o.Flush <= 0:
		return fmt.Errorf("--for=%v must not be negative, and --flush=%v must be positive", o.For, o.Flush)
	case o.MaxSize < 0:
		return fmt.Errorf("--max-size=%d must not be negative", o.MaxSize)
	}
	disguise, err := recording.NewDisguise(o.Hide)
	if err != nil {
		return fmt.Errorf("--hide-label: %w", err)
	}
	var following sync.WaitGroup
	defer following.Wait()
	g, err := newGeneration(cfg, &following, o.Log)
	if err != nil {
		return err
	}
	defer g.retire()
	files, err := newRecordFiles(o.Output, o.MaxSize)
	if err != nil {
		return err
	}
	r := &recorder{
		pager: g.fetcher, source: g.targets, interval: cfg.Poll.Interval, length: o.For, flush: o.Flush,
		files: files, disguise: disguise, failures: map[fact.Reason]int{},
	}
	if cfg.Spans.Taken() {
		r.tape = newTape(time.Now())
		r.spans = newIntake(o.Log, r.tape.take)
		defer r.spans.shut()
		listenForRecording(cfg, r.spans, out)
	}
	gpus, notRead, err := newGPUTape(cfg, g.locatedGPUs, disguise, o.Log)
	if err != nil {
		return errors.Join(err, files.close())
	}
	if notRead != "" {
		fmt.Fprintf(out, "GPUs are not recorded: %s.\n", notRead)
	}
	stopGPUs := gpus.follow(ctx)
	defer stopGPUs()
	r.gpus = gpus
	fmt.Fprintf(out, "Recording every %v to %s", cfg.Poll.Interval, o.Output)
	if o.For > 0 {
		fmt.Fprintf(out, " for %v", o.For)
	}
	fmt.Fprint(out, "; Ctrl-C ends it. Each page costs an engine what a poll of the exporter costs it.\n")
	bar := newProgress(o.Notes, "recording")
	runErr := r.run(ctx, bar)
	bar.done()
	stopGPUs()
	if r.spans != nil {
		r.spans.shut() // so that what came until now is on the tape
	}
	err = errors.Join(runErr, r.write(nil), files.close())
	r.summary(out)
	if r.pages == 0 && err == nil {
		err = r.nothing(g)
	}
	return err
}

// recorder polls in rounds and writes what comes back.
type recorder struct {
	pager    pager
	source   exporter.Source
	interval time.Duration
	length   time.Duration // 0: no end
	flush    time.Duration
	files    *recordFiles
	disguise *recording.Disguise
	gpus     *gpuTape // nil: none
	tape     *tape    // nil: no spans
	spans    *intake  // that feeds it

	pages    int
	failures map[fact.Reason]int
}

// maxPending is how much is gathered in memory between two flushes, in bytes.
const maxPending = 8 << 20

// run records until its time is up or the context is done, both of which are a good end. Rounds are due at whole
// intervals after the first; one that is due while the one before goes on is left out.
//
// Times are those of the start and what a monotonic clock adds, so that a step of the wall clock does not put pages out of
// order.
func (r *recorder) run(ctx context.Context, bar *progress) error {
	begun := time.Now()
	flushed, due := begun, begun
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-timer.C:
		}
		if err := r.write(r.round(ctx, begun)); err != nil {
			return err
		}
		if now := time.Now(); now.Sub(flushed) >= r.flush || r.files.pending.Len() > maxPending {
			if err := r.files.flush(); err != nil {
				return err
			}
			flushed = now
		}
		elapsed := time.Since(begun)
		if r.length > 0 {
			bar.at(float64(elapsed) / float64(r.length))
		}
		due = begun.Add((elapsed/r.interval + 1) * r.interval)
		if r.length > 0 && due.Sub(begun) >= r.length {
			return r.rest(ctx, time.Until(begun.Add(r.length)))
		}
		timer.Reset(time.Until(due))
	}
}

// rest waits for the end of the recording's time, in which no further round is due.
func (r *recorder) rest(ctx context.Context, left time.Duration) error {
	timer := time.NewTimer(left)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
	return nil
}

// recordParallel bounds the polls that are worked on at once, as the exporter bounds its own.
const recordParallel = 64

// round polls all engines and returns their pages. What the end of the
// program cut off is no failure of an engine and is left out.
func (r *recorder) round(ctx context.Context, begun time.Time) []recording.Page {
	deadline, cancel := context.WithTimeout(ctx, r.interval*8/10)
	defer cancel()
	targets := r.source.Targets()
	pages := make([]recording.Page, len(targets))
	raws := make([]engine.Raw, len(targets))
	var polls sync.WaitGroup
	room := make(chan struct{}, recordParallel)
	for i, t := range targets {
		polls.Go(func() {
			room <- struct{}{}
			defer func() { <-room }()
			sent := unix(begun) + time.Since(begun).Seconds()
			raws[i] = r.pager.Raw(deadline, t)
			pages[i] = recording.Page{T: sent, Took: raws[i].Took.Seconds(), Target: t.ID}
		})
	}
	polls.Wait()
	kept := pages[:0]
	for i, p := range pages {
		raw := &raws[i]
		switch {
		case raw.Reason == "":
			p.Status, p.ContentType, p.Body = 200, raw.ContentType, r.scrub(raw)
			r.pages++
		case ctx.Err() != nil:
			continue
		default:
			p.Err, p.Reason = raw.Detail, raw.Reason
			r.failures[raw.Reason]++
		}
		kept = append(kept, p)
	}
	return kept
}

// write adds the pages of a round, and what has come of GPUs and spans since the one before, in the order of their times.
func (r *recorder) write(pages []recording.Page) error {
	entries := make([]recording.Entry, 0, len(pages))
	for i := range pages {
		entries = append(entries, recording.Entry{Page: &pages[i]})
	}
	entries = append(entries, r.gpus.rewind()...)
	if r.tape != nil {
		r.spans.Drain() // nobody judges them here
		entries = append(entries, r.tape.rewind()...)
	}
	slices.SortStableFunc(entries, func(a, b recording.Entry) int { return cmp.Compare(a.T(), b.T()) })
	for _, e := range entries {
		if err := r.files.write(e); err != nil {
			return err
		}
	}
	return nil
}

// scrub takes the target's secrets and the hidden labels out of a page.
func (r *recorder) scrub(raw *engine.Raw) []byte {
	return recording.Scrub(raw.Body, func(label, text string) string { return raw.Mask(r.disguise.Value(label, text)) })
}
