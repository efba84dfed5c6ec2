package boards

import (
	"slices"
	"strings"
)

// withoutSpans are the worlds in which no engine sends any, or none is taken in.
var withoutSpans = []string{"vllm-0.32-day", "vllm-0.11-day", "vllm-0.32-dp2", "vllm-0.32-rust", "vllm-0.32-restart", "vllm-0.32-buckets", "rejections", "errors"}

// everywhere are all worlds in blocks.
var everywhere = slices.Collect(func(yield func(string) bool) {
	for _, w := range worlds {
		if !yield(w.name) {
			return
		}
	}
})

// mayBeEmpty are the questions that have no answer in some worlds, and why that is right. A question is exempt in the
// worlds that are named only; and each has to be answered in another world, or nobody would notice when it breaks.
var mayBeEmpty = []struct {
	why    string
	worlds []string
	exact  bool   // the worlds' twins with spans are not meant
	value  string // of the repeated row's variable; "" for any
	panel  string // a part of the title
	refs   string // of the targets, a letter each; "" for all
}{
	{
		why: "every objective can be judged there", panel: "Objectives that cannot be judged",
		worlds: []string{"vllm-0.32-day", "vllm-0.11-day", "vllm-0.32-dp2", "vllm-0.32-rust", "vllm-0.32-restart", "rejections", "errors", "fleet", onceAMinute},
	},
	{
		why: "no poll failed there", panel: "Polls that brought no page",
		worlds: []string{"vllm-0.32-day", "vllm-0.11-day", "vllm-0.32-dp2", "vllm-0.32-buckets", "rejections", "errors", "fleet", onceAMinute},
	},
	{
		why: "no page was torn there", panel: "Pages skipped", refs: "A",
		worlds: []string{"vllm-0.32-rust", "vllm-0.32-restart", "rejections", "errors", "fleet", onceAMinute},
	},
	{
		why: "that page does not say when its process started", panel: "The chosen engines: identity", refs: "B",
		worlds: []string{"vllm-0.32-dp2", "vllm-0.32-rust"},
	},
	{
		why: "nothing was certainly missed there", panel: "Engines with the most certainly missed",
		worlds: []string{"vllm-0.32-restart"},
	},
	{
		why: "the objective's threshold is no edge of that engine's buckets, so nothing is judged", panel: "Promise kept", refs: "ABCDG",
		worlds: []string{"vllm-0.32-buckets"},
	},
	{why: "as above", panel: "Offered requests", worlds: []string{"vllm-0.32-buckets"}},
	{why: "as above", panel: "Share of judged sequences", refs: "AB", worlds: []string{"vllm-0.32-buckets"}},
	{why: "as above", panel: "Sequences that missed", worlds: []string{"vllm-0.32-buckets"}},
	{why: "as above", panel: "Engines with the most certainly missed", worlds: []string{"vllm-0.32-buckets"}},
	{why: "as above", panel: "Observations over a clause's threshold", refs: "BC", worlds: []string{"vllm-0.32-buckets"}},
	{why: "no engine of that world is under the objective", value: "code", panel: "Offered requests", worlds: []string{"rejections", "errors"}},
	{why: "as above", value: "code", panel: "Share of judged sequences", refs: "AB", worlds: []string{"rejections", "errors"}},
	{why: "as above", value: "code", panel: "Error budget left", worlds: []string{"rejections", "errors"}},
	{why: "as above", value: "code", panel: "Sequences that missed", worlds: []string{"rejections", "errors"}},
	{why: "no spans are there, so nothing is said of tokens", exact: true, panel: "Output tokens processed", worlds: withoutSpans},
	{why: "as above", exact: true, panel: "Share of the processed output tokens", worlds: withoutSpans},
	{why: "no spans are there, so no class is known", exact: true, panel: "Share of finished sequences that met all clauses of", worlds: withoutSpans},
	{why: "as above", exact: true, panel: "Classes of the SLOs", worlds: withoutSpans},
	{why: "the objective has no classes there", exact: true, panel: "Thresholds of the classes", worlds: withoutSpans[:6]},
	{why: "as above", value: "code", panel: "Share of finished sequences that met all clauses of", worlds: []string{"fleet", onceAMinute}},
	{why: "as above", value: "first-token", panel: "Share of finished sequences that met all clauses of", worlds: []string{"fleet", onceAMinute}},
	{why: "no spans are there", exact: true, panel: "Shares of judgement windows that are exact", worlds: withoutSpans},
	{why: "as above", exact: true, panel: "Completeness: share of an engine's", worlds: withoutSpans},
	{why: "as above", exact: true, panel: "Spans matched to the engines", worlds: withoutSpans},
	{why: "as above", exact: true, panel: "Spans of the engines that came to nothing", worlds: withoutSpans},
	{why: "as above", exact: true, panel: "Requests with a span", worlds: withoutSpans},
	{why: "as above", exact: true, panel: "Share of sequences with a span whose", worlds: withoutSpans},
	{why: "no objective has a clause on it there", panel: "whose end-to-end latency is at most", worlds: []string{"fleet", onceAMinute}},
	{why: "a replay reads no GPUs: a simulated node is asked, and a page that has some", panel: "GPU", worlds: withoutGPUs},
	{why: "simulated GPUs move nothing over a bus", panel: "GPUs: sent and received over", worlds: []string{simulatedNode}},
	{why: "the memory and the bus of simulated GPUs make no errors", panel: "GPU memory and bus: errors", worlds: []string{simulatedNode}},
	{why: "a replay has no receiver: a running exporter is asked", panel: "Spans that came to the exporters", worlds: everywhere},
	{why: "as above", panel: "Messages with spans to the exporters", worlds: everywhere},
	{why: "as above", panel: "Spans that wait for the next round", worlds: everywhere},
	{why: "blocks that are made of text hold no native histograms: a running exporter is asked", panel: "how many a second in each bucket", worlds: everywhere},
}

// exempt is which row of mayBeEmpty lets a question have no answer in a world, -1 when it has to have one.
func exempt(world string, p place) int {
	twin, _, _ := strings.Cut(world, ", with spans")
	for i, e := range mayBeEmpty {
		if (slices.Contains(e.worlds, world) || !e.exact && slices.Contains(e.worlds, twin)) && strings.Contains(p.panel, e.panel) && (e.value == "" || e.value == p.value) &&
			(e.refs == "" || strings.Contains(e.refs, p.ref)) {
			return i
		}
	}
	return -1
}
