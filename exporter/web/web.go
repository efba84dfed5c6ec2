// Package web is the status page: it says in words, numbers and plots what a snapshot says, for a person who was woken
// by an alert. It does not know how rounds are run or how anything is judged, and changes nothing.
package web

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"errors"
	"fmt"
	"html/template"
	"log/slog"
	"net/http"
	"net/url"
	"time"

	"github.com/goodput-exporter/goodput-exporter/exporter/fact"
	"github.com/goodput-exporter/goodput-exporter/exporter/fold"
	"github.com/goodput-exporter/goodput-exporter/exporter/slo"
)

// View is what the pages are about: the outcome of one round. It is not written to.
type View struct {
	Snapshot       *fold.Snapshot // nil before the first round has ended
	Ended          time.Time      // when the round ended
	Interval       time.Duration  // from the start of one round to the start of the next
	Rounds, Missed uint64
	Down           map[string]fact.Poll // the failed polls of the round, by target
	Intervals      map[string]float64   // seconds between two polls, by engine; those left out are polled in each round
	Inputs         Inputs
	Currency       string // of what GPUs cost; "" without a price
}

// Config is what the pages need. Logger may be left out.
type Config struct {
	View       func() View
	Objectives []slo.Objective
	Address    func(url string) string // what may be shown of a target's address: never a credential
	Version    string                  // of this program
	Logger     *slog.Logger            // nothing is logged by default
}

//go:embed page.html parts.html style.css
var files embed.FS

// refreshEvery is after how many seconds a page loads itself anew. Windows come once a minute; engines can go at any
// time.
const refreshEvery = 15

// Pages serves / , /engine/NAME and /slo/NAME.
type Pages struct {
	config   Config
	template *template.Template
	policy   string // Content-Security-Policy: this one style, an empty icon, and nothing else
	mux      *http.ServeMux
}

// New returns the pages.
func New(c Config) (*Pages, error) {
	if c.View == nil || c.Address == nil {
		return nil, errors.New("web: a view and what may be shown of an address are needed")
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	style, err := files.ReadFile("style.css")
	if err != nil {
		return nil, fmt.Errorf("web: %w", err)
	}
	t, err := template.New("web").Funcs(template.FuncMap{
		"style": func() template.CSS { return template.CSS(style) },
		"dict":  dict,
	}).ParseFS(files, "*.html")
	if err != nil {
		return nil, fmt.Errorf("web: %w", err)
	}
	sum := sha256.Sum256(style)
	p := &Pages{config: c, template: t, mux: http.NewServeMux(), policy: "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; img-src data:; style-src 'sha256-" +
		base64.StdEncoding.EncodeToString(sum[:]) + "'"}
	p.mux.HandleFunc("GET /{$}", p.serveOverview)
	for _, kind := range []string{"engine", "slo"} {
		p.mux.HandleFunc("GET /"+kind+"/{name}", p.serveOne(kind))
		p.mux.HandleFunc("GET /"+kind+"/{$}", p.serveOne(kind))
	}
	return p, nil
}

// dict makes the argument of a template that takes two values.
func dict(key string, value any, key2 string, value2 any) map[string]any {
	return map[string]any{key: value, key2: value2}
}

func (p *Pages) ServeHTTP(w http.ResponseWriter, r *http.Request) { p.mux.ServeHTTP(w, r) }

func (p *Pages) maker(r *http.Request, root string) *pageMaker {
	m := &pageMaker{view: p.config.View(), objectives: p.config.Objectives, address: p.config.Address, version: p.config.Version, now: unix(time.Now()), root: root, refresh: refreshEvery}
	if r.URL.Query().Get("refresh") == "off" {
		m.refresh = 0
	}
	if m.view.Snapshot != nil {
		m.frame = newFrame(m.view.Snapshot, m.now)
	}
	return m
}

func (p *Pages) serveOverview(w http.ResponseWriter, r *http.Request) {
	m := p.maker(r, "")
	p.write(w, http.StatusOK, "overview", m.overview())
}

// serveOne serves the page of one engine or one objective. Names that a path cannot hold come in the query.
func (p *Pages) serveOne(kind string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		m := p.maker(r, "../")
		name := r.PathValue("name")
		if name == "" {
			name = r.URL.Query().Get("name")
			m.query = "name=" + url.QueryEscape(name)
		}
		page, found := any(nil), false
		if kind == "engine" {
			page, found = m.engine(name)
		} else {
			page, found = m.slo(name)
		}
		if !found {
			p.write(w, http.StatusNotFound, "missing", m.missing(kind, name))
			return
		}
		p.write(w, http.StatusOK, kind, page)
	}
}

func (p *Pages) write(w http.ResponseWriter, status int, name string, page any) {
	var out bytes.Buffer
	if err := p.template.ExecuteTemplate(&out, name, page); err != nil {
		p.config.Logger.Error("The status page cannot be written", "page", name, "error", err)
		http.Error(w, "the status page cannot be written: "+err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Content-Security-Policy", p.policy)
	w.WriteHeader(status)
	w.Write(out.Bytes())
}

// missingPage helps who followed an old link.
type missingPage struct {
	Head       head
	Kind, Name string
	Known      []hint
}

func (m *pageMaker) missing(kind, name string) missingPage {
	out := missingPage{Kind: kind, Name: name}
	if kind == "slo" {
		out.Kind = "SLO"
		for i := range m.objectives {
			out.Known = append(out.Known, hint{Link: link("slo", m.objectives[i].Name), LinkText: m.objectives[i].Name})
		}
	} else if m.view.Snapshot != nil {
		for i := range m.view.Snapshot.Engines {
			out.Known = append(out.Known, hint{Link: link("engine", m.view.Snapshot.Engines[i].ID), LinkText: m.view.Snapshot.Engines[i].ID})
		}
	}
	out.Head = m.head("not found", headline{"warn", "?", "no such " + out.Kind})
	return out
}
