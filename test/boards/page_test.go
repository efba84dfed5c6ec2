package boards

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// onePage is the world of what no simulated GPU has, such as errors of its memory: the page that the exporter's own tests hold it
// to is shown again and again, with counters that grow.
const onePage = "a page with GPUs"

// withoutGPUs are all worlds but that and the simulated node: a replay reads no GPUs.
var withoutGPUs = everywhere[:len(everywhere)-2]

// pageOverTime shows the committed page for 20 minutes, scraped as a Prometheus would. Each counter grows by a hundredth of what
// the page has of it, so that lower ends stay below upper ends. Histograms are left out: GPUs have none.
func pageOverTime(t *testing.T) []byte {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root(t), "exporter/testdata/page.prom"))
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	kind := ""
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSuffix(line, "\n")
		if declared, is := strings.CutPrefix(line, "# TYPE "); is {
			var family string
			family, kind, _ = strings.Cut(declared, " ")
			if kind == "counter" || kind == "gauge" {
				fmt.Fprintf(&b, "# TYPE %s %s\n", strings.TrimSuffix(family, "_total"), kind)
			}
			continue
		}
		if strings.HasPrefix(line, "#") || kind != "counter" && kind != "gauge" {
			continue
		}
		sample, value := stamped(t, line)
		for i := range 20*60/scrape + 1 {
			now := value
			if kind == "counter" {
				now += value / 100 * float64(i)
			}
			fmt.Fprintf(&b, "%s %s %s\n", sample, number(now), stamp(float64(i*scrape)))
		}
	}
	b.WriteString("# EOF\n")
	return b.Bytes()
}
