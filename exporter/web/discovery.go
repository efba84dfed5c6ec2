package web

import (
	"fmt"
	"strings"
	"time"

	"github.com/goodput-exporter/goodput-exporter/exporter/fold"
)

// Discovery is how it goes where engines are looked for.
type Discovery struct {
	Source, Where string // "kubernetes", "node gpu-1"
	Up            bool
	Since, Synced time.Time    // that Up is what it is; when it was last heard what there is, zero: never
	Detail        string       // why Up is false, or why there may be nothing
	Unknown       []string     // namespaces of which nothing was heard yet, while others are known
	Pods          []fold.Tally // meant for engines, by what became of them
	Others        int          // that are not; -1: not known
	Skipped       []SkippedPod
}

// SkippedPod is a pod that is meant for engines and is not polled.
type SkippedPod struct{ Pod, State, Why string }

// name is the source as a title.
func (d *Discovery) name() string {
	if d.Source == "kubernetes" {
		return "Kubernetes"
	}
	return d.Source
}

// pods is the number of pods that are engines, starting ones included.
func (d *Discovery) pods() (n uint64) {
	for _, t := range d.Pods {
		if t.Name == "polled" || t.Name == "starting" {
			n += t.Count
		}
	}
	return n
}

// unknown names the namespaces of which nothing was heard yet.
func (d *Discovery) unknown() string {
	const shown = 5
	n := len(d.Unknown)
	if n == 1 {
		return "namespace " + d.Unknown[0]
	}
	text := "the namespaces " + strings.Join(d.Unknown[:min(n, shown)], ", ")
	if n > shown {
		text += fmt.Sprintf(" and %d more", n-shown)
	}
	return text
}

// became is what became of the pods that are meant for engines.
func (d *Discovery) became() string { return strings.ReplaceAll(tallies(d.Pods), "_", " ") }

// noEngine says why there is nothing to show, and what to look at.
func (p *pageMaker) noEngine() string {
	d := p.view.Inputs.Discovery
	text := d.noEngine()
	if d != nil && !d.Synced.IsZero() && len(d.Unknown) > 0 {
		text += " Of " + d.unknown() + " nothing is known yet; why is said below."
	}
	return text
}

func (d *Discovery) noEngine() string {
	switch {
	case d == nil:
		return "No engine is configured, or the files of engines.files name none. Add one under engines.targets in the configuration."
	case d.Synced.IsZero() && d.Up:
		return "Discovery has not been told yet which pods there are."
	case d.Synced.IsZero():
		return "No engine is known: " + d.name() + " has not said yet which pods there are; why is said below."
	case d.pods() > 0:
		return "Engines were found on " + d.Where + ": the next round polls them."
	case len(d.Pods) > 0:
		return "0 engines: pods on " + d.Where + " fit engines.kubernetes.selectors, and none of them is polled: " + d.became() + ". The table below says why."
	case d.Others > 0:
		return fmt.Sprintf("0 engines: of %s on %s none fits engines.kubernetes.selectors. Compare them with kubectl get pods --show-labels, or give the engines' pods the label goodput-exporter/engine=true.", plural(d.Others, "pod", "pods"), d.Where)
	}
	return "0 engines: no pod on " + d.Where + " fits engines.kubernetes.selectors. Compare them with kubectl get pods --show-labels, or give the engines' pods the label goodput-exporter/engine=true."
}

// discoveryAlert says that what is polled is not known to be all there is.
func (p *pageMaker) discoveryAlert() []hint {
	d := p.view.Inputs.Discovery
	if d == nil || d.Up {
		return nil
	}
	text := d.name() + " is not followed since " + stamp(unix(d.Since), p.now)
	switch {
	case d.Synced.IsZero():
		text = d.name() + " has not said yet which pods there are"
	case len(d.Unknown) > 0:
		text = d.name() + " has not said yet which pods there are in " + d.unknown() + "; engines of other namespaces are polled"
	default:
		text += ": the engines found last are polled on, and new ones are not seen"
	}
	detail := d.Detail
	if d.Synced.IsZero() {
		detail = orElse(detail, "it was not asked yet")
	}
	if detail != "" {
		text += " (" + detail + ")"
	}
	return []hint{{Text: text + "."}}
}

// mostSkipped is how many pods that are not polled are listed.
const mostSkipped = 8

// discoveryRows say how discovery stands, and which pods that are meant for engines are not polled.
func (p *pageMaker) discoveryRows() []trustRow {
	d := p.view.Inputs.Discovery
	if d == nil {
		return nil
	}
	row := trustRow{Name: d.name(), Value: "not synced yet", Doubt: !d.Up}
	if !d.Up {
		row.Meaning = "why is at the top of this page"
	}
	if !d.Synced.IsZero() {
		row.Value = fmt.Sprintf("%s on %s, synced %s ago", plural(int(d.pods()), "pod with engines", "pods with engines"), d.Where, ago(p.now-unix(d.Synced)))
		if row.Meaning == "" {
			row.Meaning = "pods that fit engines.kubernetes.selectors: " + orElse(d.became(), "none")
		}
	}
	rows := []trustRow{row}
	for i, s := range d.Skipped {
		if i == mostSkipped {
			rows = append(rows, trustRow{Name: "Further pods that are not polled", Value: count(uint64(len(d.Skipped) - i)), Meaning: "goodput-exporter check lists them, with why"})
			break
		}
		rows = append(rows, trustRow{Name: "Pod " + s.Pod, Value: strings.ReplaceAll(s.State, "_", " "), Meaning: s.Why, Doubt: s.State == "refused"})
	}
	return rows
}
