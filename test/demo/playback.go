package main

import (
	"bufio"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"regexp"
	"sort"
	"strconv"
)

const (
	pause = 5.0 // seconds without an answer between two plays: what a quick restart looks like
	age   = 1.0 // seconds that the process is old when a later play begins
)

// page is one answer of the recorded engine, as docs/replay.md describes it.
type page struct {
	T           float64 `json:"t"` // unix seconds
	Kind        string  `json:"kind"`
	Status      int     `json:"status"`
	ContentType string  `json:"content_type"`
	Body        string  `json:"body"`
	Error       string  `json:"error"` // why there was no answer; the fields above it are empty then
}

// playback says what the recorded engine answers at a time. After the last page it starts over, as if the process had
// been restarted: counters must not fall while the start time stays.
type playback struct {
	pages   []page  // of one target, in time order, at least two
	offset  float64 // seconds into the recording at which the first play begins
	started float64 // unix seconds of that moment
}

// load reads the engine pages of a gzipped recording.
func load(path string) ([]page, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		return nil, fmt.Errorf("%s: %w: a gzipped recording is wanted", path, err)
	}
	var pages []page
	for dec := json.NewDecoder(bufio.NewReader(z)); ; {
		var p page
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return nil, fmt.Errorf("%s, after %d pages: %w", path, len(pages), err)
		}
		if p.Kind == "engine" {
			pages = append(pages, p)
		}
	}
	if len(pages) < 2 {
		return nil, fmt.Errorf("%s: %d engine pages, at least two are needed", path, len(pages))
	}
	return pages, nil
}

// at is the answer at a time, its stamps moved to the present, and false while the process is between two plays.
func (p *playback) at(now float64) (page, bool) {
	begin := p.pages[0].T
	length := p.pages[len(p.pages)-1].T - begin
	position, born := p.offset+now-p.started, math.Inf(-1)
	if position > length {
		position = math.Mod(position-length, pause+length) - pause
		if position < 0 {
			return page{}, false
		}
		born = now - position - age
	}
	after := sort.Search(len(p.pages), func(i int) bool { return p.pages[i].T-begin > position })
	answer := p.pages[max(after-1, 0)]
	answer.Body = restamp(answer.Body, now-position-begin, born)
	return answer, true
}

// stamp is a sample whose value is an instant: the start of the process or of a series, in unix seconds.
var stamp = regexp.MustCompile(`(?m)^((?:process_start_time_seconds|[a-zA-Z_:][a-zA-Z0-9_:]*_created)(?:\{.*\})?) (\S+)$`)

// restamp moves the instants on a page by shift seconds, but to born at least: a later play's process is new.
func restamp(body string, shift, born float64) string {
	return stamp.ReplaceAllStringFunc(body, func(line string) string {
		m := stamp.FindStringSubmatch(line)
		v, err := strconv.ParseFloat(m[2], 64)
		if err != nil {
			return line
		}
		return m[1] + " " + strconv.FormatFloat(max(v+shift, born), 'f', -1, 64)
	})
}
