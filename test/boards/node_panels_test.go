package boards

import (
	"math"
	"regexp"
	"slices"
	"strconv"
	"testing"
)

var rateWindow = regexp.MustCompile(`\[(\d+)s\]`)

// panelsTellTheTruth holds what the panels of GPUs show, at every time at which there was a scrape, against what the GPUs did. The
// numbers of another time must be found wrong, else none could be.
func panelsTellTheTruth(t *testing.T, r *replayed) {
	tried := map[int]bool{}
	for _, b := range boards(t) {
		options := b.options(t, r)
		for _, q := range b.questions(t, r.when, options, all(options), scrape) {
			for i, p := range panelTruths {
				if p.board != b.Title || p.panel != q.panel || p.ref != q.ref {
					continue
				}
				tried[i] = true
				compared, wrong := r.against(t, q, p, 0)
				if least := map[bool]int{true: 2, false: 20}[q.instant]; compared < least {
					t.Errorf("%s: only %d numbers were compared", q, compared)
				}
				if len(wrong) > 0 {
					t.Errorf("%s: %d of %d numbers are not true, as %s\n%s", q, len(wrong), compared, wrong[0], q.expr)
				}
				if _, wrong := r.against(t, q, p, -p.other); len(wrong) == 0 && !r.stretches(t) {
					t.Errorf("%s: the truth of another time is not found wrong", q)
				}
			}
		}
	}
	for i, p := range panelTruths {
		if !tried[i] {
			t.Errorf("%s: no panel %q has a target %s", p.board, p.panel, p.ref)
		}
	}
}

// stretches: Prometheus 3 leaves the first sample of a range out, and stretches the rest, by at most one scrape. That is more
// than a rate of one time may differ from that of another.
func (r *replayed) stretches(t *testing.T) bool { return r.major(t) >= 3 }

// against compares the answers to a question with what was true so many seconds later.
func (r *replayed) against(t *testing.T, q question, p panelTruth, later float64) (compared int, wrong []string) {
	t.Helper()
	window := 0.0
	if m := rateWindow.FindStringSubmatch(q.expr); m != nil {
		window, _ = strconv.ParseFloat(m[1], 64)
	}
	got, err := r.ask(q)
	if err != nil {
		t.Fatal(err)
	}
	within := p.within
	if r.stretches(t) && window > 0 {
		for _, s := range got {
			within = max(within, 1.5*scrape/window*slices.Max(s.Values))
		}
	}
	answered := map[float64]map[string]bool{}
	for _, s := range got {
		key := name(s.Labels["engine"], s.Labels["gpu"], s.Labels["reason"], s.Labels["xid"])
		for i, at := range s.Times {
			at -= r.later
			if answered[at] == nil {
				answered[at] = map[string]bool{}
			}
			answered[at][key] = true
			truth := p.of(r.node, at+later, window)
			want, known := truth[key]
			if truth == nil || !known && !p.all {
				continue
			}
			if compared++; !known || math.Abs(s.Values[i]-want) > within {
				wrong = append(wrong, name(key, "after", stamp(at-nodeStart)+" s:", number(s.Values[i])+", in truth", number(want)))
			}
		}
	}
	for at, keys := range answered {
		for key, want := range p.of(r.node, at+later, window) {
			if !keys[key] {
				wrong = append(wrong, name(key, "after", stamp(at-nodeStart)+" s: not there, in truth", number(want)))
			}
		}
	}
	return compared, wrong
}
