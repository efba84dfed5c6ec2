package spans

import (
	"slices"
	"strings"
)

// Why a span is refused: a closed set, fit for a label.
const (
	ReasonMissing   = "missing"   // an attribute that a request has is not there, or is no number
	ReasonNegative  = "negative"  // a duration below zero
	ReasonNotFinite = "infinite"  // a value that is not a finite number
	ReasonPart      = "part"      // a part of the request lasts longer than the whole
	ReasonLong      = "long"      // the request lasts longer than its span: such as the host's uptime, after an abort in the engine
	ReasonTokens    = "tokens"    // a number of tokens that no request has
	ReasonTime      = "time"      // begins at no time, or more than a day from now, or ends more than a minute after it came
	ReasonIdentity  = "identity"  // no trace id or span id by which it could be told from others
	ReasonSequences = "sequences" // stands for several sequences, whose own values it does not tell
	ReasonSize      = "size"      // more attributes than are read
)

// Refusal is spans that were refused for one reason, with one of them for a person: names and numbers of its values,
// nothing that the sender wrote.
type Refusal struct {
	Reason  string
	Count   uint64
	Example string
}

// refusals is sorted by reason.
type refusals []Refusal

// add counts and reports whether the reason is new: then the refusal wants an example.
func (r *refusals) add(reason string, n uint64) (_ *Refusal, first bool) {
	i, found := slices.BinarySearchFunc(*r, reason, func(a Refusal, reason string) int { return strings.Compare(a.Reason, reason) })
	if !found {
		*r = slices.Insert(*r, i, Refusal{Reason: reason})
	}
	(*r)[i].Count += n
	return &(*r)[i], !found
}
