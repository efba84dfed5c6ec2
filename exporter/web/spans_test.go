package web

import (
	"math"
	"strings"
	"testing"

	"github.com/goodput-exporter/goodput-exporter/exporter/fact"
	"github.com/goodput-exporter/goodput-exporter/exporter/fold"
	"github.com/goodput-exporter/goodput-exporter/exporter/hist"
	"github.com/goodput-exporter/goodput-exporter/exporter/slo"
)

func TestBackingIsSaid(t *testing.T) {
	window := func(evidence fold.Evidence, lower, upper, seen uint64, conflict bool) fold.Verdict {
		return fold.Verdict{Judged: true, Lower: lower, Upper: upper, Requests: known(100), Sequences: known(100), Evidence: evidence,
			Spans: fold.WindowSpans{Expected: evidence != fold.EvidenceHistogram || conflict, Seen: seen, Conflict: conflict}}
	}
	page, both := window(fold.EvidenceHistogram, 80, 90, 0, false), window(fold.EvidenceBoth, 80, 85, 60, false)
	for name, c := range map[string]struct {
		windows []fold.Verdict
		want    string
	}{
		"no window":                      {nil, ""},
		"a window that was not judged":   {[]fold.Verdict{{Sequences: known(9)}}, ""},
		"empty windows":                  {[]fold.Verdict{{Judged: true}, {Judged: true, Spans: fold.WindowSpans{Expected: true}}}, "empty: nothing was to be judged"},
		"one that is empty":              {[]fold.Verdict{{Judged: true}, window(fold.EvidenceHistogram, 90, 90, 0, false)}, "lower = upper, from histograms"},
		"one number although few spans":  {[]fold.Verdict{window(fold.EvidenceBoth, 90, 90, 93, false)}, "lower = upper, from histograms and spans, although only 93.0 % of sequences have a span"},
		"one number although no spans":   {[]fold.Verdict{{Judged: true, Lower: 9, Upper: 9, Requests: known(9), Sequences: known(9), Spans: fold.WindowSpans{Expected: true}}}, "lower = upper, from histograms, although no sequence has a span"},
		"histograms alone":               {[]fold.Verdict{page, page}, "from histograms"},
		"histograms that tell exactly":   {[]fold.Verdict{window(fold.EvidenceHistogram, 90, 90, 0, false)}, "lower = upper, from histograms"},
		"some spans":                     {[]fold.Verdict{both}, "from histograms and spans; 60.0 % of sequences have a span"},
		"all spans":                      {[]fold.Verdict{window(fold.EvidenceBoth, 80, 80, 100, false)}, "lower = upper, from histograms and spans; all sequences have a span"},
		"all but one of a thousand":      {[]fold.Verdict{window(fold.EvidenceBoth, 80, 80, 100, false), window(fold.EvidenceBoth, 80, 81, 99, false)}, "from histograms and spans; 99.5 % of sequences have a span"},
		"spans in some windows":          {[]fold.Verdict{page, both}, "from histograms, in 1 of 2 windows from spans too; 30.0 % of sequences have a span"},
		"spans alone":                    {[]fold.Verdict{window(fold.EvidenceSpans, 80, 80, 100, false)}, "lower = upper, from spans alone: the histograms have no edge at a threshold; all sequences have a span"},
		"spans that contradict the page": {[]fold.Verdict{window(fold.EvidenceHistogram, 80, 90, 100, true)}, "from histograms; all sequences have a span; in 1 window the spans contradict the page, which was believed"},
	} {
		t.Run(name, func(t *testing.T) {
			var b backing
			for i := range c.windows {
				b.add(&c.windows[i])
			}
			if got := strings.ReplaceAll(b.words(), nbsp, " "); got != c.want {
				t.Errorf("%q, want %q", got, c.want)
			}
		})
	}
}

// TestOwnClausesAreTold: only of a class that has other ones.
func TestOwnClausesAreTold(t *testing.T) {
	o := classed()
	if got := promise(o); !strings.HasSuffix(got, ", but for long with clauses of their own") {
		t.Error(got)
	}
	o.Classes.List[1].Clauses = o.Clauses
	if got := promise(o); strings.Contains(got, "but for") {
		t.Error(got)
	}
}

func TestClassesSayWhatTheyTake(t *testing.T) {
	tokens := slo.Classes{By: slo.ByPromptTokens, List: []slo.Class{{Name: "s", AtMost: 500}, {Name: "m", AtMost: 2000}, {Name: "l"}}}
	alone := slo.Classes{By: slo.ByOutputTokens, List: []slo.Class{{Name: "any"}}}
	tenants := slo.Classes{By: slo.ByAttribute, Attribute: "tenant", List: []slo.Class{{Name: "gold", Values: []string{"a", "b"}}, {Name: slo.ClassOther}}}
	for _, c := range []struct {
		classes slo.Classes
		i       int
		want    string
	}{
		{tokens, 0, "up to 500 prompt tokens"}, {tokens, 1, "501 to 2,000 prompt tokens"}, {tokens, 2, "more than 2,000 prompt tokens"}, {alone, 0, "any number of output tokens"},
		{tenants, 0, "tenant is a and b"}, {tenants, 1, "what no other class takes"},
	} {
		if got := classTakes(&c.classes, c.i); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}

// TestClassSharesAreSumsOfCounts: two engines, one of which saw little.
func TestClassSharesAreSumsOfCounts(t *testing.T) {
	o := classed()
	o.Classes.List = o.Classes.List[:1]
	o.Classes.List[0].Name = "short"
	sum := addClasses(nil, []fold.Class{{Name: "short", Seen: 90, Lower: 90, Upper: 90, TokensLower: 900}, {Name: slo.ClassOther, Seen: 1}})
	sum = addClasses(sum, []fold.Class{{Name: "short", Seen: 5, Unseen: 5, Lower: 0, Upper: 5}, {Name: slo.ClassOther, Unseen: 5, Upper: 5}})
	rows := classRows("m", o, &tally{}, &tally{classes: sum})
	if len(rows) != 2 || rows[0].Hour != "90.0 to 95.0"+nbsp+"%" || rows[0].Sequences != "95 to 100" || rows[0].Now != "nothing was seen" || rows[0].Tokens != "at least 900" {
		t.Errorf("%+v", rows)
	}
}

func TestTokensAreOfAllThatFinished(t *testing.T) {
	var now, hour tally
	hour.tokens.Add(fold.Tokens{Known: true, Lower: 500, Upper: 600, MissedLower: 400, MissedUpper: 500})
	hour.tokens.Add(fold.Tokens{})
	hour.tokens.Add(fold.Tokens{Known: true, Lower: 1000, Upper: 1000})
	rows := tokenRows("m", &now, &hour)
	if len(rows) != 1 || rows[0].When != "hour" || rows[0].Of != "2,000" || rows[0].Qualified != "1,500 to 1,600 (75.0 to 80.0"+nbsp+"%)" || rows[0].Missed != "400 to 500 (20.0 to 25.0"+nbsp+"%)" {
		t.Errorf("%+v", rows)
	}
}

// TestSpreadIsExactAtThresholds also holds that a quantile is told as the bucket that holds it.
func TestSpreadIsExactAtThresholds(t *testing.T) {
	h := &fold.SpanHistogram{Since: now - 60, Native: hist.NewNative(), Edges: []float64{0.25}, Counts: []uint64{3, 1}}
	for _, v := range []float64{0, 0.1, 0.25, 0.3} {
		h.Native.Observe(v)
	}
	s := maker(viewOf(), chat()).spread(fact.TTFT, h, []*slo.Objective{chat()})
	if want := (term{"within 250" + nbsp + "ms", "75.0" + nbsp + "%, the threshold of chat"}); len(s.Shares) != 1 || s.Shares[0] != want {
		t.Errorf("%v", s.Shares)
	}
	if len(s.Limits) != 1 || len(s.Bars) != 4 || s.Note != "4 sequences with a span since 07:59 UTC." {
		t.Errorf("%+v", s)
	}
	for q, value := range map[float64]float64{0.25: 0, 0.5: 0.1, 0.75: 0.25, 0.76: 0.3, 1: 0.3} {
		if low, high := quantileBucket(h, q); value > high || value <= low && value > 0 {
			t.Errorf("the quantile %v is %v, told as %v to %v", q, value, low, high)
		}
	}
	if low, high := quantileBucket(&fold.SpanHistogram{}, 0.5); low != 0 || !math.IsInf(high, 1) {
		t.Errorf("nothing has a quantile: %v to %v", low, high)
	}
}

// TestManyBucketsAreJoined: nothing is lost, and few bars are drawn.
func TestManyBucketsAreJoined(t *testing.T) {
	h := &fold.SpanHistogram{Native: hist.NewNative()}
	for i := range 1000 {
		h.Native.Observe(math.Exp(float64(i-500) / 40))
	}
	bs := bars(h)
	sum := uint64(0)
	for i, b := range bs {
		sum += b.count
		if i > 0 && b.low != bs[i-1].high {
			t.Errorf("bar %d begins at %v, the one before ends at %v", i, b.low, bs[i-1].high)
		}
	}
	if sum != 1000 || len(bs) > mostBars {
		t.Errorf("%d in %d bars", sum, len(bs))
	}
}

// TestWindowsSayWhatTheyRestOn: on the engine's page, by window.
func TestWindowsSayWhatTheyRestOn(t *testing.T) {
	v := observed()
	table := windowsOf(&v.Snapshot.Engines[0], []*slo.Objective{classed()}, now)
	newest, fifth, odd := table.Rows[0], table.Rows[4], table.Rows[29]
	if c := newest.Goodput[0]; !table.Spans || !c.Exact || c.Evidence != "" || c.Text != "60 of 120" || newest.Spans != "120" {
		t.Errorf("%+v", newest)
	}
	if c := fifth.Goodput[0]; c.Exact || c.Text != "60 to 72 of 120" || fifth.Spans != "96 (2)" {
		t.Errorf("%+v", fifth)
	}
	if c := odd.Goodput[0]; c.Evidence != "contradicted" {
		t.Errorf("%+v", odd)
	}
	if table := windowsOf(&v.Snapshot.Engines[1], []*slo.Objective{classed()}, now); table.Spans || table.Rows[0].Goodput[0].Evidence != "histograms" {
		t.Errorf("%+v", table.Rows[0])
	}
}

// TestExactStretchesAreMarked: neighbours are one strip, and a sum that lacks an engine is not exact.
func TestExactStretchesAreMarked(t *testing.T) {
	a := timeAxis{0, 600}
	lower := []stretch{{0, 60, 1, nil}, {60, 120, 2, nil}, {120, 180, 1, nil}, {180, 240, 3, []int{0}}, {240, 300, 1, nil}}
	upper := []stretch{{0, 60, 1, nil}, {60, 120, 2, nil}, {120, 180, 2, nil}, {180, 240, 3, []int{0}}, {240, 300, 1, nil}}
	work := []stretch{{0, 120, 2, nil}, {120, 180, 2, nil}, {180, 240, 3, []int{0}}, {240, 300, 1, nil}, {300, 360, 0, nil}}
	lower, upper = append(lower, stretch{300, 360, 0, nil}), append(upper, stretch{300, 360, 0, nil}) // nothing finished there
	zones, exact, all := a.exactZones(lower, upper, work)
	if len(zones) != 2 || exact != 180 || all != 300 || zones[0].X != coordinate(plotLeft) || zones[0].Width != coordinate((plotRight-plotLeft)/5) {
		t.Errorf("%+v, %v of %v", zones, exact, all)
	}
}

// TestThresholdsOfOthersAreLeftOut: a histogram counts at the thresholds of every SLO, and an engine's page draws those
// of its own. Labels that would touch are in two rows, and a third has none.
func TestThresholdsOfOthersAreLeftOut(t *testing.T) {
	h := &fold.SpanHistogram{Since: now - 60, Native: hist.NewNative(), Edges: []float64{0.25, 0.26, 0.27, 0.5}, Counts: []uint64{3, 0, 0, 1, 1}}
	for _, v := range []float64{0.1, 0.1, 0.25, 0.3, 0.9} {
		h.Native.Observe(v)
	}
	own := chat()
	s := maker(viewOf(), own).spread(fact.TTFT, h, []*slo.Objective{own})
	if len(s.Limits) != 1 || len(s.Shares) != 1 || s.Limits[0].Label != "250"+nbsp+"ms chat" || s.Since != "07:59 UTC" || strings.Contains(s.Desc, "500") {
		t.Errorf("%+v, %+v", s.Limits, s.Shares)
	}
	a := spreadX{0.01, 10}
	ls := a.limits([]float64{0.25, 0.26, 0.27, 5, 9.9}, []string{"250 ms chat", "260 ms chat", "270 ms chat", "5 s a", "9.9 s a rather long"})
	if ls[0].LabelY == ls[1].LabelY || ls[2].Label != "" || ls[3].Label == "" || ls[4].LabelY == ls[3].LabelY {
		t.Errorf("%+v", ls)
	}
}

// TestTheHourIsWhatThereIsOfIt: a young exporter does not call ten minutes the hour.
func TestTheHourIsWhatThereIsOfIt(t *testing.T) {
	e := traced(engine("a", "m", 0, steady, chat()))
	e.Past.Windows = e.Past.Windows[50:]
	html := strings.ReplaceAll(render(t, "overview", maker(viewOf(e), chat()).overview()), nbsp, " ")
	if !strings.Contains(html, "hour is what there is of it, since 07:50 UTC;") || strings.Contains(html, "hour is the last") {
		t.Error("the overview says of the hour something else")
	}
	v := viewOf(e)
	v.Inputs.Spans = &Spans{}
	p, _ := maker(v, chat()).engine("a")
	found := false
	for _, r := range p.Spans {
		if r.Name == "Completeness" {
			found = true
			if !strings.Contains(r.Value, " in the window 07:59:00 to 08:00:00, ") || !strings.HasSuffix(r.Value, " since 07:50 UTC") {
				t.Errorf("%+v", r)
			}
		}
	}
	if !found {
		t.Errorf("%+v", p.Spans)
	}
}

// TestTokenSharesMakeAll: the part that missed is rounded up, for the part that qualified is rounded down.
func TestTokenSharesMakeAll(t *testing.T) {
	for _, c := range []struct {
		lower, upper, total uint64
		want                string
	}{
		{275, 275, 10_000, "2.8 %"}, {0, 0, 10, "0.0 %"}, {10, 10, 10, "100.0 %"}, {99_999, 99_999, 100_000, "over 99.9 %"}, {1, 1, 100_000, "0.1 %"}, {1, 2, 1000, "0.1 to 0.2 %"}, {0, 0, 0, "–"},
	} {
		if got := strings.ReplaceAll(shareOver(c.lower, c.upper, c.total), nbsp, " "); got != c.want {
			t.Errorf("%d to %d of %d: %q, want %q", c.lower, c.upper, c.total, got, c.want)
		}
	}
	var now, hour tally
	hour.tokens.Add(fold.Tokens{Known: true, Lower: 9725, Upper: 9725, MissedLower: 275, MissedUpper: 275})
	if r := tokenRows("m", &now, &hour)[0]; r.Qualified != "9,725 (97.2"+nbsp+"%)" || r.Missed != "275 (2.8"+nbsp+"%)" {
		t.Errorf("%+v", r)
	}
}

// TestClassesNameWhoseSpansLack: the engine that makes them intervals, and no other.
func TestClassesNameWhoseSpansLack(t *testing.T) {
	whole := traced(engine("whole", "llama-3", 0, steady, classed()))
	for i := range whole.Past.Windows {
		for k := range whole.Past.Windows[i].Verdicts {
			v := &whole.Past.Windows[i].Verdicts[k]
			v.Spans.Seen = v.Sequences.N
		}
	}
	p, _ := maker(viewOf(traced(engine("a", "llama-3", 0, steady, classed())), whole), classed()).slo("chat")
	if note := p.UnseenNote(); !strings.HasPrefix(note, "Sequences of the hour without a span are of a (") || strings.Contains(note, "whole") {
		t.Errorf("%q", note)
	}
	if unseenNote(nil) != "" {
		t.Error("a note about nothing")
	}
}

// TestAnEmptyWindowIsEmpty: it is neither exact nor from anything.
func TestAnEmptyWindowIsEmpty(t *testing.T) {
	e := engine("a", "m", 0, func(int) (uint64, uint64, uint64) { return 0, 0, 0 }, chat())
	if c := windowsOf(&e, []*slo.Objective{chat()}, now).Rows[0].Goodput[0]; c.Text != "empty" || c.Exact || c.Evidence != "" {
		t.Errorf("%+v", c)
	}
	if p, _ := maker(viewOf(e), chat()).engine("a"); len(p.Rates) != 1 || strings.Contains(render(t, "engine", p), "lower = upper</b>") {
		t.Error("a plot of nothing is exact")
	}
}
