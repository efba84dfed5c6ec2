package exporter

import (
	"bytes"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"

	"github.com/goodput-exporter/goodput-exporter/exporter/catalog"
	"github.com/goodput-exporter/goodput-exporter/exporter/fact"
	"github.com/goodput-exporter/goodput-exporter/exporter/fold"
	"github.com/goodput-exporter/goodput-exporter/exporter/hist"
)

// TestNothingIsSaidOfSpansWhereNoneAreTaken: the page of the fixture without an intake is the page of a fixture without
// spans, but for what is promised of classes.
func TestNothingIsSaidOfSpansWhereNoneAreTaken(t *testing.T) {
	e := polledOnce(t, sound, io.Discard)
	e.config.Inputs = nil
	_, body := get(t, serve(t, e), "/metrics", acceptText)
	for _, s := range series(body) {
		name := s[:strings.IndexAny(s+"{", "{")]
		about := strings.HasPrefix(name, "goodput_span") || strings.HasPrefix(name, "goodput_evidence_") && !strings.Contains(s, `source="pages"`) || strings.Contains(s, `source="spans"`)
		if about || slices.Contains(evidenceNames[6:], name) || slices.Contains(classNames, name) || slices.Contains(tokenNames, name) {
			t.Errorf("%s is on the page", s)
		}
	}
	if !strings.Contains(body, `goodput_evidence_conflicts_total{engine="a",source="pages"} 1`) {
		t.Error("the conflicts of pages are not on the page")
	}
}

// TestSpanHistogramsGoBothWays scrapes the page as Prometheus does that takes native histograms, and as one that does
// not.
func TestSpanHistogramsGoBothWays(t *testing.T) {
	base := serve(t, polledOnce(t, sound, io.Discard))
	h := scraped(t, base)[catalog.SpanTTFT].Metric[0].Histogram
	if h.GetSchema() != 3 || h.GetZeroThreshold() != 1e-6 || h.GetSampleCount() != 90 || h.GetSampleSum() != 22 || h.CreatedTimestamp == nil {
		t.Errorf("native: %v", h)
	}
	native := map[int32]uint64{}
	eachNative(h, func(index int32, count uint64) { native[index] += count })
	if native[-18] != 80 || native[-8] != 9 || native[5] != 1 {
		t.Errorf("native buckets %v", native)
	}
	if len(h.Bucket) != 3 || h.Bucket[0].GetUpperBound() != 0.25 || h.Bucket[0].GetCumulativeCount() != 80 || !math.IsInf(h.Bucket[2].GetUpperBound(), 1) || h.Bucket[2].GetCumulativeCount() != 90 {
		t.Errorf("classic: %v", h.Bucket)
	}
	if e := h.Bucket[0].Exemplar; e.GetLabel()[0].GetName() != "trace_id" || e.GetLabel()[0].GetValue() != "01000000000000000000000000000001" || e.GetValue() != 0.2 || e.Timestamp.AsTime().Unix() != startedAt+590 {
		t.Errorf("exemplar %v", e)
	}
	if h.Bucket[1].Exemplar != nil {
		t.Errorf("exemplar %v of a bucket without one", h.Bucket[1].Exemplar)
	}
	_, text := get(t, base, "/metrics", acceptText)
	_, open := get(t, base, "/metrics", acceptOpenMetric)
	for want, page := range map[string]string{
		`goodput_span_ttft_seconds_bucket{engine="a",model="llama-3",le="1"} 89` + "\n":                                                                       text,
		`goodput_span_ttft_seconds_bucket{engine="a",model="llama-3",le="+Inf"} 90` + "\n":                                                                    text,
		`goodput_span_tpot_seconds_bucket{engine="a",model="llama-3",le="0.025"} 80` + "\n":                                                                   open, // its trace is not known
		`goodput_span_ttft_seconds_bucket{engine="a",model="llama-3",le="0.25"} 80 # {trace_id="01000000000000000000000000000001"} 0.2 1.70000059e+09` + "\n": open,
		`goodput_span_e2e_seconds_bucket{engine="a",model="llama-3",le="+Inf"} 90 # {trace_id="03000000000000000000000000000003"} 2.1 1.70000059e+09` + "\n":  open,
		`goodput_spans_received_total{outcome="taken"} 99` + "\n":                                                                                             text,
		`goodput_span_messages_total{outcome="other",protocol="http"} 1` + "\n":                                                                               text,
		`goodput_evidence_completeness_ratio{engine="a",model="llama-3",source="spans"} 0.75` + "\n":                                                          text,
		`failed="bad",lost="bad",match_model="llama.*",population="sequences",retries="attempts",slo="chat",success="length,stop",window="30d"} 1` + "\n":     text,
	} {
		if !strings.Contains(page, want) {
			t.Errorf("%q is not on the page", want)
		}
	}
}

// eachNative calls f with each bucket of a native histogram that is written out.
func eachNative(h *dto.Histogram, f func(index int32, count uint64)) {
	index, at, count := int32(0), 0, int64(0)
	for _, s := range h.PositiveSpan {
		index += s.GetOffset()
		for range s.GetLength() {
			count += h.PositiveDelta[at]
			f(index, uint64(count))
			index, at = index+1, at+1
		}
	}
}

// TestNativeAndClassicAreTheSameValues: random values, told both ways, are as many, and a native bucket that lies on
// one side of a threshold has its values counted on that side.
func TestNativeAndClassicAreTheSameValues(t *testing.T) {
	for seed := range uint64(50) {
		rng := rand.New(rand.NewPCG(seed, 7))
		h := &fold.SpanHistogram{Since: startedAt, Native: hist.NewNative(), Edges: []float64{0.1, 0.25, 1, 30}, Counts: make([]uint64, 5), Newest: make([]fold.Exemplar, 5)}
		for range rng.IntN(2000) {
			v := math.Exp(rng.NormFloat64()*3 - 1)
			h.Native.Observe(v)
			i, _ := slices.BinarySearch(h.Edges, v)
			h.Counts[i]++
			h.Newest[i] = fold.Exemplar{Value: v, Trace: [16]byte{byte(seed), 1}, At: startedAt}
		}
		out := bothHistograms(h)
		total := out.GetZeroCount()
		below := make([]uint64, len(h.Edges))
		eachNative(out, func(index int32, count uint64) {
			total += count
			for i, edge := range h.Edges {
				if _, upper := h.Native.Bounds(index); upper <= edge {
					below[i] += count
				}
			}
		})
		if total != out.GetSampleCount() {
			t.Fatalf("seed %d: %d native, %d in all", seed, total, out.GetSampleCount())
		}
		for i := range h.Edges {
			b := out.Bucket[i]
			if n := below[i] + out.GetZeroCount(); n > b.GetCumulativeCount() {
				t.Fatalf("seed %d: native says %d below %v, classic %d", seed, n, h.Edges[i], b.GetCumulativeCount())
			}
			if e := b.Exemplar; e != nil && (e.GetValue() > b.GetUpperBound() || i > 0 && e.GetValue() <= h.Edges[i-1]) {
				t.Fatalf("seed %d: exemplar %v in the bucket up to %v", seed, e.GetValue(), b.GetUpperBound())
			}
		}
	}
}

// TestWordsFromOutsideStayWords: whatever an intake or a snapshot calls its reasons, labels have words of closed sets.
func TestWordsFromOutsideStayWords(t *testing.T) {
	s := fixture()
	in := soundIntake()
	in.Spans, in.Refused, in.Messages = nil, nil, nil
	for i := range 1000 {
		word := strings.Repeat("x", i+1)
		in.Spans, in.Refused = append(in.Spans, fold.Tally{Name: word, Count: 1}), append(in.Refused, fold.Tally{Name: word, Count: 1})
		in.Messages = append(in.Messages, MessageTally{"http", word, 1}, MessageTally{word, "ok", 1})
		s.Unmatched.Counts = append(s.Unmatched.Counts, fold.Tally{Name: word, Count: 1})
		s.Engines[0].Spans.Matched = append(s.Engines[0].Spans.Matched, fold.Tally{Name: word, Count: 1})
	}
	p := &page{families: newFamilies()}
	got := p.part(func() {
		collectIntake(p, in, startedAt)
		collectUnmatched(p, &s.Unmatched, startedAt)
		collectEvidence(p, &s.Engines[0])
	})
	if got.series > 40 {
		t.Errorf("%d series", got.series)
	}
}

func TestEveryReasonHasARemedy(t *testing.T) {
	for _, reason := range []string{fold.UnmatchedEngine, fold.UnmatchedPod, fold.UnmatchedAmbiguous, fold.UnmatchedNothing, fold.UnmatchedNoTarget} {
		meaning, remedy := catalog.UnmatchedMeaning(reason)
		if meaning == "" || remedy == "" {
			t.Errorf("%q: %q, %q", reason, meaning, remedy)
		}
		if help := newFamilies()[catalog.SpansUnmatched].Help(); !strings.Contains(help, " "+reason+" (") {
			t.Errorf("the HELP does not explain %q: %s", reason, help)
		}
	}
	if meaning, remedy := catalog.UnmatchedMeaning("other"); meaning != "" || remedy != "" {
		t.Error("a word that is none has a remedy")
	}
}

// TestTracesAreReadable: on /debug/round as in the backend of traces.
func TestTracesAreReadable(t *testing.T) {
	if got := readable(reflect.ValueOf(fold.Exemplar{Trace: [16]byte{1, 15: 0xab}})).(map[string]any)["trace"]; got != "010000000000000000000000000000ab" {
		t.Errorf("%v", got)
	}
}

func TestSpanHistogramsMustFit(t *testing.T) {
	p := &page{families: newFamilies()}
	out := p.part(func() {
		p.spanHistogram(catalog.SpanTTFT, &fold.SpanHistogram{Edges: []float64{1}, Counts: []uint64{1}}, "a", "")
	})
	if err := out.metrics[0].Write(&dto.Metric{}); err == nil || !strings.Contains(err.Error(), "1 counts and 0 exemplars for 1 edges") {
		t.Errorf("error %v", err)
	}
}

// TestPromtoolTakesThePage gives every declared series to promtool: to its lint, and as OpenMetrics with exemplars to be
// made into blocks.
func TestPromtoolTakesThePage(t *testing.T) {
	tool, err := exec.LookPath("promtool")
	if err != nil {
		t.Log("promtool is not installed: the page is not given to it here")
		return
	}
	families := gather(t, snapshotCollector(fixture()))
	check := exec.Command(tool, "check", "metrics")
	check.Stdin = strings.NewReader(encode(t, families, expfmt.NewFormat(expfmt.TypeTextPlain)))
	out, _ := check.CombinedOutput()
	for line := range strings.Lines(string(out)) {
		if !strings.HasPrefix(line, catalog.HistogramLayouts+" ") { // its name is about histograms, and it is stable
			t.Error(line)
		}
	}
	for _, mf := range families {
		for _, m := range mf.Metric {
			m.TimestampMs = new(int64((startedAt + 600) * 1000))
		}
	}
	var open bytes.Buffer
	e := expfmt.NewEncoder(&open, expfmt.NewFormat(expfmt.TypeOpenMetrics)) // without _created lines, which cannot have a time
	for _, mf := range families {
		if err := e.Encode(mf); err != nil {
			t.Fatal(err)
		}
	}
	open.WriteString("# EOF\n")
	if !strings.Contains(open.String(), `# {trace_id="`) {
		t.Error("no exemplar is on the page")
	}
	file := filepath.Join(t.TempDir(), "page.om")
	if err := os.WriteFile(file, open.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command(tool, "tsdb", "create-blocks-from", "openmetrics", file, t.TempDir()).CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

var _ prometheus.Metric = (*bothWays)(nil)

// A histogram of values that lie in all buckets, as an engine has it under load.
func BenchmarkSpanHistogram(b *testing.B) {
	h := soundSpans().Histograms[fact.TTFT]
	p := &page{families: newFamilies()}
	b.ReportAllocs()
	for b.Loop() {
		p.part(func() { p.spanHistogram(catalog.SpanTTFT, h, "a", "m") })
	}
}
