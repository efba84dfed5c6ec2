package config

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"gopkg.in/yaml.v3"
)

// word describes a value of one word.
type word[V any] struct {
	kind    string
	example string // stands in errors
	text    bool   // any text, to be quoted where YAML would take it for something else
	parse   func(text string) (v V, what, remedy string)
	format  func(V) string // "": nothing to write
	shape   func() map[string]any
}

func scalar[V any](c word[V]) codec[V] {
	return codec[V]{
		kind: c.kind, shape: c.shape,
		read: func(r *reader, at place, v *V) bool {
			text, ok := r.word(at, c.kind, c.example)
			if !ok {
				return false
			}
			x, what, remedy := c.parse(text)
			if what != "" {
				return r.add(at.line, at.path, what, remedy)
			}
			*v = x
			return true
		},
		write: func(_ writer, v V) *yaml.Node {
			n := &yaml.Node{Kind: yaml.ScalarNode, Value: c.format(v)}
			if n.Value == "" {
				return nil
			}
			if c.text {
				n.Tag = "!!str"
			}
			return n
		},
	}
}

// duration is a length of time from low to high; unit ("ms" or "s") is what a number without one is taken to mean in the remedy.
func duration(unit string, low, high time.Duration) codec[time.Duration] {
	is := "from " + formatDuration(low) + " to " + formatDuration(high)
	return scalar(word[time.Duration]{
		kind: "duration " + is, example: map[string]string{"ms": "250ms", "s": "30s"}[unit],
		parse: func(text string) (time.Duration, string, string) {
			d, err := parseDuration(text)
			switch {
			case err != nil:
				return 0, "the duration " + quote(text) + " " + err.Error(), durationRemedy(text, unit)
			case d < low || d > high:
				return 0, formatDuration(d) + " is out of range", "choose a duration " + is
			}
			return d, "", ""
		},
		format: formatDuration,
		shape:  func() map[string]any { return durationShape(low == 0) },
	})
}

var sizeForm = regexp.MustCompile(`^([0-9]{1,15})(B|KiB|MiB|GiB)$`)

// size is a number of bytes.
func size(low, high int64) codec[int64] {
	units := map[string]int64{"B": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30}
	format := func(n int64) string {
		for _, u := range []string{"GiB", "MiB", "KiB"} {
			if n > 0 && n%units[u] == 0 {
				return strconv.FormatInt(n/units[u], 10) + u
			}
		}
		return strconv.FormatInt(n, 10) + "B"
	}
	is := "from " + format(low) + " to " + format(high)
	return scalar(word[int64]{
		kind: "size " + is, example: "16MiB",
		parse: func(text string) (int64, string, string) {
			m := sizeForm.FindStringSubmatch(text)
			if m == nil {
				return 0, quote(text) + " is not a size", "write a whole number with B, KiB, MiB or GiB, such as 16MiB"
			}
			n, _ := strconv.ParseInt(m[1], 10, 64) // at most 15 digits
			if n > high/units[m[2]] || n*units[m[2]] < low {
				return 0, text + " is out of range", "choose a size " + is
			}
			return n * units[m[2]], "", ""
		},
		format: format,
		shape:  func() map[string]any { return textShape(sizeForm.String()) },
	})
}

var numberForm = regexp.MustCompile(`^[-+]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][-+]?[0-9]+)?$`)

// decimal reads a finite decimal number, and nothing else that Go or YAML would take for one.
func decimal(text string) (float64, bool) {
	v, err := strconv.ParseFloat(text, 64)
	return v, err == nil && numberForm.MatchString(text) && !math.IsInf(v, 0)
}

func formatNumber(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }

// number is a positive decimal number.
func number() codec[float64] {
	return scalar(word[float64]{
		kind: "number above 0", example: "0.5", format: formatNumber,
		shape: func() map[string]any { return numberShape("number", numberForm.String(), "exclusiveMinimum", 0) },
		parse: func(text string) (float64, string, string) {
			v, ok := decimal(text)
			if !ok || v <= 0 {
				return 0, quote(text) + " is not a number above 0", "write a decimal number such as 0.5"
			}
			return v, "", ""
		},
	})
}

// sharePattern is as much of a share as a pattern can say: with an exponent, any number may be one.
const sharePattern = `^\+?(0*\.[0-9]+|[0-9.]+[eE][-+]?[0-9]+)$`

// share is a part of a whole, strictly between none and all.
func share() codec[float64] {
	return scalar(word[float64]{
		kind: "number between 0 and 1", example: "0.95", format: formatNumber,
		shape: func() map[string]any {
			return numberShape("number", sharePattern, "exclusiveMinimum", 0, "exclusiveMaximum", 1)
		},
		parse: func(text string) (float64, string, string) {
			bare := strings.TrimSpace(strings.TrimSuffix(text, "%"))
			v, ok := decimal(bare)
			switch {
			case ok && bare == text && v > 0 && v < 1:
				return v, "", ""
			case ok && v > 0 && v < 100 && (v > 1 || bare != text):
				return 0, quote(text) + " looks like a percentage", "write the share: " + strconv.FormatFloat(v/100, 'g', 12, 64)
			case ok && (v == 1 || v == 100):
				return 0, text + " leaves no room for a single failure", "write a share below 1, such as 0.999"
			}
			return 0, quote(text) + " is not a number between 0 and 1", "write a share such as 0.95"
		},
	})
}

func boolean() codec[bool] {
	return scalar(word[bool]{
		kind: "true or false", example: "true", format: strconv.FormatBool,
		shape: func() map[string]any { return enumShape([]string{"true", "false"}) },
		parse: func(text string) (bool, string, string) {
			if text != "true" && text != "false" {
				return false, quote(text) + " is neither true nor false", "write true or false"
			}
			return text == "true", "", ""
		},
	})
}

// flag is a boolean that is false unless it is given, and is then not written.
func flag() codec[bool] {
	c := boolean()
	write := c.write
	c.write = func(w writer, v bool) *yaml.Node {
		if !v {
			return nil
		}
		return write(w, v)
	}
	return c
}

// whole is a whole number.
func whole(low, high int) codec[int] {
	is := fmt.Sprintf("from %d to %d", low, high)
	return scalar(word[int]{
		kind: "whole number " + is, example: strconv.Itoa(low), format: strconv.Itoa,
		shape: func() map[string]any { return numberShape("integer", `^[0-9]+$`, "minimum", low, "maximum", high) },
		parse: func(text string) (int, string, string) {
			n, err := strconv.ParseUint(text, 10, 31)
			switch {
			case err != nil:
				return 0, quote(text) + " is not a whole number", "write one " + is
			case int(n) < low || int(n) > high:
				return 0, text + " is out of range", "choose a number " + is
			}
			return int(n), "", ""
		},
	})
}

// unprintable finds what would be invisible, or break a line, in a label, a log or a message.
func unprintable(c rune) bool { return !unicode.IsPrint(c) }

// text is a free text that a rule accepts.
func text(kind, example string, refuse func(string) (what, remedy string)) codec[string] {
	return scalar(word[string]{
		kind: kind, example: example, text: true, format: func(s string) string { return s },
		parse: func(s string) (string, string, string) {
			if strings.ContainsFunc(s, unprintable) {
				return "", quote(s) + " holds an unprintable character", "write it on one line, in letters, digits, signs and plain spaces"
			}
			what, remedy := refuse(s)
			return s, what, remedy
		},
	})
}

// oneOf is one of a few words.
func oneOf[V ~string](values ...V) codec[V] {
	var known []string
	for _, v := range values {
		known = append(known, string(v))
	}
	return scalar(word[V]{
		kind: strings.Join(known, " or "), example: known[0], format: func(v V) string { return string(v) },
		shape: func() map[string]any { return enumShape(known) },
		parse: func(s string) (V, string, string) {
			if !slices.Contains(known, s) {
				return "", quote(s) + " is not one of " + strings.Join(known, ", "), didYouMean(s, known)
			}
			return V(s), "", ""
		},
	})
}

// increasing holds for a list of numbers that grow strictly.
func increasing[V float64 | time.Duration](v []V) (what, remedy string) {
	for i := range len(v) - 1 {
		if v[i] >= v[i+1] {
			return fmt.Sprintf("item %d is not above item %d", i+1, i), "list them in increasing order, each once"
		}
	}
	return "", ""
}
