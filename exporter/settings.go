package exporter

import (
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/goodput-exporter/goodput-exporter/exporter/slo"
	"github.com/goodput-exporter/goodput-exporter/exporter/web"
)

// Settings are what a new configuration may replace while the exporter runs. MaxInterval, MaxSeries, Reduce and Retire
// may be left out.
type Settings struct {
	Interval    time.Duration // from the start of one round to the start of the next
	Timeout     time.Duration // of one poll; the round's deadline of 0.8 Interval cuts it short
	MaxInterval time.Duration // up to which an engine whose page is dear is polled less often; Interval by default
	MaxSeries   int           // of one engine on the page; no limit by default

	Source     Source
	Poller     Poller
	Spans      SpanSource      // nil: none are taken in
	GPUs       GPUs            // what is read of GPUs
	Objectives []slo.Objective // what the reducer judges, for the published contract

	Reduce func() // makes the reducer follow these settings; called between two rounds
	Retire func() // called when these settings are no longer in force or never will be; it may be called again
}

// settings are Settings at work.
type settings struct {
	Settings
	pages http.Handler // the status page, which shows the objectives
}

func (s *Settings) mistakes() (errs []error) {
	need := func(ok bool, format string, args ...any) {
		if !ok {
			errs = append(errs, fmt.Errorf(format, args...))
		}
	}
	need(s.Interval > 0, "interval %v must be positive", s.Interval)
	need(s.Timeout > 0, "timeout %v must be positive", s.Timeout)
	need(s.MaxSeries >= 0, "at most %d series must not be negative", s.MaxSeries)
	need(s.Source != nil, "a source of targets is missing")
	need(s.Poller != nil, "a poller is missing")
	errs = append(errs, s.GPUs.mistakes()...)
	names := map[string]bool{}
	for _, o := range s.Objectives {
		need(!names[o.Name], "two objectives are called %q: names must differ", o.Name)
		names[o.Name] = true
	}
	return errs
}

func (e *Exporter) newSettings(s Settings) (*settings, error) {
	if err := errors.Join(s.mistakes()...); err != nil {
		return nil, err
	}
	s.MaxInterval = max(s.MaxInterval, s.Interval)
	pages, err := web.New(web.Config{View: e.webView, Objectives: s.Objectives, Address: shownURL, Version: e.config.Version, Logger: e.log})
	if err != nil {
		return nil, err
	}
	return &settings{s, pages}, nil
}

// Reload has other settings hold from the next round on, which begins when it was due. With an error everything stays as
// it is, and the settings are not retired.
func (e *Exporter) Reload(s Settings) error {
	next, err := e.newSettings(s)
	if err != nil {
		return fmt.Errorf("exporter: %w", err)
	}
	if overtaken := e.pending.Swap(next); overtaken != nil {
		overtaken.retire()
	}
	return nil
}

// follow takes up pending settings. It is called between two rounds.
func (e *Exporter) follow() *settings {
	now := e.settings.Load()
	next := e.pending.Swap(nil)
	if next == nil {
		return now
	}
	if next.Reduce != nil {
		next.Reduce()
	}
	e.paces.follow(&next.Settings)
	e.settings.Store(next)
	now.retire()
	return next
}

// end retires what there is.
func (e *Exporter) end() {
	e.settings.Load().retire()
	if never := e.pending.Swap(nil); never != nil {
		never.retire()
	}
}

func (s *settings) retire() {
	if s.Retire != nil {
		s.Retire()
	}
}
