package main

import (
	"cmp"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// asked is one HTTP request as its client saw it: a line of truth.jsonl.gz (testdata/README.md).
type asked struct {
	ID        string  `json:"id"`
	At        float64 `json:"t_arrival"` // unix seconds
	TTFT      float64 `json:"ttft"`      // seconds to the first chunk; 0: there was none
	E2E       float64 `json:"e2e"`       // seconds to the last chunk; 0: there was none
	Chunks    int     `json:"chunks"`
	Prompt    int     `json:"prompt_tokens"`
	MaxTokens int     `json:"max_tokens"`
	N         int     `json:"n"`
	Outcome   string  `json:"outcome"`
	Phase     int     `json:"phase"`
}

// served is one finished sequence as the engine saw it: a line of engine_truth.jsonl.gz.
type served struct {
	ID      string  `json:"id"`
	Start   float64 `json:"start"` // unix seconds, the request's arrival at the front end
	TTFT    float64 `json:"ttft"`
	E2E     float64 `json:"e2e"`
	Queue   float64 `json:"queue"`
	Prefill float64 `json:"prefill"`
	Decode  float64 `json:"decode"`
	Prompt  int     `json:"prompt_tokens"`
	Output  int     `json:"completion_tokens"`
}

// request is the id of the HTTP request that a sequence belongs to: cmpl-<request>-<prompt index> is its own.
func (s served) request() string {
	id := strings.TrimPrefix(s.ID, "cmpl-")
	if i := strings.LastIndexByte(id, '-'); i >= 0 {
		id = id[:i]
	}
	return id
}

// recording is what a load and an engine recorded of each other.
type recording struct {
	asked  []asked            // by arrival
	gaveUp map[string]float64 // after how many seconds, by the id of a cancelled request
	served []served
	start  float64 // unix seconds: the first arrival
	end    float64 // the last one
}

// middle is the time that divides the half that is fitted from the half that is predicted, unix seconds.
func (r *recording) middle() float64 { return (r.start + r.end) / 2 }

// left is when a request was over for its client, unix seconds.
func (r *recording) left(a asked) float64 { return a.At + max(a.E2E, r.gaveUp[a.ID]) }

// readRecording reads the truth of both sides from a recording's folder.
func readRecording(folder string) (*recording, error) {
	requests, err := readLines[asked](filepath.Join(folder, "truth.jsonl.gz"))
	if err != nil {
		return nil, err
	}
	sequences, err := readLines[served](filepath.Join(folder, "engine_truth.jsonl.gz"))
	if err != nil {
		return nil, err
	}
	return newRecording(requests, sequences)
}

// newRecording takes the requests in the order in which they ended, which is that of the file.
func newRecording(requests []asked, sequences []served) (*recording, error) {
	if len(requests) == 0 || len(sequences) == 0 {
		return nil, errors.New("the recording is empty")
	}
	r := &recording{asked: slices.Clone(requests), served: sequences, gaveUp: givenUp(requests)}
	slices.SortStableFunc(r.asked, func(a, b asked) int { return cmp.Compare(a.At, b.At) })
	r.start, r.end = r.asked[0].At, r.asked[len(r.asked)-1].At
	known := map[string]bool{}
	for _, a := range r.asked {
		known[a.ID] = true
	}
	for _, s := range sequences {
		if !known[s.request()] {
			return nil, fmt.Errorf("the engine finished %s, which no client asked for", s.ID)
		}
	}
	return r, nil
}

// givenUp is after how many seconds each cancelled request was given up. A client that had seen a token noted the time of
// the last one. Of the others only the place in the file tells: lines were written as requests ended, so the end lies
// between those of the nearest neighbours that have one, and the middle is taken.
func givenUp(requests []asked) map[string]float64 {
	ended := func(i int) (float64, bool) {
		if i < 0 || i >= len(requests) || requests[i].E2E == 0 {
			return 0, false
		}
		return requests[i].At + requests[i].E2E, true
	}
	nearest := func(i, step int) (float64, bool) {
		for ; i >= 0 && i < len(requests); i += step {
			if t, ok := ended(i); ok {
				return t, true
			}
		}
		return 0, false
	}
	out := map[string]float64{}
	for i, a := range requests {
		if a.Outcome != "cancelled" {
			continue
		}
		at := a.At + a.E2E
		if a.E2E == 0 {
			before, isBefore := nearest(i-1, -1)
			after, isAfter := nearest(i+1, 1)
			switch {
			case isBefore && isAfter:
				at = (before + after) / 2
			case isBefore:
				at = before
			case isAfter:
				at = after
			}
		}
		out[a.ID] = max(at-a.At, 0.001)
	}
	return out
}

func readLines[T any](path string) (out []T, err error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	for d := json.NewDecoder(z); ; {
		var v T
		switch err := d.Decode(&v); {
		case errors.Is(err, io.EOF):
			return out, nil
		case err != nil:
			return nil, fmt.Errorf("%s: line %d: %w", path, len(out)+1, err)
		}
		out = append(out, v)
	}
}
