package exporter

import (
	"bytes"
	"log/slog"
	"testing"

	"github.com/goodput-exporter/goodput-exporter/exporter/fact"
	"github.com/goodput-exporter/goodput-exporter/exporter/fold"
)

// TestEachChangeOfGPUsIsLoggedOnce folds no rounds: it shows the journal one snapshot after another.
func TestEachChangeOfGPUsIsLoggedOnce(t *testing.T) {
	card := func(up bool, xids ...fact.XIDCount) []fold.GPU {
		return []fold.GPU{{GPU: fact.GPU{UUID: cardA}, Up: up, Engines: []string{"a"}, Errors: xids}}
	}
	page := func(up bool) fold.GPUSource {
		s := fold.GPUSource{Name: "dcgm-exporter", Up: up, At: 1}
		if !up {
			s.Reason, s.Detail = fact.ReasonRefused, "nothing listens"
		}
		return s
	}
	claims := func(up bool) fold.GPUSource {
		return fold.GPUSource{Name: "dcgm", Up: true, Claims: fold.ClaimSource{Asked: true, Up: up, Detail: "why"}}
	}
	const errorLine = "level=WARN msg=\"the driver reports an error of a GPU\" gpu=" + cardA + " xid="
	for name, c := range map[string]struct {
		rounds []fold.Snapshot
		want   []string
	}{
		"nothing is asked":        {rounds: []fold.Snapshot{{}, {}}},
		"a child logs for itself": {rounds: []fold.Snapshot{{GPUSource: fold.GPUSource{Name: "dcgm"}}, {GPUSource: fold.GPUSource{Name: "dcgm", Up: true}}}},
		"a page comes and goes": {
			rounds: []fold.Snapshot{{GPUSource: page(true)}, {GPUSource: page(true)}, {GPUSource: page(false)}, {GPUSource: page(false)}, {GPUSource: page(true)}},
			want: []string{
				"level=INFO msg=\"GPU telemetry is there\" gpu_source=dcgm-exporter",
				"level=WARN msg=\"GPU telemetry is not there\" gpu_source=dcgm-exporter reason=refused detail=\"nothing listens\"",
				"level=INFO msg=\"GPU telemetry is there\" gpu_source=dcgm-exporter",
			},
		},
		"the kubelet falls silent": {
			rounds: []fold.Snapshot{{GPUSource: claims(true)}, {GPUSource: claims(false)}, {GPUSource: claims(false)}},
			want: []string{
				"level=INFO msg=\"the kubelet says which container holds which GPU\"",
				"level=WARN msg=\"the kubelet does not say which container holds which GPU: its last answer is used for up to an hour\" detail=why",
			},
		},
		"a card is lost and comes back; a source that is down says nothing of it": {
			rounds: []fold.Snapshot{
				{GPUSource: claims(true), GPUs: card(true)}, {GPUSource: claims(true), GPUs: card(false)}, {GPUSource: claims(true), GPUs: card(false)},
				{GPUSource: fold.GPUSource{Name: "dcgm"}}, {GPUSource: claims(true), GPUs: card(false)}, {GPUSource: claims(true), GPUs: card(true)},
			},
			want: []string{
				"level=INFO msg=\"the kubelet says which container holds which GPU\"",
				"level=WARN msg=\"a GPU does not answer\" gpu=" + cardA + " engines=[a]",
				"level=INFO msg=\"a GPU answers again\" gpu=" + cardA + " engines=[a]",
			},
		},
		"each kind of error once": {
			rounds: []fold.Snapshot{
				{GPUSource: fold.GPUSource{Name: "dcgm", Up: true}, GPUs: card(true, fact.XIDCount{XID: 31, Count: 1})},
				{GPUSource: fold.GPUSource{Name: "dcgm", Up: true}, GPUs: card(true, fact.XIDCount{XID: 31, Count: 9}, fact.XIDCount{XID: 79, Count: 1})},
			},
			want: []string{errorLine + "31 times=1 engines=[a]", errorLine + "79 times=1 engines=[a]"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			var log bytes.Buffer
			j := newJournal(slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
				if a.Key == slog.TimeKey {
					return slog.Attr{}
				}
				return a
			}})))
			for i := range c.rounds {
				j.noteGPUs(&c.rounds[i])
			}
			var got []string
			for line := range bytes.Lines(log.Bytes()) {
				got = append(got, string(bytes.TrimSpace(line)))
			}
			sameLines(t, got, c.want...)
		})
	}
}
