package engine

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"testing"

	"github.com/goodput-exporter/goodput-exporter/exporter/fact"
)

// FuzzDecode holds three claims on any bytes: no panic (guard would hide one, so it is looked for in the message), a
// sample or a reason and never both, and for what both readers accept the numbers of expfmt.
func FuzzDecode(f *testing.F) {
	for _, name := range append([]string{"vllm-v0-0.6.6", "llm-d-inference-sim"}, samplesRead...) {
		body, contentType := sample(f, name)
		f.Add(body, contentType)
	}
	for _, c := range cases {
		f.Add([]byte(c.page), c.contentType)
	}
	for _, c := range refusals {
		if len(c.page) < 4096 {
			f.Add([]byte(c.page), c.contentType)
		}
	}
	f.Fuzz(func(t *testing.T, body []byte, contentType string) {
		d := NewDecoder()
		s, err := d.Decode(body, contentType)
		if (s == nil) != (err != nil) {
			t.Fatalf("sample %v, error %v", s, err)
		}
		if err != nil {
			refused(t, err)
			return
		}
		consistent(t, s)
		again, err := d.Decode(body, contentType)
		if err != nil {
			t.Fatalf("read once and then not: %v", err)
		}
		if a, b := fmt.Sprintf("%+v", *s), fmt.Sprintf("%+v", *again); a != b {
			t.Fatalf("the second reading differs:\n%s\n%s", a, b)
		}
		// expfmt's text parser reads OpenMetrics but for exemplars and fractional timestamps, which it refuses.
		if all, err := expfmtReading(body); err == nil {
			if diff := disagreement(s, all); diff != "" {
				t.Fatal(diff)
			}
		}
	})
}

func refused(t *testing.T, err error) {
	t.Helper()
	e, ok := err.(*Error)
	if !ok || e.Reason == "" || e.Msg == "" {
		t.Fatalf("not an *Error with a reason: %#v", err)
	}
	text := err.Error()
	if strings.Contains(text, "a bug in it") {
		t.Fatalf("panic: %s", text)
	}
	if strings.ContainsAny(text, "\n\r") || len(text) > 1000 {
		t.Fatalf("not one line: %q", text)
	}
}

// consistent checks what holds of every sample, whatever the page.
func consistent(t *testing.T, s *fact.EngineSample) {
	t.Helper()
	if len(s.Ranks) == 0 || len(s.Ranks) > maxRanks || s.Dialect == "" || s.Version == "" {
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
