package exporter

import (
	"bytes"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"fmt"
	"html/template"
	"math"
	"net/http"
	"time"

	"github.com/goodput-exporter/goodput-exporter/exporter/fact"
	"github.com/goodput-exporter/goodput-exporter/exporter/fold"
)

//go:embed status.html
var statusTemplate string

//go:embed status.css
var statusStyle string

// statusPage says in words what the last round said: one row an engine, and no script.
type statusPage struct {
	exporter *Exporter
	template *template.Template
	policy   string // Content-Security-Policy: this one style and nothing else
}

func newStatusPage(e *Exporter) (*statusPage, error) {
	t, err := template.New("status").Parse(statusTemplate)
	if err != nil {
		return nil, fmt.Errorf("status page: %w", err)
	}
	sum := sha256.Sum256([]byte(statusStyle))
	return &statusPage{exporter: e, template: t, policy: "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; style-src 'sha256-" +
		base64.StdEncoding.EncodeToString(sum[:]) + "'"}, nil
}

func (s *statusPage) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	var page bytes.Buffer
	if err := s.template.Execute(&page, newStatus(s.exporter.view(), s.exporter.interval, time.Now())); err != nil {
		http.Error(w, "the status page cannot be written: "+err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Content-Security-Policy", s.policy)
	w.Write(page.Bytes())
}

// status is what the template shows: texts only.
type status struct {
	Style   template.CSS
	Round   string
	Engines []statusEngine
}

type statusEngine struct {
	ID, Model, URL, Phase, Poll string
	Bad                         bool // the phase is one that wants a look
	Objectives                  []statusObjective
	Ledger                      string // why there is none; "" when there is
}

type statusObjective struct {
	Name, Promise, Share string
	Unknown              bool
}

func newStatus(v *view, interval time.Duration, now time.Time) status {
	s := status{Style: template.CSS(statusStyle), Round: "the first round has not ended yet"}
	if v.snapshot == nil {
		return s
	}
	s.Round = fmt.Sprintf("round %d ended %s ago; one is due every %v", v.rounds, roughly(now.Sub(v.ended)), interval)
	for i := range v.snapshot.Engines {
		e := &v.snapshot.Engines[i]
		row := statusEngine{ID: e.ID, Model: e.Model, URL: shownURL(e.Target.URL), Ledger: e.Ledger.Absent, Poll: "never"}
		row.Phase, row.Bad = phaseInWords(e, v.down)
		if e.LastPoll > 0 {
			row.Poll = roughly(seconds(unix(now)-e.LastPoll)) + " ago"
		}
		for k := range e.SLOs {
			row.Objectives = append(row.Objectives, newStatusObjective(e, &e.SLOs[k]))
		}
		s.Engines = append(s.Engines, row)
	}
	return s
}

func newStatusObjective(e *fold.Engine, s *fold.SLO) statusObjective {
	o := s.Objective
	out := statusObjective{Name: o.Name, Unknown: true}
	out.Promise = fmt.Sprintf("%s of sequences meet %s, over %s", percent(o.Objective), clauses(o), span(o.Window))
	switch {
	case s.Absent != "":
		out.Share = "unknown: " + s.Absent
	case !s.Judged:
		out.Share = "warming up: no judgement window has been committed yet"
	case s.Requests == 0:
		out.Share = "no traffic yet"
	default:
		out.Unknown = false
		out.Share = fmt.Sprintf("%s of %d sequences since %s", share(s), s.Requests, unixTime(e.Since).UTC().Format("2006-01-02 15:04 UTC"))
	}
	return out
}

// share writes the qualified share, as an interval where its two ends differ. The ends are rounded outwards, so that
// the truth stays inside of what is shown; in integers, because a float could round them inwards. A single number is
// rounded down: what is not all is never shown as 100 %.
func share(s *fold.SLO) string {
	lower := s.Lower * 1000 / s.Requests
	if s.Lower == s.Upper {
		return tenths(lower)
	}
	return "between " + tenths(lower) + " and " + tenths((s.Upper*1000+s.Requests-1)/s.Requests)
}

// tenths writes tenths of a percent.
func tenths(n uint64) string { return fmt.Sprintf("%d.%d %%", n/10, n%10) }

// percent writes a ratio from a configuration as it was meant: 0.999 is 99.9 %.
func percent(ratio float64) string { return number(math.Round(ratio*1e8)/1e6) + " %" }

// phaseInWords says what can be expected of an engine, and whether somebody should look.
func phaseInWords(e *fold.Engine, down map[string]fact.Poll) (words string, bad bool) {
	if e.Gone {
		return "gone: is no target any more", false
	}
	switch e.Phase {
	case fold.PhaseWarming:
		return "warming up", false
	case fold.PhaseJudging:
		return "judging", false
	case fold.PhaseStalled:
		return "stalled: work is in flight, and nothing moves", true
	case fold.PhaseUnseen:
		words = "never seen"
	case fold.PhaseDown:
		words = "down"
	default:
		return string(e.Phase), true
	}
	if p, failed := down[e.ID]; failed {
		words += ": " + string(p.Reason)
		if p.Detail != "" {
			words += ", " + p.Detail
		}
	}
	return words, true
}

// roughly writes an age for a person: in milliseconds below a second, else in seconds.
func roughly(d time.Duration) string {
	if d = max(d, 0); d < time.Second {
		return d.Round(time.Millisecond).String()
	}
	return d.Round(time.Second).String()
}
