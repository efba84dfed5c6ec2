package web

import (
	"fmt"
	"math"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/goodput-exporter/goodput-exporter/exporter/fact"
	"github.com/goodput-exporter/goodput-exporter/exporter/slo"
)

// nbsp keeps a number and its unit on one line.
const nbsp = "\u00a0"

// count writes a whole number with separators between thousands.
func count[T ~int | ~int64 | ~uint64](n T) string {
	digits, sign := strconv.FormatInt(int64(n), 10), ""
	if digits[0] == '-' {
		digits, sign = digits[1:], "-"
	}
	var b strings.Builder
	for i, d := range digits {
		if i > 0 && (len(digits)-i)%3 == 0 {
			b.WriteByte(',')
		}
		b.WriteRune(d)
	}
	return sign + b.String()
}

// counts writes an interval of counts: one number where the ends meet.
func counts(lower, upper uint64) string {
	if lower == upper {
		return count(lower)
	}
	return count(lower) + " to " + count(upper)
}

// share writes lower..upper of total as a percentage. The ends are rounded outwards, so that the truth stays inside of
// what is shown; in integers, because a float could round them inwards. A single number is rounded down: what is not
// all is never shown as 100 %.
func share(lower, upper, total uint64) string {
	if total == 0 {
		return "–"
	}
	down := lower * 1000 / total
	if lower == upper {
		if down == 0 && lower > 0 {
			return "under " + tenths(1)
		}
		return tenths(down)
	}
	return tenthsBare(down) + " to " + tenths((upper*1000+total-1)/total)
}

// shareOver is share for what is left over beside another share of the same total: a single number is rounded up, so
// that the two shown shares make 100 %.
func shareOver(lower, upper, total uint64) string {
	if lower != upper || total == 0 {
		return share(lower, upper, total)
	}
	up := (lower*1000 + total - 1) / total
	if up == 1000 && lower < total {
		return "over " + tenths(999)
	}
	return tenths(up)
}

func tenthsBare(n uint64) string { return fmt.Sprintf("%d.%d", n/10, n%10) }

// tenths writes tenths of a percent.
func tenths(n uint64) string { return tenthsBare(n) + nbsp + "%" }

// percent writes a ratio from a configuration as it was meant: 0.999 is 99.9 %.
func percent(ratio float64) string {
	return strconv.FormatFloat(math.Round(ratio*1e8)/1e6, 'g', -1, 64) + nbsp + "%"
}

// ratio writes a measured ratio as a whole percentage, rounded down.
func ratio(v float64) string { return fmt.Sprintf("%d%s%%", int(math.Floor(v*100+1e-9)), nbsp) }

// rate writes events per second with three digits or so.
func rate(v float64) string {
	switch {
	case v >= 100:
		return count(int64(math.Round(v)))
	case v >= 10:
		return strconv.FormatFloat(v, 'f', 1, 64)
	}
	return strconv.FormatFloat(v, 'f', 2, 64)
}

// duration writes seconds for a person: 25 ms, 1.25 s, 3 min. Values that come from a configuration or from bucket
// edges are written as they are, measured ones with three digits.
func duration(s float64) string {
	switch {
	case math.IsInf(s, 1):
		return "∞"
	case s == 0:
		return "0"
	case s < 1:
		return digits(s*1e3) + nbsp + "ms"
	case s < 120:
		return digits(s) + nbsp + "s"
	}
	return digits(s/60) + nbsp + "min"
}

func digits(v float64) string {
	rounded, _ := strconv.ParseFloat(strconv.FormatFloat(v, 'g', 3, 64), 64)
	return strconv.FormatFloat(rounded, 'f', -1, 64)
}

// interval writes the bucket (lower, upper] that holds a percentile.
func interval(lower, upper float64) string {
	if math.IsInf(upper, 1) {
		return "above " + duration(lower) + ", the last bucket edge"
	}
	if lower == 0 {
		return "up to " + duration(upper)
	}
	return duration(lower) + " to " + duration(upper)
}

// ago writes an age of seconds: whole seconds below two minutes, whole minutes below two hours.
func ago(s float64) string {
	s = max(s, 0)
	switch {
	case s < 120:
		return fmt.Sprintf("%.0f"+nbsp+"s", s)
	case s < 7200:
		return fmt.Sprintf("%.0f"+nbsp+"min", math.Floor(s/60))
	case s < 48*3600:
		return fmt.Sprintf("%.0f"+nbsp+"h", math.Floor(s/3600))
	}
	return fmt.Sprintf("%.0f"+nbsp+"days", math.Floor(s/86400))
}

// length writes a length of time from a configuration: 5 min, 1 h, 30 d.
func length(s float64) string {
	for _, u := range []struct {
		size float64
		name string
	}{{86400, "d"}, {3600, "h"}, {60, "min"}} {
		if s >= u.size && math.Mod(s, u.size) == 0 {
			return fmt.Sprintf("%.0f%s%s", s/u.size, nbsp, u.name)
		}
	}
	return duration(s)
}

func clock(unix float64) string { return utc(unix).Format("15:04") }

// stamp writes a time of day, with the date when it is not today's.
func stamp(unix, now float64) string {
	t := utc(unix)
	if t.Format(time.DateOnly) == utc(now).Format(time.DateOnly) {
		return t.Format("15:04 UTC")
	}
	return t.Format("2006-01-02 15:04 UTC")
}

func utc(unix float64) time.Time { return time.UnixMicro(int64(unix * 1e6)).UTC() }

func unix(t time.Time) float64 { return float64(t.UnixMicro()) / 1e6 }

// metricNames are the families as people write them.
var metricNames = [fact.NumFamilies]string{
	fact.TTFT: "TTFT", fact.TPOT: "TPOT", fact.E2E: "end-to-end latency", fact.Queue: "queue time", fact.Prefill: "prefill time",
	fact.Decode: "decode time", fact.Inference: "inference time", fact.TokenGap: "token gap", fact.PromptTokens: "prompt tokens", fact.OutputTokens: "output tokens",
}

// population names what a clause on a family counts.
func population(f fact.Family) string {
	switch f {
	case fact.TTFT:
		return "first tokens"
	case fact.TokenGap:
		return "token gaps"
	}
	return "finished sequences"
}

// promise writes an objective as a sentence: 95 % of sequences have TTFT ≤ 250 ms and TPOT ≤ 25 ms.
func promise(o *slo.Objective) string {
	text := percent(o.Objective) + " of sequences have " + clauseWords(o.Clauses)
	var own []string
	for _, c := range o.Classes.List {
		if differs(o, &c) {
			own = append(own, c.Name)
		}
	}
	if len(own) > 0 {
		text += ", but for " + list(own) + " with clauses of their own"
	}
	return text
}

// differs reports whether a class has other clauses than its objective.
func differs(o *slo.Objective, c *slo.Class) bool {
	return len(c.Clauses) > 0 && !slices.Equal(c.Clauses, o.Clauses)
}

func clauseWords(clauses []slo.Clause) string {
	parts := make([]string, len(clauses))
	for i, c := range clauses {
		parts[i] = metricNames[c.Metric] + " ≤ " + duration(c.Threshold)
	}
	return strings.Join(parts, " and ")
}

// list joins names in words, and counts those beyond the first few.
func list(names []string) string {
	const shown = 3
	switch n := len(names); {
	case n == 0:
		return ""
	case n == 1:
		return names[0]
	case n > shown+1:
		return strings.Join(names[:shown], ", ") + " and " + strconv.Itoa(n-shown) + " more"
	default:
		return strings.Join(names[:n-1], ", ") + " and " + names[n-1]
	}
}

// short cuts a name that has to fit into a plot.
func short(name string, most int) string {
	runes := []rune(name)
	if len(runes) <= most {
		return name
	}
	return string(runes[:most-1]) + "…"
}

// link is the address of a page about one thing, relative to the root. A name that a path would change on its way (by
// cleaning it) goes into the query.
func link(kind, name string) string {
	if name == "" || name == "." || name == ".." || strings.ContainsAny(name, "/\\") {
		return kind + "/?name=" + url.QueryEscape(name)
	}
	return kind + "/" + url.PathEscape(name)
}

func plural(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return count(n) + " " + many
}

func upperFirst(s string) string {
	if s == "" {
		return s
	}
	return strings.ToUpper(s[:1]) + s[1:]
}
