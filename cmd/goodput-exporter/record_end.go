package main

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
)

// summary says what is in the recording.
func (r *recorder) summary(out io.Writer) {
	fmt.Fprintf(out, "Recorded %s", count(r.pages, "page"))
	if r.gpus != nil {
		fmt.Fprintf(out, ", %s", r.gpus.summary())
	}
	if r.tape != nil {
		fmt.Fprintf(out, " and %s", r.tape.summary())
	}
	for _, reason := range slices.Sorted(maps.Keys(r.failures)) {
		fmt.Fprintf(out, ", %d polls failed (%s)", r.failures[reason], reason)
	}
	fmt.Fprintf(out, "; %.1f MB in %s.\n", float64(r.files.total)/1e6, join(r.files.names))
}

// nothing is why there is no page in the recording.
func (r *recorder) nothing(g *generation) error {
	switch {
	case len(r.failures) > 0:
		return errors.New("no page was recorded: every poll failed")
	case len(g.targets.Targets()) > 0:
		return errors.New("no page was recorded: the recording ended before the first poll of an engine did")
	case g.pods == nil:
		return errors.New("no page was recorded: no engine was found in engines.files")
	}
	s := g.pods.status()
	why := "the pods there hold none that can be polled"
	if s.Detail != "" {
		why = s.Detail
	} else if len(s.Pods) == 0 {
		why = "no pod there fits engines.kubernetes.selectors"
	}
	return fmt.Errorf("no page was recorded: no engine was found on %s: %s", s.Where, why)
}
