// Package frame is what goodput-dcgm writes to its parent: raw values of DCGM, dated, one frame a tick. It says how a
// frame looks on the pipe and nothing about what a value is worth: status, blanks, age and range are judged by whoever
// reads it. It needs no cgo and knows no DCGM library.
package frame

import (
	"math"
	"strconv"
)

// Version of the format. Keys that are added do not change it, since readers ignore what they do not know; keys that get
// another meaning do.
const Version = 1

// MaxBytes bounds the JSON text of one frame. 32 cards with 7 instances each and 64 fields are about 1.1 MB.
const MaxBytes = 4 << 20

// Frame is one tick of the child.
type Frame struct {
	Version  int     `json:"version"`  // stands first in the text; Write sets it
	At       float64 `json:"at"`       // unix seconds on the child's clock, after the values were read
	Interval float64 `json:"interval"` // seconds between ticks, and between samples of a field
	// Intervals are the seconds between samples of fields that are watched at another pace.
	Intervals map[int]float64 `json:"intervals,omitempty"`

	Mode    string `json:"mode,omitempty"`    // "embedded" or "standalone"
	Library string `json:"library,omitempty"` // version of libdcgm
	Engine  string `json:"engine,omitempty"`  // version of the host engine

	Entities []Entity `json:"entities"`
	Events   []Event  `json:"events,omitempty"` // since the frame before; each event is in one frame only
	// EventsLost is set when events since the frame before could not be read, so that counts of them are too low.
	EventsLost bool `json:"events_lost,omitempty"`

	Unavailable []Unavailable `json:"unavailable,omitempty"`
}

// The kinds of entities.
const (
	Card     = "card"
	Instance = "instance" // a MIG GPU instance
)

// Entity is a card or an instance with its values.
type Entity struct {
	Kind     string `json:"kind"`
	ID       int    `json:"id"`                 // DCGM's entity id within its kind; not an identity, since it can move to another card
	Card     int    `json:"card,omitempty"`     // of an instance: the entity id of its card
	Instance int    `json:"instance,omitempty"` // of an instance: NVML's GPU instance id within the card
	Profile  string `json:"profile,omitempty"`  // of an instance, such as "1g.10gb"; field 50 of the instance where it is ""
	State    string `json:"state,omitempty"`    // "" or what DCGM says of a card that is not well: "lost", "detached", "inaccessible"

	Values []Value `json:"values"`
}

// Kind says which of a value's members holds.
type Kind int

// The kinds of values.
const (
	Int    Kind = 1
	Double Kind = 2
	Text   Kind = 3
)

// Value is what DCGM holds of one field of one entity, sentinels and all.
type Value struct {
	Field  int     `json:"f"`
	Status int     `json:"s,omitempty"` // DCGM's return code of this value; 0 is ok, and still may come with a blank
	Time   int64   `json:"t,omitempty"` // microseconds since 1970 on the host engine's clock, when it was sampled
	Kind   Kind    `json:"k,omitempty"` // 0 where there is a status only
	Int    int64   `json:"i,omitempty"`
	Double float64 `json:"d,omitempty"`
	Text   string  `json:"x,omitempty"`
}

// Event is one value of a field for which each sample counts, such as an XID.
type Event struct {
	Kind  string `json:"kind"` // of the entity
	ID    int    `json:"id"`   // of the entity
	Field int    `json:"f"`
	Time  int64  `json:"t"` // as in Value
	Int   int64  `json:"i"`
}

// Unavailable is a field that is not watched, and why: one line for a person.
type Unavailable struct {
	Field int    `json:"f"`
	Why   string `json:"why"`
}

// Integer makes a value of an integer or timestamp field.
func Integer(field, status int, time, v int64) Value {
	return Value{Field: field, Status: status, Time: time, Kind: Int, Int: v}
}

// Real makes a value of a double field. JSON has no NaN and no infinity: they go as text, which no reader takes for a
// number.
func Real(field, status int, time int64, v float64) Value {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return String(field, status, time, strconv.FormatFloat(v, 'g', -1, 64))
	}
	return Value{Field: field, Status: status, Time: time, Kind: Double, Double: v}
}

// String makes a value of a text field.
func String(field, status int, time int64, v string) Value {
	return Value{Field: field, Status: status, Time: time, Kind: Text, Text: v}
}

// The exit codes with which the child tells why it ends, beside a line on stderr. 127 is none of them: the dynamic loader
// ends a process with it when the library lacks a symbol.
const (
	ExitUsage   = 1 // wrong arguments
	ExitLibrary = 3 // libdcgm.so.4 is not there or cannot be loaded
	ExitVersion = 4 // the library and the host engine do not fit together
	ExitConnect = 5 // no host engine at the address, or the embedded one does not start
	ExitEngine  = 6 // the host engine went away, or answers every call with an error
	ExitLoader  = 127
)
