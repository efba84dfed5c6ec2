package main

import (
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/goodput-exporter/goodput-exporter/collectors/recording"
)

// recordings merges several recordings by time. A target may go on in a later file (a recording that was rotated), but
// not be in two at once: two nodes may both have called an engine "a", and their counters must not be mixed. GPUs are had from
// one file at a time, the one that told of some first: those of two nodes would take turns to be lost.
type recordings struct {
	files []*measuredFile
	open  []*source
	from  map[string]*source // which file a target was last read from
	done  map[string][]*source

	gpus        *source // that GPUs are read from; nil: none yet
	foreignGPUs int     // readings of GPUs in other files, which were left out
}

type source struct {
	name   string
	reader *recording.Reader
	next   recording.Entry
	at     float64 // when next is due: its time, or that of what came before it in the file
	err    error   // met behind next
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
		switch s.next, err = reader.NextEntry(); {
		case errors.Is(err, io.EOF):
		case err != nil:
			r.Close()
			return nil, err
		default:
			s.at = s.next.T()
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

// Next returns the earliest page, message or look at GPUs that has not been returned, io.EOF after the last.
func (r *recordings) Next() (recording.Entry, error) {
	for {
		e, s, err := r.next()
		if err != nil || e.GPU == nil || r.own(s) {
			return e, err
		}
		r.foreignGPUs++
	}
}

// own reports whether GPUs are read from a file. A later one may go on where they were read from has ended.
func (r *recordings) own(s *source) bool {
	if r.gpus == nil || r.gpus != s && !slices.Contains(r.open, r.gpus) {
		r.gpus = s
	}
	return r.gpus == s
}

// next returns the earliest of all, and where it is from.
func (r *recordings) next() (recording.Entry, *source, error) {
	if len(r.open) == 0 {
		return recording.Entry{}, nil, io.EOF
	}
	at := 0
	for i, s := range r.open {
		if s.at < r.open[at].at {
			at = i
		}
	}
	s := r.open[at]
	if s.err != nil {
		r.open = nil
		return recording.Entry{}, nil, s.err
	}
	entry := s.next
	if entry.Page != nil {
		if err := r.claim(entry.Page.Target, s); err != nil {
			return recording.Entry{}, nil, err
		}
	}
	next, err := s.reader.NextEntry()
	switch {
	case errors.Is(err, io.EOF):
		r.open = append(r.open[:at], r.open[at+1:]...)
	case err != nil:
		s.err = err
	default:
		s.next, s.at = next, max(s.at, next.T())
	}
	return entry, s, nil
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
