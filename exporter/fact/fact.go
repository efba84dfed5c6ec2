// Package fact is the vocabulary that the edges and the core share: what was polled and what it said. Plain data,
// no behaviour beyond naming; it does not know how a page looks or what is made of it.
//
// Times are unix seconds as float64, durations are seconds, as on the pages themselves.
package fact

import "github.com/goodput-exporter/goodput-exporter/exporter/hist"

// Target is one engine endpoint to poll.
type Target struct {
	ID     string            // value of the engine label; unique among targets
	URL    string            // where its page is; may carry credentials, which never leave the fetcher
	Labels map[string]string // identity for goodput_engine_info (tier, pod_name, ...); owned by the target's source

	// Starting says that no answer is expected yet: the target's source knows that it has not become ready. A model may take
	// many minutes to load, which is no outage.
	Starting bool

	// Anonymous says that the target's source does not vouch for it: no credential may be shown to it.
	Anonymous bool
}

// Number is a value that a page may not have.
type Number struct {
	V     float64
	Known bool
}

// Known wraps a value that is there.
func Known(v float64) Number { return Number{V: v, Known: true} }

// Family names a histogram by what it measures, whatever the engine calls it.
type Family int

// The histogram families. TTFT is observed at the first token, also of sequences that are aborted later; the families
// from TPOT to OutputTokens when a sequence finishes; TokenGap at each output after the first: a population of token
// gaps, not of sequences.
const (
	TTFT         Family = iota // seconds from arrival to first token
	TPOT                       // seconds per output token after the first, mean of one sequence; 0 for one token
	E2E                        // seconds from arrival to last token
	Queue                      // seconds waiting to be scheduled for the first time
	Prefill                    // seconds from first scheduling to first token
	Decode                     // seconds from first to last token
	Inference                  // seconds from first scheduling to last token
	TokenGap                   // seconds between consecutive outputs
	PromptTokens               // prompt tokens of a finished sequence
	OutputTokens               // generated tokens of a finished sequence
	NumFamilies
)

var familyNames = [NumFamilies]string{"ttft", "tpot", "e2e", "queue", "prefill", "decode", "inference", "token_gap", "prompt_tokens", "output_tokens"}

func (f Family) String() string { return familyNames[f] }

// FamilyNamed is the inverse of String.
func FamilyNamed(name string) (Family, bool) {
	for f, n := range familyNames {
		if n == name {
			return Family(f), true
		}
	}
	return 0, false
}

// ReasonCount is the number of sequences that ended with one finish reason since the process started.
type ReasonCount struct {
	Reason string
	Count  uint64
}

// Rank is what one scheduler (one data-parallel rank) says; an engine without data parallelism has one.
type Rank struct {
	Name    string // the page's engine label; "" when the page has none
	Model   string
	Created float64 // when the rank's metrics were created; 0 unknown

	Histograms [NumFamilies]hist.Histogram
	Finished   []ReasonCount // sequences by finish reason, sorted by reason
	Requests   Number        // finished requests, one for all n sequences of a request

	PromptTokens, OutputTokens Number // tokens since start, aborted sequences included
	Preemptions                Number // events since start
	Running, Waiting           Number // sequences, now; lag by up to one engine step
	KVUsage                    Number // share of KV blocks in use, 0 to 1

	Sleep string // the sleep state of a scheduler that was put to sleep; "" when it is awake or does not say
}

// FinishedWith is the count of one reason, 0 when the page does not list it.
func (r *Rank) FinishedWith(reason string) uint64 {
	for _, c := range r.Finished {
		if c.Reason == reason {
			return c.Count
		}
	}
	return 0
}

// Sequences is the number of finished sequences over all reasons.
func (r *Rank) Sequences() uint64 {
	var n uint64
	for _, c := range r.Finished {
		n += c.Count
	}
	return n
}

// HTTPCount is one row of the front end's request counter. Class is the status group: "2xx" to "5xx".
type HTTPCount struct {
	Handler, Method, Class string
	Count                  uint64
}

// Traits are the facts about a dialect that decide what its counters mean.
type Traits struct {
	// AbortsFinish: a sequence that the client aborted is counted under finish reason "abort" and in every
	// finish-time histogram (vLLM's Rust front end). Otherwise client aborts are in no engine counter.
	AbortsFinish bool
	// HTTPAtStart: http_requests_total moves when the response starts (Rust front end), so it counts arrivals.
	// Otherwise it moves when the response has ended and counts departures.
	HTTPAtStart bool
	// NoFrontEnd: the page may lack the front end's counters for good (V0, simulators, Ray, other engines), so there is
	// no use in waiting for them. Otherwise they come with the first request.
	NoFrontEnd bool
	// RequestHistograms: the finish-time histograms but OutputTokens count requests; the reasons and OutputTokens count
	// sequences (V0). They are the same numbers as long as each request asks for one sequence.
	RequestHistograms bool
	// Unjudged says why no objective can be judged on such pages; "" when objectives can. The families of finished
	// sequences then need not agree on how many there are.
	Unjudged string
}

// Missing is a field that the page lacks, and what cannot be answered without it.
type Missing struct {
	Field string
	Cost  string
}

// EngineSample is one page of one engine, decoded. It is never written to after decoding.
type EngineSample struct {
	Dialect string // the row of the dialect table that recognised the page
	Version string // range of engine versions that the page's names fit, such as ">=0.11"
	Traits  Traits

	ProcessStart float64 // start time of the API server process; 0 unknown
	Ranks        []Rank  // sorted by model, then rank name
	HTTP         []HTTPCount
	HTTPKnown    bool // the page has the http_requests_total family
	// Disaggregated is what on the page shows that prompts are computed on other engines than the tokens that follow; ""
	// when nothing does.
	Disaggregated string
	Admission     Number // requests refused by the admission limit since start, over all its reasons

	Missing  []Missing
	Warnings []string // what the page did wrong and the reader forgave, each kind once
	Series   int      // samples on the page
	Bytes    int      // size of the page, decompressed
}

// Reason is why a poll brought no sample: a closed set, fit for a label.
type Reason string

// The reasons of failed polls and refused pages.
const (
	ReasonTimeout    Reason = "timeout"     // no whole page within the deadline
	ReasonRefused    Reason = "refused"     // nothing listens at the address
	ReasonConnect    Reason = "connect"     // any other failure to connect or to read
	ReasonStatus     Reason = "status"      // HTTP status other than 200
	ReasonAuth       Reason = "auth"        // HTTP 401 or 403
	ReasonRedirect   Reason = "redirect"    // a redirect that is not followed
	ReasonTooLarge   Reason = "too_large"   // body, label or series count over the limit
	ReasonTruncated  Reason = "truncated"   // the body ended early
	ReasonNotMetrics Reason = "not_metrics" // HTML, JSON, empty
	ReasonParse      Reason = "parse"       // not a valid exposition
	ReasonDialect    Reason = "dialect"     // a valid exposition of something that is not a known engine
	ReasonFell       Reason = "fell"        // a counter fell although the process is the same
	ReasonInternal   Reason = "internal"    // a fault of the exporter itself
)

// Poll is one attempt to read one target.
type Poll struct {
	Target   string  // its id
	Sent     float64 // when the request was sent
	Received float64 // when the last byte was in
	Sample   *EngineSample
	Reason   Reason // set when Sample is nil
	Detail   string // one line for a person: what, where, remedy; holds no secret
}

// Request is one finished sequence with all its values together, as a span tells it. Seconds and tokens.
type Request struct {
	End, TTFT, E2E, Queue, Prefill, Decode float64
	PromptTokens, OutputTokens             int
}

// TPOT is seconds per output token after the first, and false for a sequence of at most one token, which has none.
func (r Request) TPOT() (float64, bool) {
	if r.OutputTokens <= 1 {
		return 0, false
	}
	return r.Decode / float64(r.OutputTokens-1), true
}
