package config

import (
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/goodput-exporter/goodput-exporter/exporter/fact"
)

// settlePoll derives the timeout and refuses polls that would harm the engine or overlap.
func settlePoll(r *reader, path string, p *Poll) {
	interval, timeout := join(path, "interval"), join(path, "timeout")
	if !r.sound(interval) {
		return
	}
	if p.Interval < time.Second && !p.AllowFast && r.sound(join(path, "allow_fast")) {
		r.at(interval, formatDuration(p.Interval)+" is below 1s: each page costs the engine 11 to 42 ms of the event loop that streams tokens",
			"choose 1s or more, or set "+join(path, "allow_fast")+": true")
		return
	}
	if _, given := r.lines[timeout]; !given {
		p.Timeout = (p.Interval * 3 / 4).Truncate(time.Millisecond)
	}
	if most := (p.Interval * 4 / 5).Truncate(time.Millisecond); p.Timeout > most && r.sound(timeout) {
		r.at(timeout, fmt.Sprintf("%s is more than 0.8 of poll.interval (%s): a round must end before the next begins", formatDuration(p.Timeout), formatDuration(p.Interval)),
			fmt.Sprintf("choose at most %s, or a longer interval", formatDuration(most)))
	}
}

// parts lists what each latency holds by definition: a part is never longer than its whole. tpot is decode over
// output tokens less one, so it is at most decode. ttft, e2e and what the engine core measures come from two clocks,
// which agree up to their steps.
func parts(whole fact.Family) []fact.Family {
	switch whole {
	case fact.TTFT:
		return []fact.Family{fact.Queue, fact.Prefill}
	case fact.Decode:
		return []fact.Family{fact.TPOT}
	case fact.Inference:
		return []fact.Family{fact.Prefill, fact.Decode, fact.TPOT}
	case fact.E2E:
		return []fact.Family{fact.TTFT, fact.Queue, fact.Prefill, fact.Inference, fact.Decode, fact.TPOT}
	}
	return nil
}

func settleSLO(r *reader, path string, s *SLO) { settleClauses(r, join(path, "clauses"), s.Clauses) }

// settleClauses refuses clauses that say nothing. Clauses are upper limits, so they can always hold together; but a part
// that is allowed as much time as its whole can never be what fails a request, and each clause that says nothing
// widens the joint interval of those that do. What is merely nearly implied (e2e at ttft plus decode: two clocks)
// stays.
func settleClauses(r *reader, path string, clauses map[fact.Family]time.Duration) {
	idle := map[fact.Family]bool{} // reported once, whatever else it is a part of
	for _, whole := range clauseMetrics() {
		limit, has := clauses[whole]
		for _, part := range parts(whole) {
			of, given := clauses[part]
			if !has || !given || of < limit || idle[part] {
				continue
			}
			idle[part] = true
			r.at(join(path, part.String()),
				fmt.Sprintf("%s can never fail a request: %s is never longer than %s, which may not exceed %s", formatDuration(of), part, whole, formatDuration(limit)),
				fmt.Sprintf("lower %s below %s, raise %s above %s, or remove one of the two", part, formatDuration(limit), whole, formatDuration(of)))
		}
	}
	prefill, hasPrefill := clauses[fact.Prefill]
	decode, hasDecode := clauses[fact.Decode]
	inference, hasInference := clauses[fact.Inference]
	if hasPrefill && hasDecode && hasInference && inference >= prefill+decode {
		r.at(join(path, "inference"),
			fmt.Sprintf("%s can never fail a request: inference is prefill + decode, which may not exceed %s + %s", formatDuration(inference), formatDuration(prefill), formatDuration(decode)),
			fmt.Sprintf("lower inference below %s, or remove it", formatDuration(prefill+decode)))
	}
}

// settleHandlers refuses a handler of which two things are said.
func settleHandlers(r *reader, path string, h *Handlers) {
	one, many := join(path, "one_prompt"), join(path, "many_prompts")
	if !r.sound(one, many) {
		return
	}
	for i, handler := range h.OnePrompt {
		if !slices.Contains(h.ManyPrompts, handler) {
			continue
		}
		if _, given := r.lines[many]; given {
			r.at(fmt.Sprintf("%s[%d]", many, slices.Index(h.ManyPrompts, handler)), handler+" stands in one_prompt too", "keep it in one of the two")
		} else {
			r.at(fmt.Sprintf("%s[%d]", one, i), handler+" stands in many_prompts by default", "give many_prompts without it, if its requests hold one prompt")
		}
	}
}

// settleConfig compares the sections with each other, and the items of lists.
func settleConfig(r *reader, _ string, c *Config) {
	unique(r, "slos[%d].name", c.SLOs, func(s SLO) string { return s.Name })
	unique(r, "engines.targets[%d].id", c.Engines.Targets, func(t Target) string { return t.ID })
	samePage(r, c.Engines.Targets)
	settleReadings(r, c)
	settlePods(r, c)
	if c.Poll.Interval > c.Judgement.Window/4 && r.sound("poll", "judgement") {
		r.at("poll.interval", fmt.Sprintf("%s is more than a quarter of judgement.window (%s): too few polls to cut windows by", formatDuration(c.Poll.Interval), formatDuration(c.Judgement.Window)),
			fmt.Sprintf("choose at most %s, or a judgement.window of %s or more", formatDuration(c.Judgement.Window/4), formatDuration(c.Poll.Interval*4)))
	}
	if !c.Engines.fixed() {
		return
	}
	for i, s := range c.SLOs {
		path := fmt.Sprintf("slos[%d].match.engine", i)
		if s.Match.Engine == "" || !r.sound(path, "engines") {
			continue
		}
		fits := regexp.MustCompile(anchored(s.Match.Engine))
		if !slices.ContainsFunc(c.Engines.Targets, func(t Target) bool { return fits.MatchString(t.ID) }) {
			r.at(path, quote(s.Match.Engine)+" fits no target", "it must fit the whole id of at least one, such as "+quote(c.Engines.Targets[0].ID))
		}
	}
}

// fixed reports whether the configuration names all engines there will ever be. Without targets they are those of a
// recording, and with files or pods there may be more: then any id may exist.
func (e *Engines) fixed() bool { return len(e.Targets) > 0 && len(e.Files) == 0 && e.Kubernetes == nil }

// unique refuses items that have the same name; path is that of an item's name.
func unique[T any](r *reader, path string, items []T, name func(T) string) {
	first := map[string]int{}
	for i, it := range items {
		n := name(it)
		before, again := first[n]
		switch {
		case n == "": // missing or refused, which is noted
		case again:
			r.at(fmt.Sprintf(path, i), quote(n)+" is the name of "+strings.TrimSuffix(fmt.Sprintf(path, before), path[strings.LastIndex(path, "."):])+" already", "give each its own")
		default:
			first[n] = i
		}
	}
}

// samePage refuses two targets with one page, whatever user they ask it as.
func samePage(r *reader, targets []Target) {
	first := map[string]int{}
	for i, t := range targets {
		u, err := url.Parse(t.URL.Reveal())
		if err != nil || u.Host == "" { // missing or refused, which is noted
			continue
		}
		port := u.Port()
		if port == "" {
			port = map[string]string{"http": "80", "https": "443"}[u.Scheme]
		}
		page := strings.Join([]string{u.Scheme, strings.ToLower(u.Hostname()), port, u.EscapedPath(), u.RawQuery}, " ")
		if before, again := first[page]; again {
			r.at(fmt.Sprintf("engines.targets[%d].url", i), fmt.Sprintf("is the page of engines.targets[%d] too: its requests would be counted twice", before), "remove one of the two")
			continue
		}
		first[page] = i
	}
}

// distinct holds for a list without repetition.
func distinct(v []string) (what, remedy string) {
	for i, x := range v {
		if slices.Contains(v[:i], x) {
			return quote(x) + " stands in it twice", "keep one"
		}
	}
	return "", ""
}
