package fold

import (
	"testing"

	"github.com/goodput-exporter/goodput-exporter/exporter/fact"
)

// TestStarting: an engine that need not answer yet is starting until it does, or until it need; afterwards it is like any
// other, also while its target says that it is starting again.
func TestStarting(t *testing.T) {
	s := tell(t, 90)
	phase := func(what string, want Phase) {
		t.Helper()
		if got := s.engine().Phase; got != want {
			t.Errorf("%s: phase %q, want %q", what, got, want)
		}
	}
	s.targets[0].Starting = true
	s.miss(100, fact.ReasonRefused)
	phase("it loads its model", PhaseStarting)
	for at := 102.0; at < 1300; at += 2 {
		s.miss(at, fact.ReasonRefused)
	}
	phase("it loads its model for 20 minutes", PhaseStarting)
	s.targets[0].Starting = false
	s.miss(1300, fact.ReasonRefused)
	phase("its pod is ready and it does not answer", PhaseUnseen)
	s.targets[0].Starting = true
	s.page(1302, says{born: 1200})
	phase("it answers before its pod is ready", PhaseWarming)
	s.miss(1304, fact.ReasonRefused)
	phase("its container crashed, and a new one starts", PhaseDown)
	if !PhaseDown.Seen() || PhaseStarting.Seen() || PhaseUnseen.Seen() {
		t.Error("only what never answered is not seen")
	}
	s.targets = nil
	s.round(1306)
	if s.engine().Phase == PhaseStarting {
		t.Error("what is gone is not starting")
	}
}
