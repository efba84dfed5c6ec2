package sim

import (
	"math"
	"strconv"
	"strings"
)

// appendValue writes a number as prometheus_client 0.26 does: Python's repr, but with an exponent from a million on, as Go
// has it (utils.py, floatToGoString). Clients before 0.26 wrote that exponent with another 0, 1e+010, from 1e10 on.
func appendValue(dst []byte, v float64) []byte {
	switch {
	case math.IsInf(v, 1):
		return append(dst, "+Inf"...)
	case math.IsInf(v, -1):
		return append(dst, "-Inf"...)
	case math.IsNaN(v):
		return append(dst, "NaN"...)
	case v == math.Trunc(v) && v < 1e6 && !math.Signbit(v): // most values are counts
		dst = strconv.AppendUint(dst, uint64(v), 10)
		return append(dst, ".0"...)
	}
	s := repr(v)
	if dot := strings.IndexByte(s, '.'); v > 0 && dot > 6 {
		mantissa := strings.TrimRight(s[:1]+"."+s[1:dot]+s[dot+1:], "0.")
		dst = append(dst, mantissa...)
		dst = append(dst, "e+"...)
		if dot-1 < 10 {
			dst = append(dst, '0')
		}
		return strconv.AppendInt(dst, int64(dot-1), 10)
	}
	return append(dst, s...)
}

// repr is Python's float.__repr__: the shortest digits that read back as the same number, with an exponent below 1e-4
// and from 1e16 on.
func repr(v float64) string {
	if a := math.Abs(v); a != 0 && (a < 1e-4 || a >= 1e16) {
		return strconv.FormatFloat(v, 'e', -1, 64)
	}
	s := strconv.FormatFloat(v, 'f', -1, 64)
	if !strings.ContainsRune(s, '.') {
		s += ".0"
	}
	return s
}
