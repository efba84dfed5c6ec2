package engine

import (
	"slices"
	"strings"
)

// About is what a person should know of the dialect of a page.
type About struct {
	Who    string   // who writes such pages
	Sign   string   // how they are recognised
	Unlike []string // what differs from vLLM's V1 page, and what that costs
}

// AboutDialect tells about the dialect of a sample; false for a name that is none.
func AboutDialect(name string) (About, bool) {
	for i := range dialects {
		if d := &dialects[i]; d.name == name {
			// The table is read from above; here the row stands alone.
			sign := strings.Replace(d.sign, "none of the signs above", "no sign of another dialect", 1)
			return About{Who: d.who, Sign: sign, Unlike: slices.Clone(d.unlike)}, true
		}
	}
	return About{}, false
}
