package main

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/goodput-exporter/goodput-exporter/collectors/recording"
	"github.com/goodput-exporter/goodput-exporter/collectors/spans"
	"github.com/goodput-exporter/goodput-exporter/exporter/config"
	"github.com/goodput-exporter/goodput-exporter/exporter/fact"
	"github.com/goodput-exporter/goodput-exporter/exporter/fold"
)

// runExplainSpans says what spans came in a recording, what was matched and how, what was not and why, and what came of
// them.
func runExplainSpans(ctx context.Context, o explainOptions, out io.Writer) error {
	cfg, err := config.Load(o.ConfigFile)
	if err != nil {
		return err
	}
	if !strings.HasSuffix(o.Source, ".jsonl") && !strings.HasSuffix(o.Source, ".jsonl.gz") {
		return fmt.Errorf("explain --spans %s: spans are explained from a recording, which ends in .jsonl or .jsonl.gz: make one with record while spans.listen is set", shownSource(o.Source))
	}
	w := newSpanWatch(cfg, o.Source)
	if err := w.read(ctx, o); err != nil {
		return err
	}
	e := w.explanation()
	return tell(out, o.JSON, e, func(x *explainer) { x.spans(e) })
}

// shownSource is a source that may be a URL with credentials.
func shownSource(source string) string {
	if t, err := config.NewTarget("explain", source); err == nil {
		return t.Address
	}
	if strings.Contains(source, "://") {
		return "<a URL>"
	}
	return source
}

// spanWatch reads a recording for its spans. It folds the pages too, as a replay does, because what became of a span is
// decided there.
type spanWatch struct {
	cfg      *config.Config
	source   string
	decoder  *spans.Decoder
	replayer *replayer
	notes    []string

	senders   map[sender]*sent
	from, to  float64 // when the first and the last message came
	messages  int
	bytes     int
	unread    map[string]*refusal
	names     map[string]uint64
	unnamed   uint64 // spans of further names than are told apart
	resources map[origin]*spansOf
	order     []origin // in which they came
	further   int      // messages of further resources than are told apart
	lags      []float64
	windows   []fold.Window // the first of each engine's, whatever the SLO
	snapshot  *fold.Snapshot
}

// sender is how messages came.
type sender struct{ peer, path, contentType, encoding string }

// sent counts messages.
type sent struct{ messages, bytes, largest int }

// origin is a resource with what it sent.
type origin struct {
	service string
	of      fact.Origin
}

// spansOf counts the spans that a resource sent.
type spansOf struct{ requests, others uint64 }

// What is told apart of what senders chose: more is counted together.
const (
	mostSenders   = 100
	mostNames     = 1000
	mostResources = 1000
	mostLags      = 1_000_000
)

func newSpanWatch(cfg *config.Config, source string) *spanWatch {
	w := &spanWatch{
		source: source, senders: map[sender]*sent{}, unread: map[string]*refusal{}, names: map[string]uint64{}, resources: map[origin]*spansOf{},
	}
	taken := *cfg
	if !taken.Spans.Taken() {
		taken.Spans.Listen = "127.0.0.1:4318"
		w.notes = append(w.notes, "The configuration has neither spans.listen nor spans.grpc_listen: the exporter would take no spans in. Below is what came of them if it did.")
	}
	w.cfg, w.decoder, w.replayer = &taken, newSpanDecoder(&taken), newReplayer(&taken)
	return w
}

// notedSource notes messages on their way to the replay.
type notedSource struct {
	pageSource
	watch *spanWatch
}

func (s notedSource) Next() (recording.Entry, error) {
	e, err := s.pageSource.Next()
	if err == nil && e.Message != nil {
		s.watch.note(e.Message)
	}
	return e, err
}

// read takes the recording to its end.
func (w *spanWatch) read(ctx context.Context, o explainOptions) error {
	pages, err := openRecordings([]string{o.Source})
	if err != nil {
		return fmt.Errorf("explain: %w", err)
	}
	defer pages.Close()
	bar := newProgress(o.Notes, "reading "+o.Source)
	defer bar.done()
	err = w.replayer.replay(ctx, notedSource{&watchedSource{pages, bar}, w}, sinkOf(w.take))
	switch {
	case ctx.Err() != nil:
		return fmt.Errorf("explain stopped: %w", ctx.Err())
	case err != nil && w.messages == 0:
		return fmt.Errorf("explain: %w", err)
	case err != nil:
		w.notes = append(w.notes, "The recording ends in a fault: "+err.Error())
	}
	return nil
}

// sinkOf is a sink that looks at each snapshot.
type sinkOf func(*fold.Snapshot)

func (f sinkOf) Take(s *fold.Snapshot) error { f(s); return nil }
func (f sinkOf) Close() error                { return nil }

// take keeps the windows of a round, one for each engine and time.
func (w *spanWatch) take(s *fold.Snapshot) {
	w.snapshot = s
	for _, x := range s.Windows {
		known := false
		for i := len(w.windows) - 1; i >= 0 && w.windows[i].End >= x.Start; i-- {
			known = known || w.windows[i].Engine == x.Engine && w.windows[i].Start == x.Start
		}
		if !known {
			w.windows = append(w.windows, x)
		}
	}
}

// note takes a message in.
func (w *spanWatch) note(m *recording.Message) {
	if w.messages++; w.messages == 1 {
		w.from = m.T
	}
	w.to, w.bytes = m.T, w.bytes+len(m.Body)
	how := sender{short(m.Peer), short(m.Path), short(m.ContentType), short(m.ContentEncoding)}
	if w.senders[how] == nil {
		if len(w.senders) >= mostSenders {
			how = sender{peer: "others"}
		}
		if w.senders[how] == nil {
			w.senders[how] = &sent{}
		}
	}
	s := w.senders[how]
	s.messages, s.bytes, s.largest = s.messages+1, s.bytes+len(m.Body), max(s.largest, len(m.Body))

	received := receivedMessage(m)
	survey, err := w.decoder.Survey(received)
	if err != nil {
		note(w.unread, "", 1, fmt.Sprintf("line %d from %s: %v", m.Line, peerName(m.Peer), err))
		return
	}
	for i := range survey.Resources {
		w.noteResource(&survey.Resources[i])
	}
	batch, err := w.decoder.Decode(received)
	if err != nil {
		note(w.unread, "", 1, fmt.Sprintf("line %d from %s: %v", m.Line, peerName(m.Peer), err))
		return
	}
	for i := range batch.Spans {
		if len(w.lags) < mostLags {
			w.lags = append(w.lags, m.T-batch.Spans[i].End)
		}
	}
}

// short cuts what a sender wrote.
func short(s string) string {
	const most = 100
	return s[:min(len(s), most)]
}

func (w *spanWatch) noteResource(r *spans.Resource) {
	key := origin{r.Service, r.Origin}
	of := w.resources[key]
	if of == nil && len(w.resources) < mostResources {
		of = &spansOf{}
		w.resources[key] = of
		w.order = append(w.order, key)
	}
	if of == nil {
		w.further++
		of = &spansOf{} // counted nowhere
	}
	for name, n := range r.Spans {
		if _, known := w.names[name]; known || len(w.names) < mostNames {
			w.names[name] += n
		} else {
			w.unnamed += n
		}
		if w.wanted(name) {
			of.requests += n
		} else {
			of.others += n
		}
	}
}

func (w *spanWatch) wanted(name string) bool {
	for _, n := range w.cfg.Spans.Names {
		if n == name {
			return true
		}
	}
	return false
}
