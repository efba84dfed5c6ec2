package edges

import (
	"strconv"
	"strings"

	"github.com/goodput-exporter/goodput-exporter/exporter/fact"
)

// Option is the option of vLLM that takes lists, and Since the first version that has it: absent from 0.30, seen live on
// 0.32.0.
const (
	Option = "--custom-histogram-buckets"
	Since  = "0.31"
)

// JSON is the value of Option. It holds no quote but the JSON's own.
func JSON(lists []List) string {
	b := []byte{'{'}
	for i, l := range lists {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(strconv.AppendQuote(b, l.Name), ':', '[')
		for k, e := range l.Edges {
			if k > 0 {
				b = append(b, ',')
			}
			b = strconv.AppendFloat(b, e, 'g', -1, 64)
		}
		b = append(b, ']')
	}
	return string(append(b, '}'))
}

// Flag is Option with its value as a POSIX shell reads it; "" without lists.
func Flag(lists []List) string {
	if len(lists) == 0 {
		return ""
	}
	return Option + " " + Quote(JSON(lists))
}

// Quote writes a word for a POSIX shell, as it is where the shell would take nothing in it for its own.
func Quote(word string) string {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("%+,-./:=@_", r)
	}
	if word != "" && strings.IndexFunc(word, func(r rune) bool { return !plain(r) }) < 0 {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

// Lines is how many bucket lines the histograms of latencies take on a page for each rank, +Inf included. own tells the
// edges of the families that are in none of the lists.
func Lines(lists []List, own [fact.NumFamilies][]float64) int {
	edges, n := Known(lists, own), 0
	for i := range sharings {
		for _, f := range sharings[i].families {
			if layout, known := edges(f); known {
				n += len(layout) + 1
			}
		}
	}
	return n
}

// Fixed are the edges that every vLLM without Option has, since 0.8.4 and before (vllm/v1/metrics/loggers.py; the later
// ones seen live on 0.11.0). A version that is no version is taken for a new one.
func Fixed(version string, since084 [fact.NumFamilies][]float64) [fact.NumFamilies][]float64 {
	if !Older(version, "0.8.4") {
		return since084
	}
	// The lists were lengthened then, and nothing else about them has changed.
	for f, last := range map[fact.Family]float64{
		fact.TTFT: 10, fact.TPOT: 2.5, fact.TokenGap: 2.5,
		fact.E2E: 60, fact.Queue: 60, fact.Prefill: 60, fact.Decode: 60, fact.Inference: 60,
	} {
		own := since084[f]
		for len(own) > 0 && own[len(own)-1] > last {
			own = own[:len(own)-1]
		}
		since084[f] = own
	}
	return since084
}

// Older compares dotted versions number by number: 0.8.3 is older than 0.11. What is no number counts as new.
func Older(a, b string) bool {
	for a != "" || b != "" {
		var x, y string
		x, a, _ = strings.Cut(a, ".")
		y, b, _ = strings.Cut(b, ".")
		if m, n := number(x), number(y); m != n {
			return m < n
		}
	}
	return false
}

// number is the leading number of a version's part: 4 of 4rc1, 0 of an absent one.
func number(part string) int {
	if part == "" {
		return 0
	}
	end := strings.IndexFunc(part, func(r rune) bool { return r < '0' || r > '9' })
	if end < 0 {
		end = len(part)
	}
	n, err := strconv.Atoi(part[:end])
	if err != nil {
		return 1 << 30
	}
	return n
}
