package web

import (
	"math"
	"strings"
	"testing"
)

// TestSharesAreNeverBetterThanTheTruth: ends are rounded outwards.
func TestSharesAreNeverBetterThanTheTruth(t *testing.T) {
	for name, c := range map[string]struct {
		lower, upper, of uint64
		want             string
	}{
		"all":                         {10, 10, 10, "100.0 %"},
		"all but one of many":         {999999, 999999, 1000000, "99.9 %"},
		"an interval":                 {1, 2, 3, "33.3 to 66.7 %"},
		"an interval near all":        {999998, 999999, 1000000, "99.9 to 100.0 %"},
		"none":                        {0, 0, 7, "0.0 %"},
		"hardly any":                  {1, 1, 1000000, "under 0.1 %"},
		"an interval from none":       {0, 1, 1000000, "0.0 to 0.1 %"},
		"what floats would round off": {29, 29, 100, "29.0 %"},
		"of nothing":                  {0, 0, 0, "–"},
	} {
		if got := strings.ReplaceAll(share(c.lower, c.upper, c.of), nbsp, " "); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}

func TestTexts(t *testing.T) {
	for _, c := range [][2]string{
		{count(1234567), "1,234,567"}, {count(-1234), "-1,234"}, {count(999), "999"}, {counts(1, 1), "1"}, {counts(1, 2000), "1 to 2,000"},
		{percent(0.999), "99.9 %"}, {percent(0.95), "95 %"}, {ratio(0.999), "99 %"}, {rate(0.123), "0.12"}, {rate(12.34), "12.3"}, {rate(1234.5), "1,235"},
		{duration(0.025), "25 ms"}, {duration(0.00025), "0.25 ms"}, {duration(1.234), "1.23 s"}, {duration(90), "90 s"}, {duration(150), "2.5 min"}, {duration(0), "0"},
		{interval(0.1, 0.25), "100 ms to 250 ms"}, {interval(0, 0.25), "up to 250 ms"}, {interval(10, math.Inf(1)), "above 10 s, the last bucket edge"},
		{ago(-1), "0 s"}, {ago(119), "119 s"}, {ago(150), "2 min"}, {ago(3 * 3600), "3 h"}, {ago(5 * 86400), "5 days"}, {length(300), "5 min"}, {length(30 * 86400), "30 d"},
		{stamp(now, now), "08:00 UTC"}, {stamp(now-86400, now), "2027-01-14 08:00 UTC"}, {promise(chat()), "95 % of sequences have TTFT ≤ 250 ms and TPOT ≤ 25 ms"},
		{list(nil), ""}, {list([]string{"a"}), "a"}, {list([]string{"a", "b"}), "a and b"}, {list([]string{"a", "b", "c", "d"}), "a, b, c and d"}, {list([]string{"a", "b", "c", "d", "e"}), "a, b, c and 2 more"},
		{short("模型模型", 3), "模型…"}, {short("ab", 3), "ab"}, {link("engine", "a b"), "engine/a%20b"}, {link("slo", ".."), "slo/?name=.."}, {link("slo", "a/b"), "slo/?name=a%2Fb"},
		{plural(1, "engine", "engines"), "1 engine"}, {plural(2000, "engine", "engines"), "2,000 engines"},
	} {
		if got := strings.ReplaceAll(c[0], nbsp, " "); got != c[1] {
			t.Errorf("%q, want %q", got, c[1])
		}
	}
}
