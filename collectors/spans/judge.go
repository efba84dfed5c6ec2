package spans

import (
	"fmt"
	"math"
	"time"

	"github.com/goodput-exporter/goodput-exporter/exporter/fact"
)

// measure is a number that a span tells of its request.
type measure int

const (
	mTTFT measure = iota
	mE2E
	mQueue
	mPrefill
	mDecode
	mInference
	mPrompt
	mOutput
	mSequences
	numMeasures
)

// keys are vLLM's names (SpanAttributes in its tracing module), the same in V0 and V1. V0 tells neither prefill nor
// decode nor inference, and alone tells the number of sequences.
var keys = [numMeasures]string{
	mTTFT: "gen_ai.latency.time_to_first_token", mE2E: "gen_ai.latency.e2e", mQueue: "gen_ai.latency.time_in_queue",
	mPrefill: "gen_ai.latency.time_in_model_prefill", mDecode: "gen_ai.latency.time_in_model_decode",
	mInference: "gen_ai.latency.time_in_model_inference",
	mPrompt:    "gen_ai.usage.prompt_tokens", mOutput: "gen_ai.usage.completion_tokens", mSequences: "gen_ai.usage.num_sequences",
}

// measureOf is -1 for a key that is no measure.
func measureOf(key []byte) measure {
	for m := range numMeasures {
		if string(key) == keys[m] {
			return m
		}
	}
	return -1
}

const (
	// rounding is how far below zero a duration may come out of a subtraction of unix seconds, whose float64 steps are
	// 0.24 us. It then counts as zero.
	rounding = 1e-6
	// slack is by how much a part may seem to last longer than the whole, seconds: vLLM measures e2e and TTFT with the
	// wall clock in the front end, the parts with the monotonic clock in the engine core.
	slack = 1
	// maxTokens is far above any context length.
	maxTokens = 1e8
	// maxAhead is how long after now a request may end, seconds: it has ended when its span comes, so whoever says otherwise
	// has a clock that is ahead, and no window of ours could be the one of its end.
	maxAhead = 60
	// maxAway is how far from now a request may begin, seconds.
	maxAway = float64(24 * time.Hour / time.Second)
)

// judge is the request that a span tells of, or why it cannot be.
func (r *raw) judge(received float64) (q fact.Request, no *objection) {
	r.completeV0()
	if no = r.identity(); no == nil {
		no = r.complete()
	}
	if no == nil {
		no = r.possible()
	}
	if no == nil {
		no = r.tokens()
	}
	if no == nil {
		no = r.times(received)
	}
	if no != nil {
		return q, no
	}
	n := &r.numbers
	return fact.Request{
		End: seconds(r.start) + n[mE2E], TTFT: n[mTTFT], E2E: n[mE2E], Queue: n[mQueue], Prefill: n[mPrefill], Decode: n[mDecode],
		PromptTokens: int(n[mPrompt]), OutputTokens: int(n[mOutput]),
	}, nil
}

// completeV0 fills in what V0 does not tell and defines just so: prefill from the first scheduling to the first token,
// decode from the first token to the end (LLMEngine._get_stats).
func (r *raw) completeV0() {
	if r.seen[mPrefill] || r.seen[mDecode] || r.seen[mInference] {
		return
	}
	if n := &r.numbers; r.seen[mTTFT] && r.seen[mE2E] && r.seen[mQueue] {
		n[mPrefill], n[mDecode] = n[mTTFT]-n[mQueue], n[mE2E]-n[mTTFT]
		r.seen[mPrefill], r.seen[mDecode] = true, true
	}
}

func (r *raw) identity() *objection {
	if r.attributes > maxAttributes {
		return object(ReasonSize, "%d attributes, of which at most %d are read", r.attributes, maxAttributes)
	}
	if !identifies(r.trace, 16) || !identifies(r.id, 8) {
		return object(ReasonIdentity, "its trace id or span id is missing, zero or of a wrong length")
	}
	return nil
}

func identifies(id []byte, size int) bool {
	for _, b := range id {
		if b != 0 {
			return len(id) == size
		}
	}
	return false
}

func (r *raw) complete() *objection {
	for _, m := range [...]measure{mTTFT, mE2E, mQueue, mPrefill, mDecode, mPrompt, mOutput} {
		if !r.seen[m] {
			return object(ReasonMissing, "%s is missing or no number", keys[m])
		}
	}
	if r.seen[mSequences] && r.numbers[mSequences] != 1 {
		return object(ReasonSequences, "%s is %g: the values of each sequence are not known", keys[mSequences], r.numbers[mSequences])
	}
	return nil
}

// possible checks the durations one by one and then against each other.
func (r *raw) possible() *objection {
	n := &r.numbers
	for _, m := range [...]measure{mTTFT, mE2E, mQueue, mPrefill, mDecode} {
		switch {
		case math.IsNaN(n[m]) || math.IsInf(n[m], 0):
			return object(ReasonNotFinite, "%s is %g", keys[m], n[m])
		case n[m] < -rounding:
			return object(ReasonNegative, "%s is %g s", keys[m], n[m])
		}
		n[m] = max(n[m], 0)
	}
	whole := n[mE2E] + slack
	switch {
	case n[mTTFT] > whole:
		return object(ReasonPart, "%s is %g s, %s %g s", keys[mTTFT], n[mTTFT], keys[mE2E], n[mE2E])
	case n[mDecode] > whole:
		return object(ReasonPart, "%s is %g s, %s %g s", keys[mDecode], n[mDecode], keys[mE2E], n[mE2E])
	case n[mQueue]+n[mPrefill] > whole:
		return object(ReasonPart, "queue and prefill last %g s, %s is %g s", n[mQueue]+n[mPrefill], keys[mE2E], n[mE2E])
	}
	return nil
}

func (r *raw) tokens() *objection {
	for _, m := range [...]measure{mPrompt, mOutput} {
		switch n := r.numbers[m]; {
		case math.IsNaN(n) || math.IsInf(n, 0):
			return object(ReasonNotFinite, "%s is %g", keys[m], n)
		case n < 0 || n > maxTokens || n != math.Trunc(n):
			return object(ReasonTokens, "%s is %g", keys[m], n)
		}
	}
	return nil
}

// times judges against the span's own length last: the other mistakes say more.
func (r *raw) times(received float64) *objection {
	start, end := seconds(r.start), seconds(r.end)
	switch e2e := r.numbers[mE2E]; {
	case r.start == 0 || r.end == 0:
		return object(ReasonTime, "its start or end time is missing")
	case math.Abs(start-received) > maxAway:
		return object(ReasonTime, "begins %g s from now", math.Round(start-received))
	case e2e > end-start+slack:
		return object(ReasonLong, "%s is %g s, its span lasts %g s", keys[mE2E], e2e, end-start)
	case start+e2e-received > maxAhead:
		return object(ReasonTime, "ends %g s after it came: the sender's clock is ahead of this one", math.Round(start+e2e-received))
	}
	return nil
}

// seconds splits before dividing: nanoseconds since 1970 have more digits than a float64.
func seconds(nanos uint64) float64 {
	return float64(nanos/1e9) + float64(nanos%1e9)/1e9
}

// objection is why a span cannot be true. The text is made only when it is needed: one for each reason and message.
type objection struct {
	reason, format string
	args           []any
}

func object(reason, format string, args ...any) *objection { return &objection{reason, format, args} }

func (o *objection) text() string { return fmt.Sprintf(o.format, o.args...) }
