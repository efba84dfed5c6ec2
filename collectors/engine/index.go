package engine

import "slices"

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
	partPython // a sign of the Python front end
)

// ref is what a sample name means.
type ref struct {
	part part
	slot int // index into slots
}

// slot is one spelling of one field: the place where its numbers are gathered.
type slot struct {
	alias    *alias
	spelling spelling
	name     string // of the family as a classic page has it, with its first prefix, for messages
}

// family is what a HELP or TYPE line announces.
type family struct {
	slot   int  // index into slots, -1 for none
	dating int  // index into the dating table, -1 for none
	bare   bool // a counter's name without _total
	python bool
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
	x := &index{samples: map[string]ref{}, families: map[string]family{}}
	prefixes := knownPrefixes()
	for i := range aliases {
		a := &aliases[i]
		spelled := prefixes
		if a.bare {
			spelled = []string{""}
		}
		var slots []int
		for _, s := range a.names {
			slots = append(slots, len(x.slots))
			name := spelled[0] + s.name
			if a.kind == counter {
				name += "_total"
			}
			x.slots = append(x.slots, slot{a, s, name})
			for _, prefix := range spelled {
				x.add(a.kind, prefix+s.name, len(x.slots)-1)
			}
		}
		x.byAlias = append(x.byAlias, slots)
	}
	for i, s := range dating {
		for _, prefix := range prefixes {
			for _, suffix := range []string{"", "_total"} {
				x.families[prefix+s.name+suffix] = family{slot: -1, dating: i}
			}
		}
	}
	for _, name := range pythonSigns {
		x.families[name] = family{slot: -1, dating: -1, python: true}
		x.samples[name] = ref{part: partPython, slot: -1}
	}
	return x
}

// add enters the names that a family of a kind has on its TYPE line and on its samples.
func (x *index) add(k kind, name string, slot int) {
	x.families[name] = family{slot: slot, dating: -1, bare: k == counter}
	x.samples[name+"_created"] = ref{partCreated, slot}
	switch k {
	case histogram:
		x.samples[name+"_bucket"] = ref{partBucket, slot}
		x.samples[name+"_sum"] = ref{partSum, slot}
		x.samples[name+"_count"] = ref{partCount, slot}
	case observations:
		x.samples[name+"_count"] = ref{partValue, slot}
	case counter:
		x.families[name+"_total"] = family{slot: slot, dating: -1}
		x.samples[name+"_total"] = ref{partValue, slot}
	case gauge:
		x.samples[name] = ref{partValue, slot}
	}
}

// knownPrefixes are those of all dialects, each once.
func knownPrefixes() []string {
	var prefixes []string
	for _, d := range dialects {
		for _, p := range d.prefixes {
			if !slices.Contains(prefixes, p) {
				prefixes = append(prefixes, p)
			}
		}
	}
	return prefixes
}
