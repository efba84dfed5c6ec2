// Package config answers one question: what does this YAML file ask for, or what are all the reasons why it cannot be
// followed. It does not know who uses the answer, how engines are asked, or how objectives are judged.
//
// Every key is declared once, in schema.go: from there come the reader, the effective configuration and
// docs/config.md.
package config

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"time"

	"github.com/goodput-exporter/goodput-exporter/exporter/fact"
	"github.com/goodput-exporter/goodput-exporter/exporter/slo"
)

// Config is a validated configuration: Parse and Load return no other.
type Config struct {
	Poll      Poll
	SLOs      []SLO // at least one
	Engines   Engines
	Spans     Spans
	GPU       GPU
	Handlers  Handlers
	Judgement Judgement
	Quantiles Quantiles
	Grid      map[fact.Family][]float64 // edges in place of the defaults; without the thresholds, see Grids

	dir string // of the file, see Path
}

// Poll says how engines are asked.
type Poll struct {
	Interval  time.Duration
	Timeout   time.Duration // of one poll; at most 0.8 of Interval
	MaxBody   int64         // bytes of a page, decompressed
	AllowFast bool          // intervals below one second are wanted
}

// SLO is one objective as it is written.
type SLO struct {
	Name      string
	Match     Match
	Clauses   map[fact.Family]time.Duration // at least one; whole milliseconds
	Objective float64                       // in (0, 1)
	Window    time.Duration
	Policy    slo.Policy
	Classes   Classes
}

// Classes splits an SLO by what kind of request it is about. The zero value does not.
type Classes struct {
	By        slo.ClassBy
	Attribute string // key, of the span or else of its resource
	List      []Class
}

// Class is one kind of request.
type Class struct {
	Name    string
	AtMost  int                           // tokens; 0: any number
	Values  []string                      // of the attribute
	Clauses map[fact.Family]time.Duration // none: those of the SLO
}

// Match holds regular expressions (RE2) that a name must fit as a whole; "" fits every name.
type Match struct {
	Model, Engine string
}

// Engines is where engines are found.
type Engines struct {
	Targets   []Target // none in a configuration that is for replays only
	Files     []string // patterns of file_sd files, relative to the configuration's directory
	Access    Access   // of all targets that do not say otherwise
	MaxSeries int      // published of one engine

	Kubernetes *Kubernetes // nil: no pod is looked at
}

// Spans says where and how per-request evidence is taken in.
type Spans struct {
	Listen, GRPCListen string // none: not taken in
	Grace              time.Duration
	Names              []string // of the spans that stand for a request
	Buffer             int      // spans that may wait for the next round
	MaxMessage         int64    // bytes of a message, decompressed
	TLS                ServerTLS
	BearerTokenFile    string // what senders must show; "" for nothing
}

// ServerTLS is what a listener shows of itself, and of whom it asks the same. Files are relative to the configuration's
// directory. The zero value is no TLS.
type ServerTLS struct {
	CertFile, KeyFile string
	ClientCAFile      string // senders must show a certificate of it
}

// Target is one engine endpoint.
type Target struct {
	ID      string
	Address string // what may be shown of the URL: no userinfo, no query
	URL     Secret // the whole URL
	Labels  map[string]string
	Access  *Access // nil: that of all engines
}

// Handlers sorts the engine's HTTP handlers by what one request to them holds.
type Handlers struct {
	OnePrompt   []string // kept in the ledger
	ManyPrompts []string // make the ledger absent when they are used
}

// Judgement says how goodput windows are cut.
type Judgement struct {
	Window time.Duration
}

// Quantiles says which latency quantiles are published, over which sliding windows.
type Quantiles struct {
	Q       []float64 // increasing, in (0, 1)
	Windows []time.Duration
}

// Default is the configuration of a file that says nothing. It has no objective and no engine, which a file must
// name, so it is complete only for callers that bring their own.
func Default() Config {
	return Config{
		Poll:  Poll{Interval: 2 * time.Second, Timeout: 1500 * time.Millisecond, MaxBody: 16 << 20},
		Spans: Spans{Grace: 10 * time.Second, Names: []string{"llm_request"}, Buffer: 65_536, MaxMessage: 16 << 20},
		GPU:   defaultGPU(),
		// Room for 18 data-parallel ranks: one has 545 series, and an engine some 30 more.
		Engines: Engines{MaxSeries: 10_000},
		Handlers: Handlers{
			OnePrompt: []string{"/v1/completions", "/v1/chat/completions", "/v1/responses"},
			ManyPrompts: []string{
				"/v1/embeddings", "/v1/score", "/score", "/v1/rerank", "/rerank", "/v2/rerank", "/pooling", "/classify",
				"/v1/audio/transcriptions", "/v1/audio/translations", "/v1/chat/completions/batch",
			},
		},
		Judgement: Judgement{Window: time.Minute},
		Quantiles: Quantiles{Q: []float64{0.5, 0.9, 0.95, 0.99}, Windows: []time.Duration{5 * time.Minute, time.Hour}},
	}
}

// defaultSLO is an objective that says nothing but its name, clauses and share.
func defaultSLO() SLO {
	return SLO{Window: 30 * 24 * time.Hour, Policy: slo.DefaultPolicy()}
}

// Parse reads a configuration. The error holds every mistake, one a line, as `file:line: key: what is wrong; remedy`;
// file is only used for that. No error text holds a secret.
func Parse(data []byte, file string) (*Config, error) {
	r := newReader(file)
	root := r.document(data)
	if root == nil {
		return nil, r.err()
	}
	c := Default()
	schema().read(r, place{node: root, line: root.Line}, &c)
	if err := r.err(); err != nil {
		return nil, err
	}
	return &c, nil
}

// Load reads and parses a configuration file.
func Load(path string) (*Config, error) {
	data, err := read(path)
	if err == nil {
		c, err := Parse(data, path)
		if err == nil {
			c.dir = filepath.Dir(path)
		}
		return c, err
	}
	remedy := "check the path and the file"
	switch {
	case errors.Is(err, fs.ErrNotExist):
		remedy = "give the path of an existing file with --config.file"
	case errors.Is(err, fs.ErrPermission):
		remedy = "let the user that runs the exporter read it"
	}
	var p *fs.PathError
	if errors.As(err, &p) {
		err = p.Err
	}
	return nil, fmt.Errorf("%s: cannot be read: %w; %s", path, err, remedy)
}

// Path is where a path of the configuration leads: one that is not absolute begins at the directory of the file.
func (c *Config) Path(written string) string {
	if written == "" || filepath.IsAbs(written) {
		return written
	}
	return filepath.Join(c.dir, written)
}

// read returns at most one byte more than Parse accepts.
func read(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, maxBytes+1))
}

// Objectives are the SLOs as they are judged: patterns compiled and anchored, thresholds in seconds, clauses in the
// order of the families. The patterns of a Config from Parse compile; others may panic.
func (c *Config) Objectives() []slo.Objective {
	var all []slo.Objective
	for _, s := range c.SLOs {
		o := slo.Objective{
			Name: s.Name, Clauses: judgedClauses(s.Clauses), Classes: s.judged(), Objective: s.Objective, Window: s.Window, Policy: s.Policy,
			Match: slo.Match{Model: s.Match.compile(s.Match.Model), Engine: s.Match.compile(s.Match.Engine)},
		}
		all = append(all, o)
	}
	return all
}

func (Match) compile(pattern string) *regexp.Regexp {
	if pattern == "" {
		return nil
	}
	return regexp.MustCompile(anchored(pattern))
}

// Targets are the engines to poll, with whole URLs.
func (c *Config) Targets() []fact.Target {
	var all []fact.Target
	for _, t := range c.Engines.Targets {
		all = append(all, fact.Target{ID: t.ID, URL: t.URL.Reveal(), Labels: t.Labels})
	}
	return all
}

// Grids are the edges that each family's histograms are re-exported on, whatever the layout of the engine: the edges
// of the configuration or else vLLM's own, together with the thresholds of all objectives and their classes on that family.
func (c *Config) Grids() [fact.NumFamilies][]float64 {
	var grids [fact.NumFamilies][]float64
	for f := range fact.NumFamilies {
		edges, given := c.Grid[f]
		if !given {
			edges = defaultEdges(f)
		}
		edges = slices.Clone(edges)
		for _, s := range c.SLOs {
			edges = append(edges, s.thresholds(f)...)
		}
		slices.Sort(edges)
		grids[f] = slices.Compact(edges)
	}
	return grids
}

// Idle lists, for a person, the keys of the file that are checked and have no effect as the file is.
func (c *Config) Idle() []string { return slices.Concat(c.idleSpans(), c.idleGPU(), c.idlePods()) }
