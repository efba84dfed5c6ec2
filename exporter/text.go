package exporter

import (
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/goodput-exporter/goodput-exporter/exporter/slo"
)

// shownURL is what may be shown of a target's address: scheme, host and path. Userinfo, query and fragment may hold
// credentials; of an address that cannot be taken apart nothing is shown.
func shownURL(raw string) string {
	u, err := url.Parse(raw)
	if err != nil || u.Host == "" || (u.Scheme != "http" && u.Scheme != "https") {
		return ""
	}
	return (&url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path}).String()
}

// span writes a duration with the largest unit that divides it: 30d, 5m, 1h, 250ms.
func span(d time.Duration) string {
	for _, u := range []struct {
		size time.Duration
		name string
	}{
		{24 * time.Hour, "d"}, {time.Hour, "h"}, {time.Minute, "m"}, {time.Second, "s"}, {time.Millisecond, "ms"},
	} {
		if d >= u.size && d%u.size == 0 {
			return strconv.FormatInt(int64(d/u.size), 10) + u.name
		}
	}
	return d.String()
}

// seconds is a duration from float64 seconds, to the microsecond.
func seconds(s float64) time.Duration {
	return time.Duration(s*1e6+0.5) * time.Microsecond
}

// number writes a float without an exponent where that is short.
func number(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }

// clauses writes the conditions of an objective: ttft<=250ms,tpot<=25ms.
func clauses(o *slo.Objective) string {
	parts := make([]string, len(o.Clauses))
	for i, c := range o.Clauses {
		parts[i] = c.Metric.String() + "<=" + span(seconds(c.Threshold))
	}
	return strings.Join(parts, ",")
}

// pattern is a pattern as it was configured, without the anchors; "" where there is none.
func pattern(r *regexp.Regexp) string {
	if r == nil {
		return ""
	}
	inner, anchored := strings.CutPrefix(r.String(), "^(?:")
	if !anchored || !strings.HasSuffix(inner, ")$") {
		return r.String()
	}
	return strings.TrimSuffix(inner, ")$")
}
