package web

import (
	"fmt"
	"strings"

	"github.com/goodput-exporter/goodput-exporter/exporter/fact"
	"github.com/goodput-exporter/goodput-exporter/exporter/fold"
)

// activityLines tell work before occupation: a GPU that runs one small kernel all the time is 100 % busy.
func activityLines(g *fact.GPU) []string {
	var out []string
	for _, row := range []struct {
		name string
		n    fact.Number
	}{
		{"SMs active", g.SMActive}, {"tensor cores", g.Tensor}, {"memory interface", g.DRAM}, {"a kernel ran", g.Busy}, {"engine active", g.Engine},
	} {
		if row.n.Known && (row.name != "engine active" || len(out) == 0) {
			out = append(out, row.name+" "+ratio(row.n.V))
		}
	}
	return out
}

func memoryLines(g *fact.GPU) []string {
	switch used, total := g.MemoryUsed, g.MemoryTotal; {
	case used.Known && total.Known && total.V > 0:
		return []string{memory(used.V) + " of " + memory(total.V), ratio(used.V / total.V)}
	case used.Known:
		return []string{memory(used.V)}
	}
	return nil
}

func memory(v float64) string {
	if v < 1<<30 {
		return digits(v/(1<<20)) + nbsp + "MiB"
	}
	return digits(v/(1<<30)) + nbsp + "GiB"
}

func powerLines(g *fold.GPU) []string {
	var out []string
	if g.Power.Known {
		line := digits(g.Power.V) + nbsp + "W"
		if g.PowerLimit.Known {
			line += " of " + digits(g.PowerLimit.V) + nbsp + "W"
		}
		out = append(out, line)
	}
	if g.Temperature.Known {
		out = append(out, digits(g.Temperature.V)+nbsp+"°C")
	}
	if g.Joules.Known {
		out = append(out, energy(g.Joules.V)+" used")
	}
	return out
}

// energy writes joules as what is paid for.
func energy(joules float64) string {
	if wh := joules / 3600; wh < 1000 {
		return digits(wh) + nbsp + "Wh"
	}
	return digits(joules/3.6e6) + nbsp + "kWh"
}

// throttleLines say which reasons hold the clocks down now, and for how long they have.
func (p *pageMaker) throttleLines(g *fold.GPU) []string {
	var now, since []string
	for _, t := range g.GPU.Throttled {
		if t.Now.Known && t.Now.V > 0 {
			now = append(now, throttleWord(t.Reason))
		}
	}
	for _, t := range g.Throttled {
		if t.Seconds > 0 {
			since = append(since, throttleWord(t.Reason)+" for "+duration(t.Seconds))
		}
	}
	var out []string
	if len(now) > 0 {
		out = append(out, "now: "+strings.Join(now, ", "))
	}
	if len(since) > 0 {
		out = append(out, strings.Join(since, ", ")+" in "+ago(p.now-g.Since))
	} else if len(g.Throttled) > 0 {
		out = append(out, "never in "+ago(p.now-g.Since))
	}
	return out
}

func throttleWord(r fact.ThrottleReason) string {
	switch r {
	case fact.ThrottleSWPower:
		return "power limit"
	case fact.ThrottleHWSlowdown:
		return "hardware slowdown"
	case fact.ThrottleSyncBoost:
		return "another GPU of its group"
	case fact.ThrottleSWThermal, fact.ThrottleHWThermal, fact.ThrottleThermal:
		return "heat"
	case fact.ThrottlePowerBrake:
		return "power supply"
	}
	return string(r)
}

func xidLines(g *fold.GPU) []string {
	var out []string
	for _, x := range g.Errors {
		if x.Count > 0 {
			out = append(out, fmt.Sprintf("XID %d, %s", x.XID, plural(int(x.Count), "time", "times")))
		}
	}
	if len(out) == 0 && g.XIDsCounted {
		out = []string{"none"}
	}
	const shown = 4
	if len(out) > shown {
		out = append(out[:shown], fmt.Sprintf("and %d more", len(out)-shown))
	}
	return out
}
