package engine

import (
	"errors"
	"math"
	"strconv"
	"strings"
)

var errNumber = errors.New("not a number")

// powers are exact in float64 up to 1e22, so that dividing an exact integer by one rounds once, as strconv does.
var powers = [...]float64{1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15}

// number reads a sample value or a bucket bound. Up to 15 digits without an exponent, which is almost every value that
// an engine prints, cost no call; strconv reads the rest, e+010 of Python's client included. NaN may carry a sign, as
// C prints it. Hexadecimal and underscores, which strconv knows and the format does not, are refused, and so is what
// overflows.
func number(b []byte) (float64, error) {
	if v, ok := short(b); ok {
		return v, nil
	}
	if len(b) == 0 || len(b) > 64 {
		return 0, errNumber
	}
	s := string(b)
	if strings.EqualFold(s, "-nan") || strings.EqualFold(s, "+nan") {
		return math.NaN(), nil
	}
	if strings.ContainsAny(s, "xXpP_") {
		return 0, errNumber
	}
	v, err := strconv.ParseFloat(s, 64)
	if err != nil {
		return 0, errNumber
	}
	return v, nil
}

// short reads [-]digits[.digits] of at most 15 digits.
func short(b []byte) (v float64, ok bool) {
	i := 0
	if len(b) > 0 && b[0] == '-' {
		i = 1
	}
	if len(b)-i > 16 {
		return 0, false
	}
	var mantissa uint64
	digits, point := 0, -1
	for ; i < len(b); i++ {
		switch c := b[i]; {
		case '0' <= c && c <= '9':
			mantissa = mantissa*10 + uint64(c-'0')
			digits++
		case c == '.' && point < 0:
			point = digits
		default:
			return 0, false
		}
	}
	if digits == 0 || digits > 15 {
		return 0, false
	}
	v = float64(mantissa)
	if point >= 0 {
		v /= powers[digits-point]
	}
	if b[0] == '-' {
		v = -v
	}
	return v, true
}

// isInteger reports whether text is a classic timestamp: signed whole milliseconds.
func isInteger(b []byte) bool {
	_, err := strconv.ParseInt(string(b), 10, 64)
	return err == nil
}
