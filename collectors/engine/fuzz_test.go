package engine

import (
	"bytes"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"unicode"

	"github.com/goodput-exporter/goodput-exporter/exporter/fact"
)

// FuzzDecode holds what any bytes must keep: no panic, memory in proportion to the page, the page unchanged, the same
// answer from a used decoder, and the same numbers as the Prometheus project's parser reads where both accept.
func FuzzDecode(f *testing.F) {
	files, err := filepath.Glob("../../testdata/samples/*.prom")
	if err != nil || len(files) == 0 {
		f.Fatalf("no samples (%v)", err)
	}
	for _, name := range append(files, "testdata/sglang.prom") {
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
		consistent(t, s)
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

// consistent checks what holds of every sample, whatever the page.
func consistent(t *testing.T, s *fact.EngineSample) {
	t.Helper()
	if len(s.Ranks) == 0 || len(s.Ranks) > maxRanks || s.Dialect == "" {
		t.Fatalf("%d ranks, dialect %q, version %q", len(s.Ranks), s.Dialect, s.Version)
	}
	for i := range s.Ranks {
		r := &s.Ranks[i]
		if i > 0 && (r.Model < s.Ranks[i-1].Model || r.Model == s.Ranks[i-1].Model && r.Name <= s.Ranks[i-1].Name) {
			t.Fatalf("ranks out of order or twice: %q/%q after %q/%q", r.Model, r.Name, s.Ranks[i-1].Model, s.Ranks[i-1].Name)
		}
		for _, n := range []fact.Number{r.Requests, r.PromptTokens, r.OutputTokens, r.Preemptions, r.Running, r.Waiting, r.KVUsage} {
			if n.Known && !(n.V >= 0 && !math.IsInf(n.V, 0)) || !n.Known && n.V != 0 {
				t.Fatalf("number %+v", n)
			}
		}
		for _, h := range r.Histograms {
			if h.Known() && len(h.Counts) != len(h.Edges)+1 || math.IsNaN(h.Sum) {
				t.Fatalf("histogram %+v", h)
			}
		}
	}
}

// FuzzNumber holds the quick reading of short decimals to strconv's, bit for bit.
func FuzzNumber(f *testing.F) {
	for _, s := range []string{"0", "-0", "44.0", "1.7960007426048532e+09", "1e+010", "0.1", "-12.50", "123456789012345", "0.000000000000001",
		"1.", ".5", ".", "-", "", "NaN", "-nan", "+Inf", "0x1p3", "1_0", "1e400", "9007199254740993", "99999999999999.9"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		got, err := number([]byte(s))
		want, wantErr := strconv.ParseFloat(s, 64)
		switch {
		case strings.EqualFold(s, "-nan"), strings.EqualFold(s, "+nan"):
			want, wantErr = math.NaN(), nil
		case strings.ContainsAny(s, "xXpP_"), len(s) > 64:
			wantErr = errNumber
		}
		if (err != nil) != (wantErr != nil) {
			t.Fatalf("%q: error %v, want %v", s, err, wantErr)
		}
		if err == nil && math.Float64bits(got) != math.Float64bits(want) && !(math.IsNaN(got) && math.IsNaN(want)) {
			t.Fatalf("%q: %v, want %v", s, got, want)
		}
	})
}
