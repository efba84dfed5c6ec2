package web

import (
	"fmt"
	"slices"
	"strings"

	"github.com/goodput-exporter/goodput-exporter/exporter/fact"
)

// gpuAlerts name what is wrong with GPUs and was not always so.
func (p *pageMaker) gpuAlerts() []hint {
	s := &p.view.Snapshot.GPUSource
	if s.Name == "" || s.At == 0 && s.Reason == fact.ReasonNoSource || s.Reason == fact.ReasonStarting {
		return nil
	}
	if !s.Up {
		return []hint{{Text: "are not known now: " + orElse(s.Detail, string(s.Reason)), Link: "#trust", LinkText: "GPUs"}}
	}
	lost := 0
	for i := range p.view.Snapshot.GPUs {
		if !p.view.Snapshot.GPUs[i].Up {
			lost++
		}
	}
	if lost == 0 {
		return nil
	}
	return []hint{{Text: plural(lost, "does", "do") + " not answer any more", Link: "#gpus", LinkText: "GPUs"}}
}

func orElse(s, other string) string {
	if s == "" {
		return other
	}
	return s
}

// gpuSourceRows say how what is said of GPUs is known.
func (p *pageMaker) gpuSourceRows() []trustRow {
	s := &p.view.Snapshot.GPUSource
	if s.Name == "" {
		return nil
	}
	row := trustRow{Name: "GPUs", Value: "from " + s.Name, Meaning: s.Detail}
	switch {
	case s.Up:
		row.Value += fmt.Sprintf(", %s ago", ago(p.now-s.At))
		if row.Meaning == "" {
			row.Meaning = strings.Join(slices.DeleteFunc([]string{s.Version, prefixed("driver ", s.Driver)}, func(t string) bool { return t == "" }), ", ")
		}
	case s.At == 0 && s.Reason == fact.ReasonNoSource:
		row.Value = "none found"
	default:
		row.Value, row.Doubt = "not known now", true
		if s.At > 0 {
			row.Value += ", since " + stamp(s.At, p.now)
		}
		row.Meaning = orElse(s.Detail, string(s.Reason))
	}
	rows := []trustRow{row}
	for _, m := range s.Missing {
		rows = append(rows, trustRow{Name: "GPUs lack " + m.Field, Value: "absent", Meaning: m.Cost})
	}
	if len(s.Dropped) > 0 {
		rows = append(rows, trustRow{Name: "GPU values dropped", Value: tallies(s.Dropped), Meaning: "since the exporter started; the source had them, and they were not believed. blank is DCGM's way to say that there is none"})
	}
	if c := &s.Claims; c.Asked {
		claims := trustRow{Name: "Who holds a GPU", Value: "the kubelet tells", Meaning: orElse(c.Detail, "by its pod-resources socket")}
		if !c.Up {
			claims.Value, claims.Doubt = "the kubelet does not tell", true
			if c.At > 0 {
				claims.Value += ", since " + stamp(c.At, p.now)
			}
		}
		rows = append(rows, claims)
		if len(c.Unresolved) > 0 {
			rows = append(rows, trustRow{Name: "Devices without a UUID", Value: tallies(c.Unresolved), Doubt: true, Meaning: "the kubelet says who holds them under a name by which they cannot be joined: of a device's file (name), of a resource claim (dra), or of no known form (form)"})
		}
		if c.Conflicts > 0 {
			rows = append(rows, trustRow{Name: "Devices held twice", Value: count(c.Conflicts), Doubt: true, Meaning: "since the exporter started; devices that are not shared, of which the kubelet said that several running pods hold them"})
		}
	}
	return rows
}

func prefixed(prefix, s string) string {
	if s == "" {
		return ""
	}
	return prefix + s
}
