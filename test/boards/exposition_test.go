package boards

import (
	"bytes"
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/goodput-exporter/goodput-exporter/exporter/catalog"
)

// stamped splits a line of samples from its time. An exemplar at its end is left out: blocks hold none.
func stamped(t *testing.T, line string) (string, float64) {
	t.Helper()
	line, _, _ = strings.Cut(line, " # ")
	cut := strings.LastIndexByte(line, ' ')
	at, err := strconv.ParseFloat(line[cut+1:], 64)
	if err != nil {
		t.Fatalf("%q: %v", line, err)
	}
	return line[:cut], at
}

// extent is the time between the first and the last sample of an exposition.
func extent(t *testing.T, text []byte) span {
	t.Helper()
	when := span{from: math.Inf(1)}
	for line := range strings.Lines(string(text)) {
		if line[0] != '#' {
			_, at := stamped(t, strings.TrimSuffix(line, "\n"))
			when = span{min(when.from, at), max(when.to, at)}
		}
	}
	return when
}

// rewrite moves all samples to a later time and, unless every is 0, keeps those whose new time is a multiple of it, a few
// seconds later still: scrapes do not fall on the steps of a picture.
func rewrite(t *testing.T, text []byte, later float64, every int) []byte {
	t.Helper()
	var b bytes.Buffer
	for line := range strings.Lines(string(text)) {
		if line[0] == '#' {
			b.WriteString(line)
			continue
		}
		sample, at := stamped(t, strings.TrimSuffix(line, "\n"))
		if at += later; every == 0 || math.Mod(at, float64(every)) == 0 {
			if every > 0 {
				at += 7
			}
			fmt.Fprintf(&b, "%s %s\n", sample, stamp(at))
		}
	}
	return b.Bytes()
}

var anEngine = regexp.MustCompile(catalog.EngineUp + `\{engine="([^"]+)"`)

// complete adds the series that no replay has: those of the exporter's own rounds, the alerts, which backfilled rules do not
// fire, and two that the engines may give no cause for. The values are made up; what matters is that the boards find them.
func complete(text []byte, when span, step float64) []byte {
	b := bytes.NewBuffer(bytes.TrimSuffix(text, []byte("# EOF\n")))
	engine := string(anEngine.FindSubmatch(text)[1])
	family := func(name, kind string, series ...string) {
		if bytes.Contains(text, []byte("# TYPE "+strings.TrimSuffix(name, catalog.Total)+" ")) {
			return // this world has it
		}
		fmt.Fprintf(b, "# TYPE %s %s\n", name, kind)
		for _, s := range series {
			for n, at := 1, when.from; at <= when.to; n, at = n+1, at+step {
				value := 1
				if kind != "gauge" {
					value = 7 * n
				}
				fmt.Fprintf(b, "%s %d %s\n", s, value, stamp(at))
			}
		}
	}
	counter := func(name, labels string) { family(strings.TrimSuffix(name, catalog.Total), "counter", name+labels) }
	counter(catalog.Rounds, "")
	counter(catalog.RoundsMissed, "")
	counter(catalog.WindowFallbacks, fmt.Sprintf(`{engine=%q,reason=%q}`, engine, catalog.ReasonTooLarge))
	family(catalog.RoundDuration, "histogram", catalog.RoundDuration+`_bucket{le="+Inf"}`, catalog.RoundDuration+"_count", catalog.RoundDuration+"_sum")
	family(catalog.LedgerUnanswerable, "gauge", fmt.Sprintf(`%s{engine=%q,reason="made up"}`, catalog.LedgerUnanswerable, engine))
	family(catalog.BuildInfo, "gauge", catalog.BuildInfo+`{version="1",revision="a",goversion="go1"}`)
	family(catalog.DiscoveryUp, "gauge", catalog.DiscoveryUp+`{source="kubernetes"}`)
	family(catalog.DiscoverySynced, "gauge", catalog.DiscoverySynced+`{source="kubernetes"}`)
	family(catalog.DiscoveryPods, "gauge", catalog.DiscoveryPods+`{state="polled"}`)
	family(catalog.EnginesStarting, "gauge", catalog.EnginesStarting)
	family(catalog.ReloadOK, "gauge", catalog.ReloadOK+`{instance="node-1"}`)
	family(catalog.ReloadTime, "gauge", catalog.ReloadTime+`{instance="node-1"}`)
	family("ALERTS", "gauge", `ALERTS{alertname="GoodputCollapse",alertstate="firing",severity="page"}`)
	b.WriteString("# EOF\n")
	return b.Bytes()
}
