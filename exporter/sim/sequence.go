package sim

// sequence is one stream of output tokens.
type sequence struct {
	request   *request
	prompt    int // tokens
	want      int // output tokens until it ends
	maxTokens int // that it may have at most
	reason    string

	cached    int // prompt tokens found in the prefix cache at first scheduling
	computed  int // tokens whose KV is there
	generated int // output tokens so far
	chunk     int // tokens computed in the step that is under way
	blocks    int // KV blocks of its own
	prefix    *prefix
	sharing   bool // its prefix's blocks are the cache's, not its own

	queued, scheduled, first, last float64 // seconds since the world's start; scheduled < 0: not yet
	preempted                      int
	again                          bool    // it computes anew what it had before a preemption
	left                           float64 // when it was aborted, where that counts as an end; 0: its last token is its end
	aborted                        bool    // its client is gone, and the front end has forgotten it
	closes                         bool    // it was the last of its request to end
}

// known is the number of tokens that there are: the KV of all of them is needed for the next one.
func (s *sequence) known() int { return s.prompt + s.generated }

// What a finished sequence took, seconds: TTFT and e2e from its arrival at the front end, the rest on the engine's clock.
// One that was aborted on the way has 0 for what it did not come to.
func (q *sequence) ttft() float64          { return q.since(q.first, q.request.arrived) }
func (q *sequence) e2e() float64           { return max(q.last, q.left) - q.request.arrived }
func (q *sequence) queueTime() float64     { return max(0, q.scheduled-q.queued) }
func (q *sequence) prefillTime() float64   { return q.since(q.first, q.scheduled) }
func (q *sequence) decodeTime() float64    { return q.last - q.first }
func (q *sequence) inferenceTime() float64 { return q.since(q.last, q.scheduled) }

func (q *sequence) since(token, begin float64) float64 {
	if q.generated == 0 {
		return 0
	}
	return token - begin
}

// tpot is seconds per output token after the first; vLLM observes 0 for a sequence of one.
func (q *sequence) tpot() float64 {
	if q.generated <= 1 {
		return 0
	}
	return q.decodeTime() / float64(q.generated-1)
}
