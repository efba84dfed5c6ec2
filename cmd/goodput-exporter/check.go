package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/goodput-exporter/goodput-exporter/collectors/engine"
	"github.com/goodput-exporter/goodput-exporter/exporter/config"
	"github.com/goodput-exporter/goodput-exporter/exporter/edges"
	"github.com/goodput-exporter/goodput-exporter/exporter/fact"
	"github.com/goodput-exporter/goodput-exporter/exporter/fold"
	"github.com/goodput-exporter/goodput-exporter/exporter/slo"
)

// runCheck validates a configuration. Without a source it prints the effective configuration, as YAML that ends in
// comments: the keys that are not acted on, and the verdict. With a source, the URL of an engine's page, a file that holds one, or a recording, it
// prints which objectives that engine's histograms can answer; an objective that covers the engine and cannot be
// answered is an error, as is a source that no objective covers.
func runCheck(ctx context.Context, configFile, source string, out, notes io.Writer) error {
	cfg, err := config.Load(configFile)
	if err != nil {
		return err
	}
	buffered := bufio.NewWriter(out)
	if source == "" {
		_, _ = buffered.Write(cfg.YAML()) // bufio keeps the error for Flush
		fmt.Fprintln(buffered)
		for _, idle := range cfg.Idle() {
			fmt.Fprintf(buffered, "# %s\n", idle)
		}
		unusable := checkSpans(cfg, buffered)
		checkGPUs(cfg, buffered)
		if err := errors.Join(unusable, checkFiles(cfg, buffered), checkPods(ctx, cfg, buffered)); err != nil {
			return errors.Join(err, buffered.Flush())
		}
		fmt.Fprintf(buffered, "# %s is valid: %s, %s.\n", configFile, count(len(cfg.SLOs), "objective"), namedEngines(cfg))
		return buffered.Flush()
	}
	pages, err := checkedPages(ctx, cfg, source, notes)
	if err != nil {
		return err
	}
	var text bytes.Buffer
	verdict := lintPages(&text, cfg, pages)
	fmt.Fprint(buffered, masked(cfg, source, text.String()))
	return errors.Join(verdict, buffered.Flush())
}

// namedEngines says how many engines a configuration names, and that there may be others.
func namedEngines(cfg *config.Config) string {
	named := count(len(cfg.Engines.Targets), "engine")
	if cfg.Engines.Kubernetes != nil {
		named += " and those among pods"
	}
	return named
}

func count(n int, what string) string {
	if n != 1 {
		what += "s"
	}
	return fmt.Sprintf("%d %s", n, what)
}

// lintPages prints what each page can answer and returns what it cannot as an error, unless spans can.
func lintPages(out io.Writer, cfg *config.Config, pages []checkedPage) error {
	var refused, spansOnly []string
	covered := 0
	for _, p := range pages {
		c, r := lintPage(out, cfg, p)
		covered += c
		if can, _ := sends(p.sample); can && cfg.Spans.Taken() {
			spansOnly = append(spansOnly, r...)
			continue
		}
		refused = append(refused, r...)
	}
	switch {
	case covered == 0:
		fmt.Fprintln(out, "verdict: no objective covers this source, so nothing was checked.")
		return errors.New("no objective covers the checked source: compare slos[].match with the models and engines above")
	case len(refused) > 0:
		fmt.Fprintf(out, "verdict: %d of %s cannot be answered.\n", len(refused), count(covered, "objective"))
		return fmt.Errorf("cannot be answered from histograms: %s; each refused clause above says what to do", strings.Join(refused, ", "))
	}
	if len(spansOnly) > 0 {
		fmt.Fprintf(out, "verdict: %s, of which %s can be answered by spans alone, while the engine sends them: goodput-exporter engine-flags prints what it must be told.\n", count(covered, "objective"), strings.Join(spansOnly, ", "))
		return nil
	}
	fmt.Fprintf(out, "verdict: %s, all answerable.\n", count(covered, "objective"))
	return nil
}

// lintPage prints what one page can answer, and returns how many objectives cover it and which of them it cannot.
func lintPage(out io.Writer, cfg *config.Config, p checkedPage) (covered int, refused []string) {
	written := "dialect " + p.sample.Dialect
	if p.sample.Version != "" {
		written += ", vLLM " + p.sample.Version
	}
	fmt.Fprintf(out, "page %s: %s, %s\n", p.name, written,
		count(len(p.sample.Ranks), "rank")+" of "+strings.Join(models(p.sample), ", "))
	var covering []slo.Objective
	curable := false // by other edges
	for _, o := range cfg.Objectives() {
		o.Clauses = everyClause(&o)
		models, says := coverage(o, p)
		fmt.Fprintf(out, "\nobjective %s: %s\n", o.Name, says)
		if len(models) == 0 {
			continue
		}
		covering = append(covering, o)
		if why := unlike(o, p.sample, models); why != "" {
			fmt.Fprintf(out, "  refused: %s\n", why)
			refused = append(refused, o.Name+" by "+p.name)
			continue
		}
		if found := lintClauses(out, o, p, models); len(found) > 0 {
			refused = append(refused, o.Name+" by "+p.name)
			curable = curable || slices.ContainsFunc(found, func(r slo.Refusal) bool { return !r.Missing })
		}
	}
	if curable {
		printRemedy(out, p, covering, cfg.Grids())
	}
	printCosts(out, p.sample)
	fmt.Fprintln(out)
	return len(covering), refused
}

// unlike says why an objective cannot be judged on a page whatever its edges are; "" when it can.
func unlike(o slo.Objective, s *fact.EngineSample, models []string) string {
	for i := range s.Ranks {
		if !slices.Contains(models, s.Ranks[i].Model) {
			continue
		}
		if why := fold.Unlike(o.Clauses, s, &s.Ranks[i]); why != "" {
			return why
		}
	}
	return ""
}

// models are the names on a page, each once, in its order.
func models(s *fact.EngineSample) (names []string) {
	for i := range s.Ranks {
		if m := s.Ranks[i].Model; !slices.Contains(names, m) {
			names = append(names, m)
		}
	}
	return names
}

// coverage tells which models of a page an objective is about, and says so for a person. A page without a target fits
// every engine pattern, and that is said too.
func coverage(o slo.Objective, p checkedPage) (covered []string, says string) {
	unknown := p.engine == "" && o.Match.Engine != nil
	if unknown {
		o.Match.Engine = nil
	}
	for _, m := range models(p.sample) {
		if o.Covers(p.engine, m) {
			covered = append(covered, m)
		}
	}
	switch {
	case len(covered) == 0 && p.engine == "":
		return nil, "not about this page, by slos[].match"
	case len(covered) == 0:
		return nil, fmt.Sprintf("not about engine %s, by slos[].match", p.engine)
	case unknown:
		return covered, "covers " + strings.Join(covered, ", ") + " (match.engine was not held against the page, which is of no configured target)"
	case p.engine != "":
		return covered, fmt.Sprintf("covers %s on engine %s", strings.Join(covered, ", "), p.engine)
	}
	return covered, "covers " + strings.Join(covered, ", ")
}

// lintClauses prints a line for each clause, or several where the ranks answer it differently, and returns the
// refusals.
func lintClauses(out io.Writer, o slo.Objective, p checkedPage, models []string) (all []slo.Refusal) {
	for _, c := range o.Clauses {
		of := ofClasses(classesWith(&o, c))
		var answers []string
		ranks := map[string][]string{}
		for i := range p.sample.Ranks {
			rank := &p.sample.Ranks[i]
			if !slices.Contains(models, rank.Model) {
				continue
			}
			refused := slo.Refusals([]slo.Clause{c}, func(f fact.Family) ([]float64, bool) {
				return rank.Histograms[f].Edges, rank.Histograms[f].Known()
			})
			answer := fmt.Sprintf("%s <= %s: an edge of the engine's histogram", c.Metric, writtenSeconds(c.Threshold)+of)
			if len(refused) > 0 {
				answer = "refused" + of + ": " + refused[0].Error() + absence(refused[0], p.sample)
			}
			if !slices.Contains(answers, answer) {
				answers = append(answers, answer)
				all = append(all, refused...)
			}
			ranks[answer] = append(ranks[answer], rank.Name)
		}
		for _, a := range answers {
			if len(answers) > 1 {
				a += " (rank " + strings.Join(ranks[a], ", ") + ")"
			}
			fmt.Fprintln(out, "  "+a)
		}
	}
	return all
}

// writtenSeconds prints seconds as they are written in a configuration or beside one: 250ms, 2.5s.
func writtenSeconds(seconds float64) string {
	return time.Duration(math.Round(seconds * float64(time.Second))).String()
}

// absence says since when engines have a histogram that the page lacks, and what is lost without it.
func absence(r slo.Refusal, s *fact.EngineSample) string {
	if !r.Missing {
		return ""
	}
	says := ""
	switch since := engine.Since(r.Clause.Metric); {
	case s.Version == "": // not vLLM
	case since == "":
		says = "; every version has it, some from the first request on"
	default:
		says = "; vLLM has it since " + since
	}
	for _, m := range s.Missing {
		if m.Field == r.Clause.Metric.String() {
			says += "; without it " + m.Cost
		}
	}
	return says
}

// printRemedy says what would make the objectives that cover a page answerable. It is what engine-flags prints for them,
// but for the engine's own edges, which are on the page.
func printRemedy(out io.Writer, p checkedPage, covering []slo.Objective, grids [fact.NumFamilies][]float64) {
	vllm := strings.HasPrefix(p.sample.Dialect, "vllm-")
	oldest, newest := versionRange(p.sample.Version)
	var own [fact.NumFamilies][]float64
	for f, h := range p.sample.Ranks[0].Histograms {
		own[f] = h.Edges
	}
	if vllm && (newest == "" || edges.Older(edges.Since, newest)) {
		r := remedyOf(edges.Since, covering, grids, own)
		fmt.Fprintf(out, "\nvLLM %s and later has an edge at each threshold when it is started with\n  %s\n", edges.Since, edges.Flag(r.lists))
	}
	if vllm && !edges.Older(oldest, edges.Since) {
		return
	}
	// Of another engine the version says nothing about vLLM's option, and only its edges are known.
	r := remedyOf("0", covering, grids, own)
	if len(r.instead) == 0 {
		return
	}
	fmt.Fprint(out, "\nwith the edges as they are")
	if vllm {
		fmt.Fprintf(out, " (vLLM before %s has no others)", edges.Since)
	}
	fmt.Fprintln(out)
	for _, line := range r.instead {
		fmt.Fprintf(out, "  %s\n", line)
	}
}

// versionRange reads a range such as ">=0.11.1,<0.15"; newest is "" where it is open.
func versionRange(s string) (oldest, newest string) {
	oldest, newest, _ = strings.Cut(s, ",")
	return strings.TrimPrefix(oldest, ">="), strings.TrimPrefix(newest, "<")
}

// printCosts lists what the page lacks and what that costs, and what was forgiven.
func printCosts(out io.Writer, s *fact.EngineSample) {
	if len(s.Missing) > 0 {
		fmt.Fprintln(out, "\nthe page lacks")
	}
	for _, m := range s.Missing {
		fmt.Fprintf(out, "  %s: %s\n", m.Field, m.Cost)
	}
	if len(s.Warnings) > 0 {
		fmt.Fprintln(out, "\nforgiven")
	}
	for _, w := range s.Warnings {
		fmt.Fprintf(out, "  %s\n", w)
	}
}
