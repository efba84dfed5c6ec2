package spans

import (
	"encoding/hex"
	"encoding/json"
	"math"
	"reflect"
	"strconv"
	"strings"
)

// numberError is a value that does not stand for what its key asks for.
type numberError struct{ want string }

func (e *numberError) Error() string { return "a value is no " + e.want }

var listType = reflect.TypeFor[[]any]()

// hexID is an id of a trace or a span.
type hexID []byte

// UnmarshalJSON reads hex, in either case.
func (id *hexID) UnmarshalJSON(text []byte) error {
	s, err := unquoted(text)
	if err != nil {
		return err
	}
	if *id, err = hex.DecodeString(s); err != nil {
		return &numberError{"id in hex"}
	}
	return nil
}

// jsonInt is a 64-bit integer: a decimal string, or a number as some exporters write it. Times are unsigned and values
// signed; both are kept as the same bits.
type jsonInt uint64

// UnmarshalJSON reads an integer.
func (n *jsonInt) UnmarshalJSON(text []byte) error {
	s, err := unquoted(text)
	if err != nil || s == "" {
		return err
	}
	if signed, err := strconv.ParseInt(s, 10, 64); err == nil {
		*n = jsonInt(signed)
		return nil
	}
	if unsigned, err := strconv.ParseUint(s, 10, 64); err == nil {
		*n = jsonInt(unsigned)
		return nil
	}
	// Protobuf's JSON allows 1e3 and 5.0 for integers.
	if f, err := strconv.ParseFloat(s, 64); err == nil && f == math.Trunc(f) && math.Abs(f) < 1<<63 {
		*n = jsonInt(int64(f))
		return nil
	}
	return &numberError{"integer of 64 bits"}
}

// jsonDouble is a number, or one of the names that JSON has no numbers for.
type jsonDouble float64

// UnmarshalJSON reads a number.
func (n *jsonDouble) UnmarshalJSON(text []byte) error {
	s, err := unquoted(text)
	if err != nil || s == "" {
		return err
	}
	switch s {
	case "NaN":
		*n = jsonDouble(math.NaN())
		return nil
	case "Infinity", "-Infinity":
		*n = jsonDouble(math.Inf(1))
		if strings.HasPrefix(s, "-") {
			*n = -*n
		}
		return nil
	}
	f, err := strconv.ParseFloat(s, 64)
	if err != nil {
		return &numberError{"number"}
	}
	*n = jsonDouble(f)
	return nil
}

// unquoted is what a scalar says, whether it is written as a string or not; "" for null.
func unquoted(text []byte) (string, error) {
	switch {
	case string(text) == "null":
		return "", nil
	case text[0] == '"':
		var s string
		err := json.Unmarshal(text, &s)
		return s, err
	case text[0] == '{' || text[0] == '[':
		return "", &numberError{"scalar"}
	}
	return string(text), nil
}
