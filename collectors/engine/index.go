package engine

// rankLabel tells the ranks of one engine apart.
const rankLabel = "engine"

// labelID is a label that decides where a sample belongs.
type labelID int

const (
	labelRank labelID = iota
	labelModel
	labelLE
	labelPID
	labelReason
	labelHandler
	labelMethod
	labelStatus
	labelSource
	labelSleep
	labelReplica
	labelShard
	labelTensor
	labelPipeline
	labelPriority
	numLabels
	labelOther labelID = -1
)

// labelOf maps label names to their roles. A dialect that spells a role differently gets its name here.
func labelOf(name []byte) labelID {
	switch string(name) {
	case rankLabel:
		return labelRank
	case "model_name":
		return labelModel
	case "le":
		return labelLE
	case "pid": // of gauges without a multi-process mode: one series for each API server process
		return labelPID
	case "finished_reason", "finish_reason", "reason": // vLLM's counter of finishes, simulators', refusals
		return labelReason
	case "handler":
		return labelHandler
	case "method":
		return labelMethod
	case "status":
		return labelStatus
	case "source":
		return labelSource
	case "sleep_state":
		return labelSleep
	case "ReplicaId": // of Ray, whose agent shows all replicas of a node on one page
		return labelReplica
	case "dp_rank": // of SGLang's schedulers; its front end counts for all of them
		return labelShard
	case "tp_rank":
		return labelTensor
	case "pp_rank":
		return labelPipeline
	case "priority":
		return labelPriority
	}
	return labelOther
}

// part is which number of a field a sample carries.
type part int

const (
	partNone part = iota // a name that is not needed
	partValue
	partBucket
	partSum
	partCount
	partCreated
	partSign // a name that is not read and tells who wrote the page
)

// ref is what a sample name means.
type ref struct {
	part part
	slot int // index into slots
	sign sign
}

// slot is one spelling of one field: the place where its numbers are gathered.
type slot struct {
	alias    *alias
	maker    maker
	spelling spelling
	name     string // of the family as a classic page has it, with its first prefix, for messages
}

// family is what a HELP or TYPE line announces.
type family struct {
	slot   int  // index into slots, -1 for none
	dating int  // index into the dating table, -1 for none
	bare   bool // a counter's name without _total
	sign   sign
}

// index finds the meaning of a whole name; names are never matched by prefix, since vllm:iteration_tokens_total is a
// histogram and vllm:prompt_tokens_created is not a count.
type index struct {
	samples  map[string]ref
	families map[string]family
	slots    []slot
	byAlias  [][]int // the slots of each row of aliases, in order of preference
}

// names is the index over the tables; it is not written to after this.
var names = newIndex()

func newIndex() *index {
	x := &index{samples: map[string]ref{}, families: map[string]family{}, byAlias: make([][]int, len(aliases))}
	for i := range aliases {
		x.spell(i, vllm, aliases[i].names)
		x.spell(i, sglang, aliases[i].sglang)
	}
	for i, s := range dating {
		for _, prefix := range prefixes[vllm] {
			for _, suffix := range []string{"", "_total"} {
				x.families[prefix+s.name+suffix] = family{slot: -1, dating: i}
			}
		}
	}
	for _, s := range signatures {
		spelled := prefixes[vllm]
		if s.bare {
			spelled = []string{""}
		}
		for _, prefix := range spelled {
			for _, suffix := range []string{"", "_total"} {
				x.families[prefix+s.name+suffix] = family{slot: -1, dating: -1, sign: s.sign}
			}
			for _, suffix := range []string{"", "_total", "_count"} {
				x.samples[prefix+s.name+suffix] = ref{part: partSign, slot: -1, sign: s.sign}
			}
		}
	}
	return x
}

// spell enters one maker's spellings of a row of aliases.
func (x *index) spell(row int, m maker, names []spelling) {
	a := &aliases[row]
	spelled := prefixes[m]
	if a.bare {
		spelled = []string{""}
	}
	for _, s := range names {
		name := spelled[0] + s.name
		if a.kind == counter {
			name += "_total"
		}
		x.byAlias[row] = append(x.byAlias[row], len(x.slots))
		x.slots = append(x.slots, slot{a, m, s, name})
		for _, prefix := range spelled {
			x.add(a.kind, prefix+s.name, len(x.slots)-1)
		}
	}
}

// add enters the names that a family of a kind has on its TYPE line and on its samples.
func (x *index) add(k kind, name string, slot int) {
	x.families[name] = family{slot: slot, dating: -1, bare: k == counter}
	of := func(p part) ref { return ref{part: p, slot: slot} }
	x.samples[name+"_created"] = of(partCreated)
	switch k {
	case histogram:
		x.samples[name+"_bucket"] = of(partBucket)
		x.samples[name+"_sum"] = of(partSum)
		x.samples[name+"_count"] = of(partCount)
	case observations:
		x.samples[name+"_count"] = of(partValue)
	case counter:
		x.families[name+"_total"] = family{slot: slot, dating: -1}
		x.samples[name+"_total"] = of(partValue)
	case gauge:
		x.samples[name] = of(partValue)
	}
}
