package load

// Outcome is how a request ended, as its client saw it.
type Outcome string

// The outcomes.
const (
	Finished  Outcome = "finished"  // the whole answer came
	Cancelled Outcome = "cancelled" // the client hung up
	Refused   Outcome = "refused"   // a status other than 200, or a refusal inside a 200
	Broken    Outcome = "broken"    // the connection broke, or the answer ended early
	Unreached Outcome = "unreached" // no connection came about: the engine never heard of it
)

// Seen is what a client saw of one request. Times are unix seconds on the client's clock; 0 stands for what did not
// happen.
type Seen struct {
	Ask
	Start, End float64
	Status     int // HTTP; 0: no response
	Outcome    Outcome
	Inside     bool // the refusal came inside a 200
	Detail     string
	Sequences  []Sequence // those that had a first token, by their index
}

// Sequence is one of the n answers of a request.
type Sequence struct {
	Index       int
	First, Last float64
	Ended       bool // its finish reason came
	MaxGap      float64
}

// FirstToken reports whether anything of an answer had come.
func (s *Seen) FirstToken() bool { return len(s.Sequences) > 0 }

// TTFT is the time from the request to the sequence's first token.
func (s *Seen) TTFT(q Sequence) float64 { return q.First - s.Start }

// E2E is the time from the request to the sequence's last token.
func (s *Seen) E2E(q Sequence) float64 { return q.Last - s.Start }

// TPOT is the mean time per output token after the first; false for an answer of one token, which has none.
func (s *Seen) TPOT(q Sequence) (float64, bool) {
	if s.Output < 2 {
		return 0, false
	}
	return (q.Last - q.First) / float64(s.Output-1), true
}
