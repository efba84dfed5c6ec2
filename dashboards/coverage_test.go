package dashboards

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/goodput-exporter/goodput-exporter/exporter/catalog"
	"github.com/goodput-exporter/goodput-exporter/internal/golden"
)

const inWindow = "for alerts and other boards: the boards take rates of the counters over their own window, which grows with the range"

// elsewhere says why series are on no board.
var elsewhere = []struct{ names, why string }{
	{`^goodput_(ttft|tpot|e2e|queue|prefill|decode)_floor_seconds$`, "in the recorded percentiles: the lower ends come from it. Its mean is that of the ceil image"},
	{`^goodput_token_gap_(ceil|floor)_seconds$`, "in the recorded percentiles of token gaps"},
	{`^goodput_request_(prompt|output)_tokens_floor$`, "sum and count are those of the ceil image, which the length mix shows"},
	{`^goodput_(access_files_broken|engine_poll_interval_seconds|series_dropped|target_files_broken|targets_refused)$`, "about the exporter's own configuration: the guide for operators has an expression for each"},
	{`_bucket:increase5m$`, "for the recorded percentiles, which are on the goodput board"},
	{`^model:goodput_.*:rate(5m|1h)$`, inWindow},
	{`^model_slo:goodput_(output|finished_output)_tokens:rate(5m|1h)$`, inWindow},
	{`^model_slo:goodput_slo_wasted_tokens_share_(lower|upper):ratio_rate1h$`, "the board shows the rule over 5 minutes"},
	{`^model_slo:goodput_(joules|cost)_per_qualified_.*1h$`, "the board shows the rule over 5 minutes"},
	{`^model_slo_class:goodput_.*rate(5m|1h)$`, inWindow},
	{`^model:goodput_.*:ratio_rate(5m|1h)$`, inWindow},
	{`^model_slo:goodput_slo_(requests|qualified|missed).*rate(5m|30m|1h|6h|3d)$`, inWindow},
}

// guide is where the table of all series stands.
const guide, tableBegins, tableEnds = "../docs/grafana.md", "<!-- series -->\n", "<!-- /series -->\n"

// TestEverySeriesHasAPlace holds that each series and each recording rule is on a board or has a reason not to be, and
// that the guide says the same.
func TestEverySeriesHasAPlace(t *testing.T) {
	placed := map[string][]string{}
	for _, b := range committed(t) {
		for _, p := range b.Panels {
			for _, name := range p.names() {
				at := fmt.Sprintf("%s %d", strings.TrimPrefix(b.UID, "goodput-"), p.ID)
				if all := placed[family(name)]; !slices.Contains(all, at) {
					placed[family(name)] = append(all, at)
				}
			}
		}
	}
	var names []string
	for _, s := range catalog.All() {
		names = append(names, s.Name)
	}
	names = append(names, catalog.RuleNames()...)
	var table strings.Builder
	table.WriteString("| series | where |\n|---|---|\n")
	used := map[string]bool{}
	for _, name := range names {
		where, why := strings.Join(placed[name], ", "), ""
		for _, e := range elsewhere {
			if regexp.MustCompile(e.names).MatchString(name) {
				why, used[e.names] = e.why, true
			}
		}
		switch {
		case where == "" && why == "":
			t.Errorf("%s is on no board: add it, or say why not in elsewhere", name)
		case where != "" && why != "":
			t.Errorf("%s is on a board, so the reason why not is wrong", name)
		}
		fmt.Fprintf(&table, "| `%s` | %s |\n", name, where+why)
	}
	for _, e := range elsewhere {
		if !used[e.names] {
			t.Errorf("there is a reason for %s, which matches no series", e.names)
		}
	}
	text, err := os.ReadFile(guide)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, begun := strings.Cut(string(text), tableBegins)
	_, after, ended := strings.Cut(rest, tableEnds)
	if !begun || !ended {
		t.Fatalf("%s has no table of series", guide)
	}
	golden.Compare(t, guide, []byte(before+tableBegins+"\n"+table.String()+"\n"+tableEnds+after))
}
