package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"time"

	"github.com/goodput-exporter/goodput-exporter/collectors/engine"
	"github.com/goodput-exporter/goodput-exporter/collectors/recording"
	"github.com/goodput-exporter/goodput-exporter/exporter/config"
	"github.com/goodput-exporter/goodput-exporter/exporter/fact"
	"github.com/goodput-exporter/goodput-exporter/exporter/fold"
)

// replayOptions is what the replay command was told.
type replayOptions struct {
	ConfigFile string
	Format     string        // openmetrics or windows
	Step       time.Duration // virtual time between two expositions, for openmetrics
	Recordings []string
	Notes      io.Writer // what a person should know beside the output; nil: nowhere
}

// runReplay folds recorded pages on a virtual clock, one round a page, and prints what would have been served. The
// same recordings and configuration print the same bytes.
func runReplay(ctx context.Context, o replayOptions, out io.Writer) error {
	cfg, err := config.Load(o.ConfigFile)
	if err != nil {
		return err
	}
	pages, err := openRecordings(o.Recordings)
	if err != nil {
		return err
	}
	defer pages.Close()

	buffered := bufio.NewWriter(out)
	var sink replaySink
	switch o.Format {
	case "windows":
		sink = &windowSink{out: buffered}
	case "openmetrics":
		if sink, err = newOpenMetricsSink(cfg, o.Step, buffered); err != nil {
			return err
		}
	default:
		return fmt.Errorf("--format=%q is unknown: openmetrics or windows", o.Format)
	}
	r := newReplayer(cfg)
	bar := newProgress(o.Notes, "replaying")
	runErr := r.replay(ctx, &watchedSource{pages, bar}, sink)
	bar.done()
	r.refused.print(o.Notes)
	r.spans.print(o.Notes)
	r.gpus.print(o.Notes, pages.foreignGPUs)
	// What was measured before a fault in a recording is still printed.
	return errors.Join(runErr, sink.Close(), buffered.Flush())
}

// refusals counts recorded pages that were not used, with the first of each kind in full.
type refusals map[fact.Reason]*refusal

type refusal struct {
	count int
	first string
}

func (r refusals) note(p recording.Page, poll fact.Poll) {
	if poll.Sample != nil {
		return
	}
	if r[poll.Reason] == nil {
		r[poll.Reason] = &refusal{first: fmt.Sprintf("target %s at %.3f: %s", p.Target, p.T, poll.Detail)}
	}
	r[poll.Reason].count++
}

func (r refusals) print(w io.Writer) {
	if w == nil {
		return
	}
	for _, reason := range slices.Sorted(maps.Keys(r)) {
		fmt.Fprintf(w, "%d pages not used, reason %s; the first: %s\n", r[reason].count, reason, r[reason].first)
	}
}

// replaySink takes the snapshots of a replay in order.
type replaySink interface {
	Take(*fold.Snapshot) error
	Close() error
}

// pageSource yields pages, messages with spans and looks at GPUs, in the order of their times, and io.EOF after the last.
type pageSource interface {
	Next() (recording.Entry, error)
}

// watchedSource shows how far the reading of recordings has come.
type watchedSource struct {
	*recordings
	bar *progress
}

func (s *watchedSource) Next() (recording.Entry, error) {
	s.bar.at(s.share())
	return s.recordings.Next()
}

// replay drives the reducer from recorded pages and ends every open window with the last of them.
func replay(ctx context.Context, cfg *config.Config, pages pageSource, refused refusals, sink replaySink) error {
	r := newReplayer(cfg)
	r.refused = refused
	return r.replay(ctx, pages, sink)
}

func (r *replayer) replay(ctx context.Context, pages pageSource, sink replaySink) error {
	err := r.run(ctx, pages, sink)
	switch {
	case r.state == nil && err == nil:
		return errors.New("the recordings hold no engine page")
	case r.state == nil || ctx.Err() != nil:
		return err
	}
	for spans := range r.spans.rest() {
		r.last = max(r.last, spans[0].Received)
		err = errors.Join(err, sink.Take(r.apply(fold.Round{Spans: spans})))
	}
	if last := r.gpus.rest(); last != nil {
		r.last = max(r.last, last.At)
		err = errors.Join(err, sink.Take(r.apply(fold.Round{GPUs: last})))
	}
	return errors.Join(err, sink.Take(r.state.Flush(r.last)))
}

// replayer folds pages, and spans and GPUs where the configuration takes them in, on the clock that they bring along. Its state
// can go on with live ones afterwards.
type replayer struct {
	cfg     *config.Config
	refused refusals
	spans   *replayedSpans
	gpus    *replayedGPUs

	state    *fold.State // nil before the first page
	targets  []fact.Target
	decoders map[string]*engine.Decoder
	last     float64 // when the last page or message was in, unix seconds
}

func newReplayer(cfg *config.Config) *replayer {
	return &replayer{cfg: cfg, refused: refusals{}, spans: newReplayedSpans(cfg), gpus: newReplayedGPUs(cfg)}
}

// run folds all pages, one round a page, and hands each snapshot to the sink. A round takes the spans, and the reading of
// GPUs, that had come when its page was in.
func (r *replayer) run(ctx context.Context, pages pageSource, sink replaySink) error {
	for ctx.Err() == nil {
		e, err := pages.Next()
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		case e.Message != nil:
			r.spans.take(e.Message)
			continue
		case e.GPU != nil:
			r.gpus.take(e.GPU)
			continue
		}
		if err := sink.Take(r.fold(*e.Page)); err != nil {
			return err
		}
	}
	return fmt.Errorf("replay stopped: %w", ctx.Err())
}

func (r *replayer) fold(p recording.Page) *fold.Snapshot {
	if r.state == nil {
		r.state, r.decoders = fold.New(withGPUs(foldOptions(r.cfg, p.T), r.cfg)), map[string]*engine.Decoder{}
	}
	if r.decoders[p.Target] == nil {
		r.decoders[p.Target] = engine.NewDecoder()
		r.targets = append(r.targets, replayTarget(r.cfg, p.Target))
	} else {
		r.spans.ready = true
	}
	r.last = max(r.last, p.T+p.Took)
	poll := recordedPoll(p, r.decoders[p.Target])
	r.refused.note(p, poll)
	return r.apply(fold.Round{Polls: []fact.Poll{poll}, Spans: r.spans.until(r.last), GPUs: r.gpus.until(r.last)})
}

// apply folds a round that ends when the last of it was in.
func (r *replayer) apply(round fold.Round) *fold.Snapshot {
	round.At, round.Targets = r.last, r.targets
	snapshot := r.state.Apply(round)
	r.spans.unmatched = snapshot.Unmatched
	return snapshot
}

// replayTarget is the configured target of that id, so that its labels are kept, else one that knows only its name.
func replayTarget(cfg *config.Config, id string) fact.Target {
	for _, t := range cfg.Targets() {
		if t.ID == id {
			return t
		}
	}
	return fact.Target{ID: id}
}

// recordedPoll is the poll that a recorded page stands for.
func recordedPoll(p recording.Page, d *engine.Decoder) fact.Poll {
	poll := fact.Poll{Target: p.Target, Sent: p.T, Received: p.T + p.Took}
	if reason, detail, failed := p.Failed(); failed {
		poll.Reason, poll.Detail = reason, detail
		return poll
	}
	sample, err := d.Decode(p.Body, p.ContentType)
	if err != nil {
		poll.Reason, poll.Detail = engine.ReasonOf(err), err.Error()
		return poll
	}
	poll.Sample = sample
	return poll
}
