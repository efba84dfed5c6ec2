package engine

import (
	"fmt"
	"strings"
)

// Document is docs/dialects.md: the tables of this package, for a person.
func Document() []byte {
	var b strings.Builder
	b.WriteString(documentHead)
	b.WriteString("| dialect | written by | vLLM versions | recognised by |\n|---|---|---|---|\n")
	for i := range dialects {
		d := &dialects[i]
		fmt.Fprintf(&b, "| [%s](#%s) | %s | %s | %s |\n", d.name, d.name, d.who, d.versions(), d.sign)
	}
	b.WriteString("\nThe names on a page narrow the versions down: the page of a 0.32 reads `>=0.31`. Dialects are tried in this order:\n\n")
	for i := range dialects {
		fmt.Fprintf(&b, "%d. %s\n", i+1, dialects[i].name)
	}
	b.WriteString(documentPrefixes)
	for m, names := range [numMakers]string{vllm: "vLLM", sglang: "SGLang"} {
		fmt.Fprintf(&b, "- %s: `%s`\n", names, strings.Join(prefixes[m], "`, `"))
	}
	b.WriteString("\n## What each can and cannot tell\n")
	for i := range dialects {
		d := &dialects[i]
		fmt.Fprintf(&b, "\n### %s\n\n", d.name)
		for _, u := range d.unlike {
			fmt.Fprintf(&b, "- %s\n", u)
		}
		fmt.Fprintf(&b, "\nTested on: %s.\n", d.tested)
	}
	b.WriteString(documentNames)
	b.WriteString("| what | name on a page | versions | known from |\n|---|---|---|---|\n")
	for i := range aliases {
		a := &aliases[i]
		for _, s := range a.names {
			a.row(&b, "", s)
		}
		for _, s := range a.sglang {
			a.row(&b, "SGLang: ", s)
		}
	}
	b.WriteString("\n## What is lost without a name\n\n| what | cost |\n|---|---|\n")
	for i := range aliases {
		fmt.Fprintf(&b, "| %s | %s |\n", aliases[i].what, aliases[i].cost)
	}
	fmt.Fprintf(&b, "| created | %s |\n", costCreated)
	b.WriteString(documentOdd)
	return []byte(b.String())
}

func (d *dialect) versions() string {
	switch {
	case d.since == "":
		return "-"
	case d.gone == "":
		return d.since + " on"
	}
	return d.since + " to before " + d.gone
}

// row writes one spelling of a field.
func (a *alias) row(b *strings.Builder, who string, s spelling) {
	name := s.name
	switch a.kind {
	case counter:
		name += "_total"
	case observations:
		name += "_count"
	}
	versions := "all"
	switch {
	case s.first != "" && s.gone != "":
		versions = s.first + " to before " + s.gone
	case s.first != "":
		versions = s.first + " on"
	case s.gone != "":
		versions = "before " + s.gone
	}
	fmt.Fprintf(b, "| %s | %s`%s` | %s | %s |\n", a.what, who, name, versions, s.source)
}

const documentHead = `# Dialects

Generated from the tables in ` + "`collectors/engine` by `goodput-exporter generate docs`" + `; do not edit.

Engines differ in the names on their metrics pages, and in what is counted under the same name. A page is recognised by
what is on it, never by what a header says of it. What a dialect cannot tell is absent, with the reason on the status page and
in ` + "`goodput_slo_unanswerable_info` and `goodput_ledger_unanswerable_info`" + `.

`

const documentPrefixes = `
What stands before the names is one of these; a page with those of two makers is refused.

`

const documentNames = `
## The names

A field is read under the first of its names that a page has. ` + "`_bucket`, `_sum`, `_count` and `_created`" + ` belong to their family.

`

const documentOdd = `
## Pages that are odd whoever writes them

- **Several API servers** (` + "`--api-server-count`" + `): counters and histograms are sums over the processes. There is no start time and
  no ` + "`_created`" + `, so a restart shows only as counters that fall. A gauge with a ` + "`pid`" + ` label has one series for each process, of
  which the page does not say which is the newest: of the KV cache's usage the largest is told, with a warning; a number of
  running or waiting sequences that differs from process to process is unknown.
- **Sleep**: an engine that was put to sleep says so in ` + "`engine_sleep_state`" + `. Its phase is then ` + "`asleep`" + `: neither down nor stalled.
- **Embeddings and pooling**: an engine that has finished requests without generating a token has no first token and no time
  per output token, although its page has such histograms. Objectives with a clause on them are refused; one on e2e is judged. Their
  handlers may take several prompts a request, so there is no ledger once they are used (` + "`docs/config.md`" + `, handlers).
- **Prefill and decode on different engines**: no page sees a whole request. Where another engine's KV blocks are read
  (` + "`prompt_tokens_cached_by_source_total` with source `p2p` or `external_unspecified`; before 0.31 `prompt_tokens_by_source_total` with source `external_kv_transfer`" + `) or a
  connector is configured (` + "`nixl_xfer_time_seconds`" + `), objectives with a clause on ttft, e2e, queue or prefill are refused. A clause on
  tpot alone is judged. An engine that only computes prompts for others finishes sequences of one token, which meet any tpot:
  leave it out by the objective's match.
- **A rank or a model that leaves the page** and returns goes on counting where it stopped; what happened meanwhile is not counted.
- **Other buckets** (another version, ` + "`--custom-histogram-buckets`" + `): each engine is judged on its own edges;
  ` + "`goodput_histogram_layouts`" + ` counts the layouts in sight.
`
