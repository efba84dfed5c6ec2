package main

import (
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"golang.org/x/term"
)

// progress shows on a terminal how far long work has come, on one line that it takes away again. In a pipe or a file it
// writes nothing. Not for concurrent use.
type progress struct {
	out   io.Writer // nil: nobody watches
	what  string
	begun time.Time
	next  time.Time // when to show the next state
	width int       // of what stands on the line
}

// The first state is shown after a second, so that short work is not seen at all, and a new one some times a second.
const (
	progressDelay = time.Second
	progressEvery = 200 * time.Millisecond
)

// newProgress reports to w if that is a terminal.
func newProgress(w io.Writer, what string) *progress {
	p := &progress{what: what, begun: time.Now()}
	p.next = p.begun.Add(progressDelay)
	if f, ok := w.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		p.out = w
	}
	return p
}

// at says which share of the work is done, 0 to 1.
func (p *progress) at(share float64) {
	if p.out == nil {
		return
	}
	now := time.Now()
	if now.Before(p.next) {
		return
	}
	p.next = now.Add(progressEvery)
	share = min(share, 1)
	text := fmt.Sprintf("%s: %3.0f %%", p.what, 100*share)
	if spent := now.Sub(p.begun); share > 0.02 && share < 1 {
		text += fmt.Sprintf(", %v to go", time.Duration(float64(spent)*(1-share)/share).Round(time.Second))
	}
	p.write(text)
}

// done takes the line away.
func (p *progress) done() {
	if p.out != nil && p.width > 0 {
		p.write("")
		fmt.Fprint(p.out, "\r")
	}
}

func (p *progress) write(text string) {
	fmt.Fprintf(p.out, "\r%s%s", text, strings.Repeat(" ", max(0, p.width-len(text))))
	p.width = len(text)
}

// measuredFile is a file that is read once, and knows how far.
type measuredFile struct {
	*os.File
	size, read int64 // bytes
}

func openMeasured(name string) (*measuredFile, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	m := &measuredFile{File: f}
	if info, err := f.Stat(); err == nil { // of a pipe the size is 0, and the progress unknown
		m.size = info.Size()
	}
	return m, nil
}

func (m *measuredFile) Read(p []byte) (int, error) {
	n, err := m.File.Read(p)
	m.read += int64(n)
	return n, err
}

// share is how much of it has been read, 0 to 1.
func (m *measuredFile) share() float64 { return float64(m.read) / float64(max(1, m.size)) }
