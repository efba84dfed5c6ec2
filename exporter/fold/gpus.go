package fold

import "github.com/goodput-exporter/goodput-exporter/exporter/fact"

// How an engine and its GPUs were found to belong together: a closed set, fit for a label, in the order in which they are
// tried.
const (
	JoinUUID = "uuid" // the configuration names the engine's GPUs
	JoinPod  = "pod"  // the kubelet says that the engine's pod holds them
	JoinOnly = "only" // there is one engine, nothing says that a GPU is another's, and no kubelet may know more

	JoinUnmatched = "unmatched" // of a GPU: no engine is known to hold it. Of an engine: it has no GPU that is known
	JoinAmbiguous = "ambiguous" // more than one answer, and nothing that decides
)

// GPU is one card or MIG instance. Counters run since Since.
type GPU struct {
	fact.GPU         // the newest reading; values that are too old are unknown
	Up       bool    // it is in the newest reading and answers
	Seen     float64 // when it last answered, unix seconds
	Since    float64

	Engines []string // ids of the engines that it belongs to, sorted; several share it
	Join    string
	// Shared: several containers or engines hold it, so what it uses cannot be said of any one of them.
	Shared bool

	Joules    fact.Number // energy used since Since; survives resets of the driver's counter
	Errors    []fact.XIDCount
	Throttled []Throttled
}

// Throttled is for how long a reason held clocks down, in seconds since GPU.Since: by the driver's own account where it
// has one, else by readings in which it held.
type Throttled struct {
	Reason  fact.ThrottleReason
	Seconds float64
	Sampled bool // summed over readings, not told by the driver
}

// GPUSource is how the source of GPU readings is doing.
type GPUSource struct {
	Name    string  // "" when none is asked
	Up      bool    // the newest reading is young enough
	At      float64 // of the newest good reading, unix seconds; 0: none yet
	Driver  string
	Version string
	Reason  fact.Reason
	Detail  string // why it is down, what is missing, for a person
	Missing []fact.Missing
	Dropped []Tally // values that were not believed, by why

	// Claims is how it is known which container holds which GPU.
	Claims ClaimSource
}

// ClaimSource is how the kubelet's account of devices is doing. The zero value: it is not asked.
type ClaimSource struct {
	Asked, Up  bool
	At         float64 // of the newest good answer, which is used up to an hour; 0: none yet
	Detail     string
	Unresolved []Tally // devices whose name is no UUID, by why
	Conflicts  uint64  // devices that one pod holds alone and another holds too, by its account now
}

// EngineGPUs is what belongs to an engine. The zero value: there are no GPUs to be joined. Counters run since Since; they
// are known only while Join is an answer, each GPU is a whole card that is the engine's alone, and for joules while each
// tells how much energy it uses. What was used while that was not so is not in them. Those of an engine that is gone stay
// as they were.
type EngineGPUs struct {
	Join    string
	Since   float64  // 0: there was nothing to count yet
	UUIDs   []string // sorted
	Shared  bool     // at least one of them is another's too: nothing is divided, so nothing is said of energy
	Partial string   // why these may not be all of the engine's GPUs; "" when they are
	Why     string   // there is no answer, or Joules is not known; for a person

	Joules fact.Number // energy of all of UUIDs: not of all that the engine uses where Partial says so
	Cost   fact.Number // money for the same, in Options.Cost.Currency
}

// Cost is what a GPU costs: by the time that it is held, by the energy that it uses, or both. The zero value is no cost.
type Cost struct {
	Currency              string // ISO 4217
	PerGPUHour, PerKWhour float64
}
