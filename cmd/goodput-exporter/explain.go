package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/goodput-exporter/goodput-exporter/collectors/engine"
	"github.com/goodput-exporter/goodput-exporter/exporter/config"
	"github.com/goodput-exporter/goodput-exporter/exporter/fact"
	"github.com/goodput-exporter/goodput-exporter/exporter/fold"
)

// explainOptions is what the explain command was told.
type explainOptions struct {
	ConfigFile string
	Source     string        // URL of an engine's page, a recording, or a file that holds a page
	Engine     string        // of a recording with several; "" when there is one
	For        time.Duration // for how long a URL is polled; 0: one judgement window
	JSON       bool
	Spans      bool // of the spans in a recording
	Notes      io.Writer
}

// runExplain takes one engine's pages through every stage and says what comes out, and why no more does.
func runExplain(ctx context.Context, o explainOptions, out io.Writer) error {
	if o.Spans {
		return runExplainSpans(ctx, o, out)
	}
	cfg, err := config.Load(o.ConfigFile)
	if err != nil {
		return err
	}
	w, err := watchSource(ctx, cfg, o)
	if err != nil {
		return err
	}
	e := explanation(w)
	return tell(out, o.JSON, e, func(x *explainer) { x.print(e) })
}

// tell writes what was found as JSON, or as a person reads it.
func tell(out io.Writer, asJSON bool, found any, text func(*explainer)) error {
	buffered := bufio.NewWriter(out)
	if asJSON {
		enc := json.NewEncoder(buffered)
		enc.SetEscapeHTML(false)
		enc.SetIndent("", "  ")
		return errors.Join(enc.Encode(found), buffered.Flush())
	}
	text(&explainer{out: buffered, paint: paintFor(out)})
	return buffered.Flush()
}

// engineWatch folds the polls of one engine as the exporter would. Beside it, it folds every second page only, to see what the
// pages in between are worth.
type engineWatch struct {
	cfg    *config.Config
	source string // for a person; holds no secret
	target fact.Target
	others []fact.Target // of the same recording: spans that are theirs must not be taken for the engine's
	spans  *replayedSpans
	notes  []string

	live    bool // polled just now
	onePage bool // there is no more of it than one page

	full, sparse *fold.State // nil before the first poll
	polls, good  int
	first, last  float64 // when the first and the last good page were asked for
	at           float64 // when the last poll was over
	took         float64 // seconds, of the last good page
	sample       *fact.EngineSample
	failed       fact.Poll // the last that failed

	snapshot, sparser *fold.Snapshot
}

// watchSource reads the source to its end, or polls it for its time.
func watchSource(ctx context.Context, cfg *config.Config, o explainOptions) (*engineWatch, error) {
	w := &engineWatch{cfg: cfg}
	var err error
	switch {
	case strings.HasPrefix(o.Source, "http://"), strings.HasPrefix(o.Source, "https://"):
		err = w.pollURL(ctx, o)
	case strings.HasSuffix(o.Source, ".jsonl"), strings.HasSuffix(o.Source, ".jsonl.gz"):
		err = w.readRecording(ctx, o)
	default:
		err = w.readPage(o.Source)
	}
	if err != nil {
		return nil, err
	}
	if w.sample == nil {
		return nil, fmt.Errorf("explain %s: no page can be used; the last poll says: %s: %s", w.source, w.failed.Reason, w.failed.Detail)
	}
	w.finish()
	return w, nil
}

// add folds a poll, and the spans that had come when it was over.
func (w *engineWatch) add(p fact.Poll) {
	if w.full == nil {
		started := p.Sent
		if w.onePage {
			started = math.Inf(1) // never judged since its birth: what holds for all time says nothing about any time
		}
		options := foldOptions(w.cfg, started)
		w.full, w.sparse = fold.New(options), fold.New(options)
	}
	p.Target = w.target.ID
	w.at = max(w.at, p.Received)
	round := fold.Round{Polls: []fact.Poll{p}}
	if w.spans != nil {
		round.Spans = w.spans.until(w.at)
	}
	w.apply(round, w.polls%2 == 0)
	w.polls++
	if p.Sample == nil {
		w.failed = p
		return
	}
	if w.good++; w.good == 1 {
		w.first = p.Sent
	}
	w.last, w.took, w.sample = p.Sent, p.Received-p.Sent, p.Sample
}

// apply folds a round that is over now. Spans go to both states: that pages are left out is no reason to lose them.
func (w *engineWatch) apply(round fold.Round, both bool) {
	round.At, round.Targets = w.at, append([]fact.Target{w.target}, w.others...)
	w.snapshot = w.full.Apply(round)
	if !both {
		round.Polls = nil
	}
	if both || len(round.Spans) > 0 {
		w.sparser = w.sparse.Apply(round)
	}
}

// finish ends the open window at the last page, unless a whole one has been committed by live polls: then the rest of a
// window says less than the window before it.
func (w *engineWatch) finish() {
	if w.live && len(w.seen(w.snapshot).Past.Windows) > 0 {
		return
	}
	if w.spans != nil {
		for spans := range w.spans.rest() {
			w.at = max(w.at, spans[0].Received)
			w.apply(fold.Round{Spans: spans}, false)
		}
	}
	w.snapshot = w.full.Flush(w.at)
	if w.sparser != nil {
		w.sparser = w.sparse.Flush(w.at)
	}
}

// seen is what a snapshot says of the engine.
func (w *engineWatch) seen(s *fold.Snapshot) *fold.Engine {
	i := slices.IndexFunc(s.Engines, func(e fold.Engine) bool { return e.ID == w.target.ID })
	return &s.Engines[i]
}

// pollURL polls a live engine until its time is up or the program is told to stop, which is a good end too.
func (w *engineWatch) pollURL(ctx context.Context, o explainOptions) error {
	t, known, err := targetAt(w.cfg, o.Source)
	if err != nil {
		return fmt.Errorf("explain: %w", err)
	}
	w.source, w.live = t.Address, true
	w.target = fact.Target{ID: t.ID, URL: t.URL.Reveal()}
	if !known {
		w.target.ID = "engine"
		w.forgetEnginePatterns()
	}
	fetcher, err := pageFetcher(w.cfg, known)
	if err != nil {
		return fmt.Errorf("explain %s: %w", w.source, err)
	}
	defer fetcher.Close()
	length := o.For
	if length == 0 {
		length = w.cfg.Judgement.Window + 2*w.cfg.Poll.Interval
	}
	bar := newProgress(o.Notes, "polling "+w.source)
	defer bar.done()
	err = w.poll(ctx, fetcher, length, bar)
	w.failed.Detail += whyUnasked(known, w.failed.Reason)
	return err
}

// poller polls a target once.
type poller interface {
	Poll(context.Context, fact.Target) fact.Poll
}

func (w *engineWatch) poll(ctx context.Context, p poller, length time.Duration, bar *progress) error {
	begun := time.Now()
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			if w.polls == 0 {
				return fmt.Errorf("explain stopped: %w", ctx.Err())
			}
			w.notes = append(w.notes, fmt.Sprintf("Stopped after %v of %v.", time.Since(begun).Round(time.Second), length))
			return nil
		case <-timer.C:
		}
		poll := p.Poll(ctx, w.target)
		if ctx.Err() == nil || poll.Sample != nil || w.polls == 0 {
			w.add(poll)
		}
		if w.polls == 1 && poll.Sample == nil {
			return nil // an engine that does not answer at all is not waited for
		}
		elapsed := time.Since(begun)
		bar.at(float64(elapsed) / float64(length))
		due := (elapsed/w.cfg.Poll.Interval + 1) * w.cfg.Poll.Interval
		if due > length {
			return nil
		}
		timer.Reset(due - elapsed)
	}
}

// forgetEnginePatterns lets objectives cover an engine whose id is unknown, and says so where that changes something.
func (w *engineWatch) forgetEnginePatterns() {
	cfg := *w.cfg
	cfg.SLOs = slices.Clone(cfg.SLOs)
	for i := range cfg.SLOs {
		if cfg.SLOs[i].Match.Engine != "" {
			w.notes = append(w.notes, "match.engine of SLO "+cfg.SLOs[i].Name+" was not held against the page, which is of no configured engine.")
			cfg.SLOs[i].Match.Engine = ""
		}
	}
	w.cfg = &cfg
}

// readRecording folds the recorded pages of one engine.
func (w *engineWatch) readRecording(ctx context.Context, o explainOptions) error {
	w.source = o.Source
	pages, err := openRecordings([]string{o.Source})
	if err != nil {
		return fmt.Errorf("explain: %w", err)
	}
	defer pages.Close()
	bar := newProgress(o.Notes, "reading "+o.Source)
	defer bar.done()
	decoder := engine.NewDecoder()
	w.spans = newReplayedSpans(w.cfg)
	var ids []string
	for ctx.Err() == nil {
		bar.at(pages.share())
		entry, err := pages.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			if w.sample == nil {
				return fmt.Errorf("explain: %w", err)
			}
			w.notes = append(w.notes, "The recording ends in a fault: "+err.Error())
			break
		}
		if entry.Message != nil {
			w.spans.take(entry.Message)
			continue
		}
		if entry.Page == nil {
			continue // of the node's GPUs, which are no engine's page
		}
		p := entry.Page
		wanted := p.Target == o.Engine || o.Engine == "" && (len(ids) == 0 || p.Target == ids[0])
		switch known := slices.Contains(ids, p.Target); {
		case known:
			w.spans.ready = true
		case wanted:
			w.target = replayTarget(w.cfg, p.Target)
			ids = append(ids, p.Target)
		default:
			w.others = append(w.others, replayTarget(w.cfg, p.Target))
			ids = append(ids, p.Target)
		}
		if wanted {
			w.add(recordedPoll(*p, decoder))
		}
	}
	switch {
	case ctx.Err() != nil:
		return fmt.Errorf("explain stopped: %w", ctx.Err())
	case len(ids) == 0:
		return fmt.Errorf("explain %s: it holds no page of an engine", o.Source)
	case o.Engine == "" && len(ids) > 1:
		return fmt.Errorf("explain %s: it holds several engines: choose one with --engine: %s", o.Source, strings.Join(ids, ", "))
	case !slices.Contains(ids, o.Engine) && o.Engine != "":
		return fmt.Errorf("explain %s: --engine=%s is not in it; there are %s", o.Source, o.Engine, strings.Join(ids, ", "))
	}
	return nil
}

// readPage takes in a single page, of which no window can be made.
func (w *engineWatch) readPage(path string) error {
	w.source = path
	pages, err := pageIn(w.cfg, "explain", path)
	if err != nil {
		return err
	}
	w.target = fact.Target{ID: "engine"}
	w.forgetEnginePatterns()
	w.notes = append(w.notes, "One page has no window: ledger, verdicts and percentiles take two and more. Give the engine's URL, or a recording.")
	w.onePage = true
	w.add(fact.Poll{Sent: 1, Received: 1, Sample: pages[0].sample})
	return nil
}
