package boards

import (
	"slices"
	"strings"
)

// mayBeEmpty are the questions that have no answer in some worlds, and why that is right. A question is exempt in the
// worlds that are named only; and each has to be answered in another world, or nobody would notice when it breaks.
var mayBeEmpty = []struct {
	why    string
	worlds []string
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
}

// exempt is which row of mayBeEmpty lets a question have no answer in a world, -1 when it has to have one.
func exempt(world string, p place) int {
	for i, e := range mayBeEmpty {
		if slices.Contains(e.worlds, world) && strings.Contains(p.panel, e.panel) && (e.value == "" || e.value == p.value) &&
			(e.refs == "" || strings.Contains(e.refs, p.ref)) {
			return i
		}
	}
	return -1
}
