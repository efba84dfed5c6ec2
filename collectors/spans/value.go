package spans

import (
	"math"
	"strconv"
	"strings"
	"unicode/utf8"

	"google.golang.org/protobuf/encoding/protowire"
)

// value is a scalar attribute value; wire 0 (none), or the number of the field that holds it.
type value struct {
	kind  protowire.Number
	bytes []byte
	bits  uint64
}

// keyValue reads a KeyValue. Lists, maps and bytes are no value that anything here is made of, and are not entered.
func keyValue(data []byte) (key []byte, v value, err *Error) {
	var f field
	var inner []byte
	for len(data) > 0 {
		if data, err = f.next(data); err != nil {
			return nil, v, err
		}
		switch {
		case f.is(attributeKey, protowire.BytesType):
			key = f.bytes
		case f.is(attributeValue, protowire.BytesType):
			inner = f.bytes
		}
	}
	for len(inner) > 0 {
		if inner, err = f.next(inner); err != nil {
			return nil, v, err
		}
		switch {
		case f.is(valueString, protowire.BytesType):
			v = value{kind: valueString, bytes: f.bytes}
		case f.is(valueBool, protowire.VarintType), f.is(valueInt, protowire.VarintType), f.is(valueDouble, protowire.Fixed64Type):
			v = value{kind: f.number, bits: f.value}
		}
	}
	return key, v, nil
}

// number is the value of a number: exporters send whole doubles as integers and the reverse.
func (v *value) number() (float64, bool) {
	switch v.kind {
	case valueInt:
		return float64(int64(v.bits)), true
	case valueDouble:
		return math.Float64frombits(v.bits), true
	}
	return 0, false
}

// text is the value as a person would write it; nil for none.
func (v *value) text() []byte {
	switch v.kind {
	case valueString:
		return v.bytes
	case valueBool:
		return strconv.AppendBool(nil, v.bits != 0)
	case valueInt:
		return strconv.AppendInt(nil, int64(v.bits), 10)
	case valueDouble:
		return strconv.AppendFloat(nil, math.Float64frombits(v.bits), 'g', -1, 64)
	}
	return nil
}

// cut is at most so many bytes of a text, valid UTF-8 and not ending within a character.
func cut(text []byte, limit int) string {
	if len(text) > limit {
		text = text[:limit]
		// At most the last character is incomplete.
		for i := 1; i < utf8.UTFMax && i <= len(text); i++ {
			if last := text[len(text)-i:]; utf8.RuneStart(last[0]) {
				if !utf8.FullRune(last) {
					text = text[:len(text)-i]
				}
				break
			}
		}
	}
	if utf8.Valid(text) {
		return string(text)
	}
	return strings.ToValidUTF8(string(text), "?") // one byte for one or more, so it does not grow
}
