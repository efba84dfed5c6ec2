package web

import (
	"fmt"
	"time"

	"github.com/goodput-exporter/goodput-exporter/exporter/fold"
)

// Inputs says how what the exporter is fed with is doing, but for the engines.
type Inputs struct {
	ReloadFailed                                         bool      // the configuration that was read last is not in use
	Reloaded                                             time.Time // when the one in use was read
	TargetFilesBroken, TargetsRefused, AccessFilesBroken int
	Spans                                                *Spans     // nil: none are taken in
	Discovery                                            *Discovery // nil: engines are looked for nowhere
}

// Spans is how the taking in of spans goes, since the exporter started.
type Spans struct {
	Outcomes, Refused []fold.Tally // spans by what became of them at the door; those refused by why
	Buffered, Room    int          // spans that wait for the next round, and how many may
	Messages          []Message
}

func (s *Spans) outcome(name string) uint64 {
	for _, t := range s.Outcomes {
		if t.Name == name {
			return t.Count
		}
	}
	return 0
}

// inputAlerts name what the exporter was told to use and cannot.
func (p *pageMaker) inputAlerts() []hint {
	in := &p.view.Inputs
	var out []hint
	add := func(n int, one, many, text string) {
		if n > 0 {
			out = append(out, hint{Text: plural(n, one, many) + " " + text})
		}
	}
	if in.ReloadFailed {
		out = append(out, hint{Text: fmt.Sprintf("The configuration file has a mistake and is not in use: that of %s still is. The log names the line.", stamp(unix(in.Reloaded), p.now))})
	}
	add(in.TargetFilesBroken, "file", "files", "of engines.files cannot be read, or hold a mistake: the targets that they named before are polled. The log says which.")
	add(in.TargetsRefused, "target is", "targets are", "not polled, because another has the same id or the same page. The log says which.")
	add(in.AccessFilesBroken, "file", "files", "with a token, password, certificate or key could not be used: what was read before is. The log says which.")
	return out
}
