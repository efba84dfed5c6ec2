package engine

import (
	"bytes"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"strings"
	"testing"
	"unicode"
)

// FuzzDecode holds what any bytes must keep: no panic, memory in proportion to the page, the page unchanged, the same
// answer from a used decoder, and the same numbers as the Prometheus project's parser reads where both accept.
func FuzzDecode(f *testing.F) {
	files, err := filepath.Glob("../../testdata/samples/*.prom")
	if err != nil || len(files) == 0 {
		f.Fatalf("no samples (%v)", err)
	}
	for _, name := range files {
		body, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(body, bytes.HasSuffix(body, []byte("# EOF\n")))
	}
	for _, c := range cases {
		f.Add([]byte(c.page), c.contentType == openMetricsType)
	}
	for _, c := range refusals {
		f.Add([]byte(c.page), c.contentType == openMetricsType)
	}
	f.Add([]byte(histogramPage(wholeHistogram()...)), false)
	f.Fuzz(func(t *testing.T, body []byte, isOpenMetrics bool) {
		contentType := textPlain
		if isOpenMetrics {
			contentType = openMetricsType
		}
		before := bytes.Clone(body)
		// Not Decode, which turns a panic into a refusal.
		d := NewDecoder()
		var start, end runtime.MemStats
		runtime.ReadMemStats(&start)
		s, err := d.decode(body, contentType)
		runtime.ReadMemStats(&end)
		if !bytes.Equal(body, before) {
			t.Fatal("the page was changed")
		}
		if cost := end.TotalAlloc - start.TotalAlloc; cost > memoryBound(len(body)) {
			t.Errorf("a page of %d bytes allocated %d, more than %d", len(body), cost, memoryBound(len(body)))
		}
		if (s == nil) == (err == nil) {
			t.Fatalf("sample %+v and error %v", s, err)
		}
		again, errAgain := d.decode(body, contentType)
		if !reflect.DeepEqual(again, s) || !reflect.DeepEqual(errAgain, err) {
			t.Errorf("a used decoder reads %+v, %v; a fresh one %+v, %v", again, errAgain, s, err)
		}
		if err != nil {
			if msg := err.Error(); err.Reason == "" || len(msg) > 2000 || strings.ContainsFunc(msg, notPrintable) {
				t.Errorf("reason %q, message of %d bytes %q", err.Reason, len(msg), msg)
			}
			return
		}
		if d.warnings[warnType].n > 0 {
			return // expfmt takes a family for what its TYPE line says and reads other numbers of it
		}
		if all, err := expfmtReading(body); err == nil {
			if diff := disagreement(s, all); diff != "" {
				t.Error(diff)
			}
		}
	})
}

func notPrintable(r rune) bool { return !unicode.IsPrint(r) }

// memoryBound is what a page of n bytes may allocate. A rank costs the most for its bytes: cells and histograms of about
// 8 kB for a line of 40 bytes, but there are at most maxRanks of them. Rows and buckets cost about as much as their
// lines, a few times over while their slices grow.
func memoryBound(n int) uint64 { return 32*uint64(n) + maxRanks*8<<10 + 1<<20 }
