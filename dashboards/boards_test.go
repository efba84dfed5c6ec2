package dashboards

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/grafana/grafana-foundation-sdk/go/dashboard"

	"github.com/goodput-exporter/goodput-exporter/internal/golden"
)

// TestCommitted holds the committed JSON to the code.
func TestCommitted(t *testing.T) {
	boards, err := Build()
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range boards {
		golden.Compare(t, b.File, b.JSON)
	}
}

// TestSchema reads the boards back with Grafana's own types: no key that the schema does not have, no value out of it.
func TestSchema(t *testing.T) {
	boards, err := Build()
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range boards {
		var d dashboard.Dashboard                                                  //lint:ignore SA1019 the classic format is what Grafana 10 and 11 read
		if err := d.UnmarshalJSONStrict(b.JSON); err != nil && err.Error() != "" { // the library makes an empty list of no mistakes
			t.Errorf("%s: %v", b.File, err)
		}
		if err := d.Validate(); err != nil {
			t.Errorf("%s: %v", b.File, err)
		}
		broken := bytes.Replace(b.JSON, []byte(`"graphTooltip"`), []byte(`"graphTootip"`), 1)
		if err := d.UnmarshalJSONStrict(broken); err == nil || err.Error() == "" {
			t.Errorf("%s: a misspelt key went through", b.File)
		}
	}
}

// TestBoards holds the boards as wholes to what links and imports need.
func TestBoards(t *testing.T) {
	boards := committed(t)
	for i, uid := range []string{"goodput-promise", "goodput-engine", "goodput-gpu"} {
		b := boards[i]
		if b.UID != uid {
			t.Errorf("%s: the uid is %q; bookmarks and links have %q", b.Title, b.UID, uid)
		}
		if b.SchemaVersion > 38 {
			t.Errorf("%s: schema %d is newer than Grafana 10.0", b.Title, b.SchemaVersion)
		}
		if len(b.Links) != 1 || !b.Links[0].IncludeVars || !b.Links[0].KeepTime || !slices.Equal(b.Links[0].Tags, []string{"goodput"}) {
			t.Errorf("%s: the link to the other board loses variables or time: %+v", b.Title, b.Links)
		}
		all := ""
		for _, p := range b.Panels {
			for _, target := range p.Targets {
				all += target.Expr + "\n"
			}
		}
		for _, v := range b.Templating.List {
			if v.Type == "query" && (!v.Multi || !v.IncludeAll) {
				t.Errorf("%s: %s has not several values and All", b.Title, v.Name)
			}
			if v.Type == "query" && v.Name != "model" && !strings.Contains(all, "$"+v.Name) {
				t.Errorf("%s: no panel depends on %s", b.Title, v.Name)
			}
		}
	}
}

// TestLayout holds panels to the grid: inside its width, none over another, no id twice.
func TestLayout(t *testing.T) {
	for _, b := range committed(t) {
		taken, ids := map[[2]int]string{}, map[int]bool{}
		for _, p := range b.Panels {
			if ids[p.ID] || p.ID == 0 {
				t.Errorf("%s, %q: id %d is taken", b.Title, p.Title, p.ID)
			}
			ids[p.ID] = true
			if g := p.GridPos; g.W < 1 || g.H < 1 || g.X+g.W > 24 {
				t.Errorf("%s, %q: does not fit: %+v", b.Title, p.Title, g)
			}
			for x := p.GridPos.X; x < p.GridPos.X+p.GridPos.W; x++ {
				for y := p.GridPos.Y; y < p.GridPos.Y+p.GridPos.H; y++ {
					if other := taken[[2]int{x, y}]; other != "" {
						t.Fatalf("%s: %q lies over %q", b.Title, p.Title, other)
					}
					taken[[2]int{x, y}] = p.Title
				}
			}
		}
	}
}

// TestNamesComeFromTheCatalogue looks through the sources for a name of a series that is written out.
func TestNamesComeFromTheCatalogue(t *testing.T) {
	written := regexp.MustCompile(`["` + "`" + `][^"` + "`" + `]*(goodput_[a-z]|vllm:)`)
	if !written.MatchString(`rate("goodput_slo_requests_total")`) {
		t.Fatal("the pattern finds nothing")
	}
	files, err := filepath.Glob("*.go")
	if err != nil || len(files) < 5 {
		t.Fatalf("sources: %v, %v", files, err)
	}
	for _, f := range files {
		if strings.HasSuffix(f, "_test.go") {
			continue
		}
		text, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		for i, l := range strings.Split(string(text), "\n") {
			if found := written.FindString(l); found != "" {
				t.Errorf("%s:%d: %s: take the name from the catalogue", f, i+1, found)
			}
		}
	}
}
