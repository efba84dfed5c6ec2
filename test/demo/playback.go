package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"regexp"
	"sort"
	"strconv"

	"github.com/goodput-exporter/goodput-exporter/collectors/recording"
)

const (
	pause = 5.0 // seconds without an answer between two plays: what a quick restart looks like
	age   = 1.0 // seconds that the process is old when a later play begins
)

// playback says what the recorded engine answers at a time. After the last page it starts over, as if the process had
// been restarted: counters must not fall while the start time stays.
type playback struct {
	pages   []recording.Page // of one target, in time order, at least two
	offset  float64          // seconds into the recording at which the first play begins
	started float64          // unix seconds of that moment
}

// load reads the pages of a recording.
func load(path string) ([]recording.Page, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	r, err := recording.NewReader(f, path)
	if err != nil {
		return nil, err
	}
	var pages []recording.Page
	for {
		p, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err
		}
		pages = append(pages, p)
	}
	if len(pages) < 2 {
		return nil, fmt.Errorf("%s: %d engine pages, at least two are needed", path, len(pages))
	}
	return pages, nil
}

// align shifts the play by less than a page's time, so that a reader who comes at now, and then as often as the
// recording has pages, comes half-way between two of them each time. It is then served pages that are all equally late,
// which is a shift of the clock and nothing else; at the edge between two pages it would now and then get one twice.
func (p *playback) align(now float64) {
	position := now - p.started + p.offset
	after := sort.Search(len(p.pages), func(i int) bool { return p.pages[i].T-p.pages[0].T > position })
	if after == 0 || after == len(p.pages) {
		return
	}
	middle := (p.pages[after-1].T+p.pages[after].T)/2 - p.pages[0].T
	p.started += position - middle
}

// at is the answer at a time, its stamps moved to the present, and false while the process is between two plays.
func (p *playback) at(now float64) (recording.Page, bool) {
	begin := p.pages[0].T
	length := p.pages[len(p.pages)-1].T - begin
	play := math.Floor((now - p.started + p.offset) / (length + pause))
	since := p.started - p.offset + play*(length+pause) // the same for each page of a play, to the last bit
	position := now - since
	if position > length {
		return recording.Page{}, false
	}
	born := math.Inf(-1)
	if play > 0 {
		born = since - age
	}
	after := sort.Search(len(p.pages), func(i int) bool { return p.pages[i].T-begin > position })
	answer := p.pages[max(after-1, 0)]
	answer.Body = restamp(answer.Body, since-begin, born)
	return answer, true
}

// stamp is a sample whose value is an instant: the start of the process or of a series, in unix seconds.
var stamp = regexp.MustCompile(`(?m)^((?:process_start_time_seconds|[a-zA-Z_:][a-zA-Z0-9_:]*_created)(?:\{.*\})?) (\S+)$`)

// restamp moves the instants on a page by shift seconds, but to born at least: a later play's process is new.
func restamp(body []byte, shift, born float64) []byte {
	return stamp.ReplaceAllFunc(body, func(line []byte) []byte {
		m := stamp.FindSubmatch(line)
		v, err := strconv.ParseFloat(string(m[2]), 64)
		if err != nil {
			return line
		}
		return strconv.AppendFloat(append(bytes.Clone(m[1]), ' '), max(v+shift, born), 'f', -1, 64)
	})
}
