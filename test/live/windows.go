package main

import "slices"

// judged is a published interval beside what is true of its window.
type judged struct {
	window
	promise promise
	// Sequences that ended in the window, and those of them that kept the promise: at least and at most so many. The two
	// differ by those that ended so near to one of its pages that they may be on either side, and by those of which only
	// the client knows.
	n, good     [2]int
	byClient    int       // that kept the promise by the client's clock alone, all taken at face value
	unwitnessed int       // sequences in the window without a span of the engine's
	lags        []float64 // from the end of each of the others to when its span came, seconds, sorted
}

// slack is how many sequences of a window may differ where the client is the only witness: testdata/README.md allows
// one in a hundred of them.
func (j *judged) slack() float64 { return 0.01 * float64(j.unwitnessed) }

// holds reports whether the published interval can be true. Where the exporter says that it had the span of every sequence
// it has to know the number, but for what the page leaves open of requests that did not finish.
func (j *judged) holds() bool {
	if j.Spans.Complete && !j.open() && j.Lower != j.Upper {
		return false
	}
	return float64(j.Lower) <= float64(j.good[1])+j.slack() && float64(j.Upper) >= float64(j.good[0])-j.slack()
}

// open says that the page does not tell how many requests were cancelled and how many failed, which makes an interval
// wider whatever spans there are.
func (j *judged) open() bool {
	return j.Failed.Lower != j.Failed.Upper || j.Cancelled.Lower != j.Cancelled.Upper
}

// counts reports whether the published number of sequences can be true.
func (j *judged) counts() bool {
	return !j.SequencesOK || float64(j.Sequences) <= float64(j.n[1])+j.slack() && float64(j.Sequences) >= float64(j.n[0])-j.slack()
}

// judgeWindows puts every published window beside the truth.
func judgeWindows(t *truth, p *published, promises []promise) []judged {
	var out []judged
	for _, w := range p.Windows {
		for _, pr := range promises {
			if pr.name == w.SLO {
				out = append(out, judge(t, p, w, pr))
			}
		}
	}
	return out
}

func judge(t *truth, p *published, w window, pr promise) judged {
	j := judged{window: w, promise: pr}
	from, to := poll{w.Start, p.received(w.Start)}, poll{w.End, p.received(w.End)}
	// A process that the exporter has seen since its birth is judged from there, not from its first page.
	if born, ok := t.birthBefore(p, w.Start); ok {
		from = poll{born, born}
	}
	for i := range t.sequences {
		s := &t.sequences[i]
		certainly, possibly := s.within(from, to)
		if !possibly {
			continue
		}
		surely, maybe := s.keeps(pr)
		if certainly {
			j.n[0]++
			j.good[0] += one(surely)
		}
		j.n[1]++
		j.good[1] += one(maybe)
		if s.fromEngine {
			j.lags = append(j.lags, s.span.Received-s.end)
		} else {
			j.unwitnessed++
		}
	}
	slices.Sort(j.lags)
	j.byClient = clientGood(t, w, pr)
	return j
}

// birthBefore is when a process began that shows itself for the first time at a moment; false when an earlier page had
// shown it, and for the first process, which was at work before the exporter came.
func (t *truth) birthBefore(p *published, first float64) (float64, bool) {
	before, ok := p.lastBefore(first)
	for _, l := range t.lives {
		if ok && before.Sent < l.Started && l.Started < first {
			return l.Started, true
		}
	}
	return 0, false
}

// clientGood counts as a load generator would: by the client's clock, with the window's edges taken as sharp.
func clientGood(t *truth, w window, pr promise) (good int) {
	for i := range t.requests {
		r := &t.requests[i]
		for _, q := range r.Sequences {
			if !q.Ended || q.Last <= w.Start || q.Last > w.End {
				continue
			}
			tpot, has := r.TPOT(q)
			good += one(r.TTFT(q) <= pr.ttft && (!has || tpot <= pr.tpot))
		}
	}
	return good
}

func one(b bool) int {
	if b {
		return 1
	}
	return 0
}
