package engine

import (
	"cmp"
	"slices"

	"github.com/goodput-exporter/goodput-exporter/exporter/fact"
)

// disaggregated says by what a page shows that prompts are computed on other engines than the tokens that follow, so that
// no engine's page tells of a whole request; "" when nothing on it does. Prompt tokens that came out of the host's memory
// or from its disks are this engine's own; before 0.31 they cannot be told from another engine's, and count as such.
//
// A connector's families are on the page where one is configured, on the side that only hands its blocks over too; always is
// for a dialect that has them on every page.
func (d *Decoder) disaggregated(transfers int, always bool) string {
	for i := range d.ranks[:d.used] {
		k := &d.ranks[i]
		for _, s := range k.caches {
			if s.n > 0 && (s.a == "p2p" || s.a == "external_unspecified") {
				return "prompt_tokens_cached_by_source_total{source=\"" + s.a + "\"} is not 0"
			}
		}
		if transfers >= 0 && k.cells[transfers].counted && (!always || k.cells[transfers].value > 0) {
			return "it has a connector's nixl_xfer_time_seconds"
		}
		for _, s := range k.sources {
			if s.n > 0 && s.a == "external_kv_transfer" && len(k.caches) == 0 {
				return "prompt_tokens_by_source_total{source=\"external_kv_transfer\"} is not 0"
			}
		}
	}
	return ""
}

// http folds status codes into their groups, which is how vLLM's front ends print them already.
func (d *Decoder) http() []fact.HTTPCount {
	var rows []fact.HTTPCount
	for _, r := range d.rows {
		class := r.c
		if len(class) == 3 && '1' <= class[0] && class[0] <= '5' && class[1:] != "xx" {
			class = d.intern([]byte{class[0], 'x', 'x'})
		}
		row := fact.HTTPCount{Handler: r.a, Method: r.b, Class: class}
		i := slices.IndexFunc(rows, func(h fact.HTTPCount) bool {
			return h.Handler == row.Handler && h.Method == row.Method && h.Class == row.Class
		})
		if i < 0 {
			i = len(rows)
			rows = append(rows, row)
		}
		rows[i].Count += r.n
	}
	slices.SortFunc(rows, func(a, b fact.HTTPCount) int {
		return cmp.Or(cmp.Compare(a.Handler, b.Handler), cmp.Compare(a.Method, b.Method), cmp.Compare(a.Class, b.Class))
	})
	return rows
}
