package gpu

import (
	"bytes"
	"log/slog"
	"strings"
	"sync"
)

// maxNote bounds what is kept of one line of a child, in bytes.
const maxNote = 400

// maxNotes bounds the different lines of children that are logged until one of them has run for a while: a library that
// logs with the time makes every line another.
const maxNotes = 32

// notes takes what children write to standard error. Each line is logged once, however often children repeat it, and for
// who looks closely: the last one, which says why a child ended, is told with its end. It reads on in any case, so that no
// child waits for its log.
type notes struct {
	logger *slog.Logger

	mu      sync.Mutex
	partial []byte
	crash   string // the line with which Go's runtime begins to tell of a crash
	line    string // the newest
	logged  map[string]bool
}

func newNotes(logger *slog.Logger) *notes {
	return &notes{logger: logger, logged: map[string]bool{}}
}

// Write never fails.
func (n *notes) Write(p []byte) (int, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for rest := p; len(rest) > 0; {
		line, after, whole := bytes.Cut(rest, []byte("\n"))
		n.partial = append(n.partial, line[:min(len(line), maxNote-min(maxNote, len(n.partial)))]...)
		if whole {
			n.end()
		}
		rest = after
	}
	return len(p), nil
}

// end takes the line that was gathered. The caller holds mu.
func (n *notes) end() {
	line := clip(string(n.partial), maxNote)
	n.partial = n.partial[:0]
	if line == "" {
		return
	}
	n.line = line
	if n.crash == "" && (strings.HasPrefix(line, "panic: ") || strings.HasPrefix(line, "fatal error: ")) {
		n.crash = line
	}
	if !n.logged[line] && len(n.logged) < maxNotes {
		n.logged[line] = true
		n.logger.Debug("goodput-dcgm wrote", "line", line)
	}
}

// begin is for the next child: what the last one said is not its word.
func (n *notes) begin() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.partial, n.line, n.crash = n.partial[:0], "", ""
}

// again lets lines be logged that were before.
func (n *notes) again() {
	n.mu.Lock()
	defer n.mu.Unlock()
	clear(n.logged)
}

// last is the last line of the child, whole or not; of a crash, the line that says which.
func (n *notes) last() string {
	n.mu.Lock()
	defer n.mu.Unlock()
	if len(n.partial) > 0 {
		n.end()
	}
	if n.crash != "" {
		return n.crash
	}
	return n.line
}
