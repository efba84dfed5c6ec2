package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/goodput-exporter/goodput-exporter/collectors/recording"
	"github.com/goodput-exporter/goodput-exporter/exporter/config"
	"github.com/goodput-exporter/goodput-exporter/exporter/fact"
	"github.com/goodput-exporter/goodput-exporter/exporter/sim"
)

// writeRecording writes the pages of a world and of its GPUs, and the spans that its engines send, up to a time, and beside them the truth if
// that is wanted.
func writeRecording(ctx context.Context, o demoOptions, c sim.Config, until float64, out io.Writer) (err error) {
	file, err := os.Create(o.Recording)
	if err != nil {
		return fmt.Errorf("--write-recording: %w", err)
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	w, err := recording.NewWriter(file)
	if err != nil {
		return fmt.Errorf("%s: %w", o.Recording, err)
	}
	finishTruth := func() error { return nil }
	if o.Truth != "" {
		if c.Truth, finishTruth, err = openTruth(o.Truth); err != nil {
			return err
		}
	}
	spans := &mail{}
	c.Spans = spans.put
	world, err := sim.New(c)
	if err != nil {
		return err
	}
	bar := newProgress(o.Notes, "writing "+o.Recording)
	defer bar.done()
	source := newSimulated(world, c.Start, config.Default().Poll.Interval, func(at float64) bool {
		bar.at((at - c.Start) / (until - c.Start))
		return at < until && ctx.Err() == nil
	})
	source.mail, source.gpus = spans, config.Default().GPU.Interval.Seconds()
	pages, messages, looks := 0, 0, 0
	for {
		e, err := source.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err := w.WriteEntry(e); err != nil {
			return fmt.Errorf("%s: %w", o.Recording, err)
		}
		switch {
		case e.Page != nil:
			pages++
		case e.GPU != nil:
			looks++
		default:
			messages++
		}
	}
	if err := errors.Join(w.Close(), finishTruth(), ctx.Err()); err != nil {
		return fmt.Errorf("%s: %w", o.Recording, err)
	}
	fmt.Fprintf(out, "%s: %d pages of %s, %d of their GPUs", o.Recording, pages, count(len(c.Engines), "engine"), looks)
	if messages > 0 {
		fmt.Fprintf(out, " and %s with spans", count(messages, "message"))
	}
	fmt.Fprintln(out)
	return nil
}

// truthLine is one line of a truth file: a request at its end, or a finished sequence with all its values.
type truthLine struct {
	Kind     string       `json:"kind"`
	Request  *sim.Request `json:"request,omitempty"`
	Sequence *truthOfOne  `json:"sequence,omitempty"`
}

// truthOfOne is a finished sequence. Seconds and tokens.
type truthOfOne struct {
	Request uint64       `json:"request"`
	Engine  string       `json:"engine"`
	Rank    int          `json:"rank"`
	Reason  string       `json:"reason"`
	Values  fact.Request `json:"values"`
}

// openTruth writes what a world tells as JSON lines.
func openTruth(path string) (sim.Truth, func() error, error) {
	file, err := os.Create(path)
	if err != nil {
		return sim.Truth{}, nil, fmt.Errorf("--write-truth: %w", err)
	}
	buffered := bufio.NewWriter(file)
	lines := json.NewEncoder(buffered)
	var failed error
	write := func(l truthLine) {
		if failed == nil {
			failed = lines.Encode(l)
		}
	}
	truth := sim.Truth{
		Request: func(r sim.Request) { write(truthLine{Kind: "request", Request: &r}) },
		Sequence: func(q sim.Sequence) {
			write(truthLine{Kind: "sequence", Sequence: &truthOfOne{Request: q.Request, Engine: q.Engine, Rank: q.Rank, Reason: q.Reason, Values: q.Values}})
		},
	}
	return truth, func() error { return errors.Join(failed, buffered.Flush(), file.Close()) }, nil
}
