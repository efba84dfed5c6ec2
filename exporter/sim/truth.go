package sim

import "github.com/goodput-exporter/goodput-exporter/exporter/fact"

// Outcome is how an HTTP request ended, as somebody knows who sees everything.
type Outcome string

// The outcomes. Refused never reached an engine: nothing listened, so no ledger can hold it.
const (
	Finished          Outcome = "finished"           // all sequences came to their end
	Failed            Outcome = "failed"             // a sequence ended with an error
	Cancelled         Outcome = "cancelled"          // the client closed the connection
	RejectedAdmission Outcome = "rejected_admission" // refused by the engine's own limit, as a 503 or inside a 200
	RejectedClient    Outcome = "rejected_client"    // a bad request: 4xx
	Lost              Outcome = "lost"               // in flight when its process died
	Refused           Outcome = "refused"            // no connection
)

// Request is one HTTP request at its end.
type Request struct {
	ID      uint64
	Logical uint64 // id of the first attempt at the same work; equals ID when it is no retry
	Attempt int    // 1 for the first
	Class   string // name of its class in the mix
	Engine  string
	Process int     // which process of the engine, from 1; 0 when refused
	Arrived float64 // unix seconds, at the front end
	Ended   float64 // unix seconds: when the response was counted, or the process died
	Status  int     // 0: none
	Outcome Outcome
	// Sequences is how many were asked for: the parameter n.
	Sequences int
}

// Sequence is one finished sequence with all its values, at its end.
type Sequence struct {
	Request uint64
	Engine  string
	Rank    int
	Process int
	Reason  string // finish reason as on the page
	Values  fact.Request
}

// FirstToken is the first token of a sequence that may never finish.
type FirstToken struct {
	Request uint64
	Engine  string
	Rank    int
	Process int
	At      float64 // unix seconds
	TTFT    float64 // seconds
}

// Truth is told of everything as it happens; what is nil is not told.
type Truth struct {
	Request    func(Request)
	Sequence   func(Sequence)
	FirstToken func(FirstToken)
}
