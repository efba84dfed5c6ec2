package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"

	"github.com/goodput-exporter/goodput-exporter/exporter/config"
	"github.com/goodput-exporter/goodput-exporter/exporter/edges"
	"github.com/goodput-exporter/goodput-exporter/exporter/slo"
)

// engineFlagsOptions is what the engine-flags command was told.
type engineFlagsOptions struct {
	ConfigFile string
	Version    string // of vLLM
	Engine     string // id; "" for all
	Model      string // "" unknown: then every model pattern is taken to fit
	Format     string // shell or json
}

// engineFlags is what one engine, or several that are alike, is to be started with.
type engineFlags struct {
	Engines     []string          `json:"engines,omitempty"` // ids; none when the configuration names no engine
	Version     string            `json:"vllm_version"`
	SLOs        []string          `json:"slos"`
	Environment map[string]string `json:"environment"`
	Arguments   []string          `json:"arguments"`
	Notes       []string          `json:"notes,omitempty"`

	lists        []edges.List
	spans        []string // shell lines of the environment
	refused      []string // what no flag can help, and what to write in its place
	answered     bool     // by vLLM's own edges
	lines        int      // bucket lines of a page's latencies for each rank
	ownLines     int      // the same with vLLM's own edges
	withoutSpans string   // why spans are not asked for although the configuration has an address for them
}

var versionForm = regexp.MustCompile(`^[0-9]+(\.[0-9]+){1,3}([a-z+.-].*)?$`)

// runEngineFlags prints the options with which vLLM's histograms can answer a configuration's objectives.
func runEngineFlags(o engineFlagsOptions, out io.Writer) error {
	cfg, err := config.Load(o.ConfigFile)
	if err != nil {
		return err
	}
	o.Version = strings.TrimPrefix(o.Version, "v")
	if !versionForm.MatchString(o.Version) {
		return fmt.Errorf("--vllm-version=%q is not a version; write it like 0.32", o.Version)
	}
	all, err := flagsOf(cfg, o)
	if err != nil {
		return err
	}
	buffered := bufio.NewWriter(out)
	if o.Format == "json" {
		enc := json.NewEncoder(buffered)
		enc.SetEscapeHTML(false)
		enc.SetIndent("", "  ")
		return errors.Join(enc.Encode(all), buffered.Flush())
	}
	for i := range all {
		if i > 0 {
			fmt.Fprintln(buffered)
		}
		all[i].shell(buffered)
	}
	return buffered.Flush()
}

// flagsOf computes what each engine is to be started with. Engines that need the same come together.
func flagsOf(cfg *config.Config, o engineFlagsOptions) ([]engineFlags, error) {
	ids, err := flaggedEngines(cfg, o.Engine)
	if err != nil {
		return nil, err
	}
	var all []engineFlags
	for _, id := range ids {
		about := covering(cfg.Objectives(), id, o.Model)
		if len(about) == 0 {
			if len(ids) == 1 {
				return nil, errors.New("no objective covers the engine, so it needs no flags: compare slos[].match with --engine and --model")
			}
			continue
		}
		f := newEngineFlags(cfg, about, id, o.Version)
		same := slices.IndexFunc(all, func(other engineFlags) bool { return other.key() == f.key() })
		if same >= 0 {
			all[same].Engines = append(all[same].Engines, id)
			continue
		}
		all = append(all, f)
	}
	if len(all) == 0 {
		return nil, errors.New("no objective covers any engine, so none needs flags: compare slos[].match with engines.targets and --model")
	}
	return all, nil
}

// flaggedEngines are the ids to speak about; one "" where the configuration and its files of targets name none.
func flaggedEngines(cfg *config.Config, wanted string) ([]string, error) {
	var ids []string
	for _, t := range cfg.Engines.Targets {
		ids = append(ids, t.ID)
	}
	for _, pattern := range cfg.Engines.Files {
		for _, path := range targetFiles(cfg, pattern) {
			found, err := targetsIn(path)
			if err != nil {
				return nil, err
			}
			for _, f := range found {
				ids = append(ids, f.Target.ID)
			}
		}
	}
	switch {
	case wanted != "" && len(ids) > 0 && cfg.Engines.Kubernetes == nil && !slices.Contains(ids, wanted):
		return nil, fmt.Errorf("--engine=%s is neither in engines.targets nor in engines.files; there are %s", wanted, strings.Join(ids, ", "))
	case wanted != "" || len(ids) == 0:
		return []string{wanted}, nil
	}
	return ids, nil
}

// covering are the objectives that are about an engine, or may be: what is unknown of it ("") fits every pattern.
func covering(objectives []slo.Objective, engine, model string) (all []slo.Objective) {
	for _, o := range objectives {
		asked := o
		if engine == "" {
			asked.Match.Engine = nil
		}
		if model == "" {
			asked.Match.Model = nil
		}
		if asked.Covers(engine, model) {
			all = append(all, o)
		}
	}
	return all
}

func newEngineFlags(cfg *config.Config, objectives []slo.Objective, id, version string) engineFlags {
	f := engineFlags{Version: version, Environment: map[string]string{}, Arguments: []string{}}
	if id != "" {
		f.Engines = []string{id}
	}
	for _, o := range objectives {
		f.SLOs = append(f.SLOs, o.Name)
	}
	own := edgesOf(version)
	r := remedyOf(version, objectives, cfg.Grids(), own)
	f.lists, f.refused, f.answered = r.lists, r.instead, r.answered
	if len(f.lists) > 0 {
		f.Arguments = append(f.Arguments, edges.Option, edges.JSON(f.lists))
		f.lines, f.ownLines = edges.Lines(f.lists, own), edges.Lines(nil, own)
	}
	f.Notes = append(f.Notes, f.about()...)
	f.askForSpans(cfg, id)
	if f.withoutSpans != "" {
		f.Notes = append(f.Notes, f.withoutSpans)
	}
	return f
}

// key is equal for engines that need the same.
func (f *engineFlags) key() string {
	return strings.Join(slices.Concat(f.SLOs, f.Arguments, f.spans, f.refused), "\x00")
}

// about says in sentences what the flags do and cost.
func (f *engineFlags) about() []string {
	var notes []string
	if len(f.lists) > 0 {
		var sizes []string
		for _, l := range f.lists {
			sizes = append(sizes, fmt.Sprintf("%s %d", l.Name, len(l.Edges)))
		}
		notes = append(notes,
			"An edge at every threshold of "+strings.Join(f.SLOs, ", ")+"; finer ones from half of it to twice it. Edges: "+strings.Join(sizes, ", ")+".",
			fmt.Sprintf("For each rank the page has %d bucket lines of latencies in place of %d: about %.0f kB more.", f.lines, f.ownLines, float64(f.lines-f.ownLines)*bucketLine/1000))
	}
	switch {
	case f.answered && len(f.lists) > 0:
		notes = append(notes, "vLLM's own edges have these thresholds too: no flag is needed to answer the SLOs, this one makes percentiles near them narrower.")
	case f.answered:
		notes = append(notes, "vLLM's own edges have these thresholds: no flag is needed to answer the SLOs.")
	}
	notes = append(notes, f.refused...)
	return notes
}

// bucketLine is what one bucket takes on a page, in bytes: 84 and the model's name.
const bucketLine = 100

// shell prints what can be pasted into a shell that has the model's name in MODEL.
func (f *engineFlags) shell(out io.Writer) {
	who := "vLLM " + f.Version
	if len(f.Engines) > 0 {
		who += " as engine " + strings.Join(f.Engines, ", ")
	}
	fmt.Fprintf(out, "# %s\n", who)
	for _, n := range f.Notes {
		fmt.Fprintf(out, "# %s\n", n)
	}
	for _, s := range f.spans {
		fmt.Fprintf(out, "%s\n", s)
	}
	if len(f.Arguments) == 0 {
		return
	}
	fmt.Fprint(out, `vllm serve "$MODEL"`)
	for i := 0; i+1 < len(f.Arguments); i += 2 {
		fmt.Fprintf(out, " \\\n  %s %s", f.Arguments[i], edges.Quote(f.Arguments[i+1]))
	}
	fmt.Fprintln(out)
}
