package fold

import (
	"fmt"
	"testing"

	"github.com/goodput-exporter/goodput-exporter/exporter/fact"
)

func TestXIDs(t *testing.T) {
	list := func(pairs ...uint64) (out []fact.XIDCount) {
		for i := 0; i < len(pairs); i += 2 {
			out = append(out, fact.XIDCount{XID: int(pairs[i]), Count: pairs[i+1]})
		}
		return out
	}
	shown := func(xids ...uint64) (out []fact.XIDCount) {
		for _, x := range xids {
			out = append(out, fact.XIDCount{XID: int(x), Count: 1})
		}
		return out
	}
	for name, c := range map[string]struct {
		last bool // a source that shows the last one
		told [][]fact.XIDCount
		want string
	}{
		"those before the first reading are not counted":        {told: [][]fact.XIDCount{list(31, 4)}, want: "[{31 0}]"},
		"counts are followed":                                   {told: [][]fact.XIDCount{list(31, 4), list(31, 6), list(31, 7, 79, 1)}, want: "[{31 3} {79 1}]"},
		"a source that starts to count anew":                    {told: [][]fact.XIDCount{list(31, 4), list(31, 6), list(31, 1)}, want: "[{31 3}]"},
		"a source that starts anew with none, and then has one": {told: [][]fact.XIDCount{list(31, 4), nil, list(31, 1)}, want: "[{31 1}]"},
		"the last one, which stays":                             {last: true, told: [][]fact.XIDCount{shown(31), shown(31), shown(31)}, want: "[{31 0}]"},
		"the last one, where there was none":                    {last: true, told: [][]fact.XIDCount{nil, shown(79), shown(79)}, want: "[{79 1}]"},
		"another last one":                                      {last: true, told: [][]fact.XIDCount{shown(31), shown(79), shown(79), shown(31)}, want: "[{31 1} {79 1}]"},
		"the last one, again after there was none":              {last: true, told: [][]fact.XIDCount{nil, shown(79), nil, shown(79)}, want: "[{79 2}]"},
		"what is no XID is no row":                              {told: [][]fact.XIDCount{nil, list(1000, 1), {{XID: -1, Count: 1}}}, want: "[]"},
	} {
		t.Run(name, func(t *testing.T) {
			n := nodeOf(t)
			for i, told := range c.told {
				g := card("GPU-a", 0)
				g.XIDs, g.XIDsCounted = told, !c.last
				n.read(100+float64(5*i), g)
			}
			equal(t, "errors", fmt.Sprint(n.gpu("GPU-a").Errors), c.want)
		})
	}
	t.Run("the error that took a card away is counted", func(t *testing.T) {
		gone := lost(card("GPU-a", 0))
		gone.XIDsCounted = true
		n := nodeOf(t).read(100, card("GPU-a", 0)).read(105, counting(gone, 79, 1))
		equal(t, "errors", fmt.Sprint(n.gpu("GPU-a").Errors), "[{79 1}]")
	})
	t.Run("another source tells of old errors too", func(t *testing.T) {
		page := reading(105, counting(card("GPU-a", 0), 31, 1))
		page.Source, page.GPUs[0].XIDsCounted = "dcgm-exporter", false
		n := nodeOf(t).read(100, card("GPU-a", 0)).round(105, page, nil)
		n.read(110, counting(card("GPU-a", 0), 31, 8)).read(115, counting(card("GPU-a", 0), 31, 9))
		equal(t, "errors", fmt.Sprint(n.gpu("GPU-a").Errors), "[{31 1}]")
	})
	t.Run("another source that counts too began to at another time", func(t *testing.T) {
		n := nodeOf(t).read(100, counting(card("GPU-a", 0), 31, 2))
		for i, count := range []uint64{8, 9} {
			page := reading(105+float64(5*i), counting(card("GPU-a", 0), 31, count))
			page.Source = "dcgm-exporter"
			n.round(page.At, page, nil)
		}
		equal(t, "errors", fmt.Sprint(n.gpu("GPU-a").Errors), "[{31 1}]")
	})
	t.Run("a source that stops to count shows an old one", func(t *testing.T) {
		g := counting(card("GPU-a", 0), 31, 1)
		g.XIDsCounted = false
		n := nodeOf(t).read(100, card("GPU-a", 0)).read(105, g).read(110, g)
		equal(t, "errors", fmt.Sprint(n.gpu("GPU-a").Errors), "[{31 0}]")
	})
	t.Run("a card that is missing for a while brings its last error back, not a new one", func(t *testing.T) {
		g := counting(card("GPU-a", 0), 31, 1)
		g.XIDsCounted = false
		n := nodeOf(t).read(100, g).read(105).read(110, g).read(115, lost(g)).read(120, g)
		equal(t, "errors", fmt.Sprint(n.gpu("GPU-a").Errors), "[{31 0}]")
	})
}
