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
	refused := refusals{}
	bar := newProgress(o.Notes, "replaying")
	runErr := replay(ctx, cfg, &watchedSource{pages, bar}, refused, sink)
	bar.done()
	refused.print(o.Notes)
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

// pageSource yields pages in the order of their times, and io.EOF after the last.
type pageSource interface {
	Next() (recording.Page, error)
}

// watchedSource shows how far the reading of recordings has come.
type watchedSource struct {
	*recordings
	bar *progress
}

func (s *watchedSource) Next() (recording.Page, error) {
	s.bar.at(s.share())
	return s.recordings.Next()
}

// replay drives the reducer from recorded pages and ends every open window with the last of them.
func replay(ctx context.Context, cfg *config.Config, pages pageSource, refused refusals, sink replaySink) error {
	r := &replayer{cfg: cfg, refused: refused}
	err := r.run(ctx, pages, sink)
	switch {
	case r.state == nil && err == nil:
		return errors.New("the recordings hold no engine page")
	case r.state == nil || ctx.Err() != nil:
		return err
	}
	return errors.Join(err, sink.Take(r.state.Flush(r.last)))
}

// replayer folds pages on the clock that they bring along. Its state can go on with live ones afterwards.
type replayer struct {
	cfg     *config.Config
	refused refusals

	state    *fold.State // nil before the first page
	targets  []fact.Target
	decoders map[string]*engine.Decoder
	last     float64 // when the last page was in, unix seconds
}

// run folds all pages, one round a page, and hands each snapshot to the sink.
func (r *replayer) run(ctx context.Context, pages pageSource, sink replaySink) error {
	for ctx.Err() == nil {
		p, err := pages.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if err := sink.Take(r.fold(p)); err != nil {
			return err
		}
	}
	return fmt.Errorf("replay stopped: %w", ctx.Err())
}

func (r *replayer) fold(p recording.Page) *fold.Snapshot {
	if r.state == nil {
		r.state, r.decoders = fold.New(foldOptions(r.cfg, p.T)), map[string]*engine.Decoder{}
	}
	if r.decoders[p.Target] == nil {
		r.decoders[p.Target] = engine.NewDecoder()
		r.targets = append(r.targets, replayTarget(r.cfg, p.Target))
	}
	r.last = p.T + p.Took
	poll := recordedPoll(p, r.decoders[p.Target])
	r.refused.note(p, poll)
	return r.state.Apply(fold.Round{At: r.last, Targets: r.targets, Polls: []fact.Poll{poll}})
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

// recordings merges several recordings by time. A target may go on in a later file (a recording that was rotated), but
// not be in two at once: two nodes may both have called an engine "a", and their counters must not be mixed.
type recordings struct {
	files []*measuredFile
	open  []*source
	from  map[string]*source // which file a target was last read from
	done  map[string][]*source
}

type source struct {
	name   string
	reader *recording.Reader
	next   recording.Page
	err    error // met behind next
}

func openRecordings(names []string) (*recordings, error) {
	r := &recordings{from: map[string]*source{}, done: map[string][]*source{}}
	for _, name := range names {
		f, err := openMeasured(name)
		if err != nil {
			r.Close()
			return nil, fmt.Errorf("open recording: %w", err)
		}
		r.files = append(r.files, f)
		reader, err := recording.NewReader(f, name)
		if err != nil {
			r.Close()
			return nil, err
		}
		s := &source{name: name, reader: reader}
		switch s.next, err = reader.Next(); {
		case errors.Is(err, io.EOF):
		case err != nil:
			r.Close()
			return nil, err
		default:
			r.open = append(r.open, s)
		}
	}
	return r, nil
}

// share is how much of the recordings has been read, 0 to 1.
func (r *recordings) share() float64 {
	var read, size int64
	for _, f := range r.files {
		read, size = read+f.read, size+f.size
	}
	return float64(read) / float64(max(1, size))
}

// Close closes the files.
func (r *recordings) Close() {
	for _, f := range r.files {
		f.Close() // only read from: nothing can be lost
	}
}

// Next returns the earliest page that has not been returned, io.EOF after the last.
func (r *recordings) Next() (recording.Page, error) {
	if len(r.open) == 0 {
		return recording.Page{}, io.EOF
	}
	at := 0
	for i, s := range r.open {
		if s.next.T < r.open[at].next.T {
			at = i
		}
	}
	s := r.open[at]
	if s.err != nil {
		r.open = nil
		return recording.Page{}, s.err
	}
	page := s.next
	if err := r.claim(page.Target, s); err != nil {
		return recording.Page{}, err
	}
	next, err := s.reader.Next()
	switch {
	case errors.Is(err, io.EOF):
		r.open = append(r.open[:at], r.open[at+1:]...)
	default:
		s.next.T = max(page.T, next.T)
		if s.err = err; err == nil {
			s.next = next
		}
	}
	return page, nil
}

// claim notes that a target is read from a file and refuses to go back to a file that it has left.
func (r *recordings) claim(target string, s *source) error {
	before := r.from[target]
	if before == s {
		return nil
	}
	for _, d := range r.done[target] {
		if d == s {
			return fmt.Errorf("target %q is in %s and in %s at the same time: replay them one by one, or give one of them another id", target, before.name, s.name)
		}
	}
	if before != nil {
		r.done[target] = append(r.done[target], before)
	}
	r.from[target] = s
	return nil
}
