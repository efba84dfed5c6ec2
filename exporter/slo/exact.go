package slo

import (
	"slices"

	"github.com/goodput-exporter/goodput-exporter/exporter/fact"
)

// Met reports whether a request meets all clauses. A request of one token has no TPOT and meets a clause on it.
func Met(clauses []Clause, r *fact.Request) bool {
	for i := range clauses {
		if Misses(clauses[i], r) {
			return false
		}
	}
	return true
}

// Misses reports whether a request has the latency that a clause is about, and over the threshold.
func Misses(c Clause, r *fact.Request) bool {
	v, has := value(*r, c.Metric)
	return has && !(v <= c.Threshold)
}

// Interval is a count known to lie between two numbers.
type Interval struct{ Lower, Upper uint64 }

// And is where the truth lies when it lies in both; false when they do not meet, and one of them is wrong.
func (i Interval) And(j Interval) (Interval, bool) {
	both := Interval{max(i.Lower, j.Lower), min(i.Upper, j.Upper)}
	return both, both.Lower <= both.Upper
}

// Seen counts the sequences that finished in a window by what is known of each alone. Which of them ended with a reason
// that is no success is not among that: the reason is on the page, and not on the span.
//
// Where attempts are taken together, the superseded ones are those that a later attempt of the same request replaced:
// they are not counted any more, neither as met nor as missed.
type Seen struct {
	Finished     uint64 // all, seen or not
	Met, Missed  uint64 // of the seen that are not superseded: those that meet all clauses, and the others
	Superseded   uint64 // of the seen
	Unsuccessful uint64 // of Finished: ended with a reason that is no success
}

// Unseen is how many sequences finished of which nothing is known.
func (s Seen) Unseen() uint64 { return monus(s.Finished, s.Met+s.Missed+s.Superseded) }

// failing is the least number of unsuccessful sequences among those that are not superseded.
func (s Seen) failing() uint64 { return monus(s.Unsuccessful, s.Superseded) }

// Qualified bounds the sequences that succeeded and meet all clauses, superseded ones left out.
//
// Proof. Let Q be the qualified, M the met, U the unseen, B the unsuccessful, and F all that are not superseded. Every
// qualified one is met or unseen: |Q| <= |M| + |U|. None is in B, of which at least |B| - superseded are in F:
// |Q| <= |F| - that. Every met one that is not in B is qualified: |Q| >= |M| - |B|. All three are reached by some choice
// of B and U, so nothing tighter holds; with every sequence seen and B empty, or all of them in B, they meet.
func (s Seen) Qualified() Interval {
	upper := min(s.Met+s.Unseen(), monus(monus(s.Finished, s.Superseded), s.failing()))
	return Interval{min(upper, monus(s.Met, s.Unsuccessful)), upper}
}

// OutputTokens bounds the output tokens of the qualified sequences. total is what all that finished have, superseded
// included, missed what the missed and the superseded have, and met one number for each of the met, which it sorts. met
// may be nil when nothing was unsuccessful, and metTotal, its sum, tells. False when the seen have more than all.
//
// Proof. The tokens of the qualified are those of the met and successful, and of the unseen ones that qualify. The
// unsuccessful among the met number at most |B|, and at worst they are the largest; the unseen may all fail: the lower
// end. All but the missed and superseded may qualify, and the unseen hold what is left over: total - missed; but when
// more are unsuccessful than can be missed, superseded or unseen, the rest are met, and at best the smallest.
func (s Seen) OutputTokens(total, missed, metTotal uint64, met []int) (Interval, bool) {
	if missed+metTotal > total {
		return Interval{0, total}, false
	}
	i := Interval{metTotal, total - missed}
	if s.Unsuccessful == 0 {
		return i, true
	}
	i.Lower = s.LeastTokens(metTotal, met)
	for _, n := range met[:min(monus(s.Unsuccessful, s.Missed+s.Superseded+s.Unseen()), uint64(len(met)))] {
		i.Upper -= uint64(n)
	}
	return i, true
}

// LeastTokens is what the met have at least, when the unsuccessful among them are those with the most. It sorts them.
func (s Seen) LeastTokens(metTotal uint64, met []int) uint64 {
	slices.Sort(met)
	for _, n := range met[len(met)-int(min(s.Unsuccessful, uint64(len(met)))):] {
		metTotal -= uint64(n)
	}
	return metTotal
}

// OfClass bounds the qualified sequences of one class of the requests, of whose seen so many meet the clauses: every
// unseen one may be of it, and so may every unsuccessful one.
func (s Seen) OfClass(met uint64) Interval {
	return Interval{monus(met, s.Unsuccessful), min(met+s.Unseen(), s.Qualified().Upper)}
}

// Regrouped moves an interval of all attempts to what they come to when they are taken together. less is by how many the
// seen that meet the clauses become fewer: the superseded among them, and those that fail on the clock of the first
// attempt.
//
// Proof. Let m say of a sequence whether it meets the clauses as an attempt and m' as a request, s whether it succeeded.
// The first attempt's clock only adds to a latency, so m' <= m, and what all attempts have and requests have not is the
// sum of s m over the superseded and of s (m - m') over the last attempts: at most the same sum without s, which is less,
// and no more below that than there are sequences with s = 0. Unseen sequences are attempts of their own either way.
func (s Seen) Regrouped(attempts Interval, less uint64) Interval {
	return Interval{monus(attempts.Lower, less), monus(attempts.Upper, monus(less, s.Unsuccessful))}
}

// monus is a - b, 0 when b is larger.
func monus(a, b uint64) uint64 { return a - min(a, b) }
