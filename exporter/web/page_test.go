package web

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/goodput-exporter/goodput-exporter/exporter/fold"
	"github.com/goodput-exporter/goodput-exporter/internal/golden"
)

func pages(t testing.TB, v View) *Pages {
	t.Helper()
	p, err := New(Config{View: func() View { return v }, Address: shown, Version: "1.2.3"})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// printer are pages about nothing, of which only the templates are used: reading those takes longer than a page.
var printer = sync.OnceValues(func() (*Pages, error) {
	return New(Config{View: func() View { return View{} }, Address: shown})
})

// render prints a page at the fixtures' clock.
func render(t testing.TB, name string, page any) string {
	t.Helper()
	p, err := printer()
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := p.template.ExecuteTemplate(&out, name, page); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func TestGoldenPages(t *testing.T) {
	quiet := viewOf(engine("a", "llama-3", 0, steady, chat()), engine("b", "llama-3", 25, steady, chat()))
	for name, page := range map[string]func() string{
		"starting":  func() string { return render(t, "overview", maker(View{}).overview()) },
		"no-engine": func() string { return render(t, "overview", maker(viewOf(), chat()).overview()) },
		"discovery": func() string { return render(t, "overview", maker(discovered(), chat()).overview()) },
		"discovery-down": func() string {
			return render(t, "overview", maker(lookedFor(Discovery{Since: at(-1800), Synced: at(-1800), Detail: "GET pods: connection refused", Pods: polledPods}, engine("a", "llama-3", 0, steady, chat())), chat()).overview())
		},
		"discovery-empty": func() string {
			return render(t, "overview", maker(lookedFor(Discovery{Up: true, Since: at(-1800), Synced: at(-4), Others: 5}), chat()).overview())
		},
		"quiet":   func() string { return render(t, "overview", maker(quiet, chat()).overview()) },
		"trouble": func() string { return render(t, "overview", maker(trouble(), chat(), batch()).overview()) },
		"engine": func() string {
			m := maker(trouble(), chat(), batch())
			m.root = "../"
			p, _ := m.engine("a")
			return render(t, "engine", p)
		},
		"slo": func() string {
			m := maker(trouble(), chat(), batch())
			m.root = "../"
			p, _ := m.slo("chat")
			return render(t, "slo", p)
		},
		"spans": func() string { return render(t, "overview", maker(observed(), classed()).overview()) },
		"spans-engine": func() string {
			m := maker(observed(), classed())
			m.root = "../"
			p, _ := m.engine("a")
			return render(t, "engine", p)
		},
		"spans-slo": func() string {
			m := maker(observed(), classed())
			m.root = "../"
			p, _ := m.slo("chat")
			return render(t, "slo", p)
		},
		"gpus":        func() string { return render(t, "overview", maker(onGPUs(), chat()).overview()) },
		"gpus-engine": func() string { return gpuPage(t, onGPUs(), "a") },
		"missing":     func() string { return render(t, "missing", maker(trouble(), chat()).missing("engine", "x<y")) },
	} {
		t.Run(name, func(t *testing.T) {
			html := page()
			wellFormed(t, html)
			// The style is a file of its own; in every golden file it would only be noise.
			style := regexp.MustCompile(`(?s)<style>.*</style>`)
			golden.Compare(t, filepath.Join("testdata", name+".html"), []byte(style.ReplaceAllString(html, "<style></style>")))
		})
	}
}

// TestEverySnapshotMakesAWellFormedPage also holds that nothing is drawn outside of its picture.
func TestEverySnapshotMakesAWellFormedPage(t *testing.T) {
	for seed := range uint64(60) {
		v, objectives := random(seed)
		html := map[string]string{"overview": render(t, "overview", maker(v, objectives...).overview())}
		if v.Snapshot != nil && len(v.Snapshot.Engines) > 0 {
			id := v.Snapshot.Engines[int(seed)%len(v.Snapshot.Engines)].ID
			p, found := maker(v, objectives...).engine(id)
			if !found {
				t.Fatalf("seed %d: engine %q has no page", seed, id)
			}
			html["engine "+id] = render(t, "engine", p)
		}
		for _, o := range objectives {
			p, found := maker(v, objectives...).slo(o.Name)
			if !found {
				t.Fatalf("seed %d: objective %q has no page", seed, o.Name)
			}
			html["slo "+o.Name] = render(t, "slo", p)
		}
		for name, text := range html {
			wellFormed(t, text)
			drawnInside(t, text)
			if t.Failed() {
				t.Fatalf("seed %d, %s", seed, name)
			}
		}
	}
}

// wellFormed reads a page as XML, which is stricter than a browser is.
func wellFormed(t *testing.T, html string) {
	t.Helper()
	d := xml.NewDecoder(strings.NewReader(html))
	ids := map[string]bool{}
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			line, column := d.InputPos()
			t.Errorf("line %d, column %d: %v", line, column, err)
			return
		}
		e, ok := token.(xml.StartElement)
		if !ok {
			continue
		}
		if e.Name.Local == "script" || e.Name.Local == "b" && len(e.Attr) > 0 {
			t.Errorf("there is an element %s", e.Name.Local)
		}
		for _, a := range e.Attr {
			if a.Name.Local == "style" || strings.HasPrefix(a.Name.Local, "on") {
				t.Errorf("%s has the attribute %s, which the policy forbids", e.Name.Local, a.Name.Local)
			}
			if a.Name.Local == "id" {
				if ids[a.Value] {
					t.Errorf("two elements are called %s", a.Value)
				}
				ids[a.Value] = true
			}
			if strings.Contains(a.Value, "ZgotmplZ") {
				t.Errorf("the template refused the value of %s", a.Name.Local)
			}
		}
	}
}

var (
	numberInside = regexp.MustCompile(`(?: [xy][12]?| width| height)="([^"]*)"`)
	pathPattern  = regexp.MustCompile(` d="([^"]*)"`)
	pathStep     = regexp.MustCompile(`[MHV ]-?[0-9.]+`)
)

func drawnInside(t *testing.T, html string) {
	t.Helper()
	inside := func(text string) {
		if v, err := strconv.ParseFloat(text, 64); err != nil || v < 0 || v > plotWidth {
			t.Errorf("%q is drawn outside of the picture", text)
		}
	}
	for _, plot := range strings.Split(html, `<svg viewBox="0 0 400 `)[1:] {
		plot, _, _ = strings.Cut(plot, "</svg>")
		for _, m := range numberInside.FindAllStringSubmatch(plot, -1) {
			inside(m[1])
		}
		for _, d := range pathPattern.FindAllStringSubmatch(plot, -1) {
			for _, s := range pathStep.FindAllString(d[1], -1) {
				inside(s[1:])
			}
			if rest := strings.Trim(pathStep.ReplaceAllString(d[1], ""), "Z"); rest != "" && strings.Trim(rest, "Z") != "" {
				t.Errorf("path with %q", rest)
			}
		}
	}
}

// TestStatesAreSaidInWords shows each state of an engine or a promise and looks for its words, and for what must not
// be said.
func TestStatesAreSaidInWords(t *testing.T) {
	idle := func(int) (uint64, uint64, uint64) { return 0, 0, 0 }
	warming := fold.Engine{ID: "new", Phase: fold.PhaseWarming, Up: true, Since: now - 20, WindowStart: now - 20, SLOs: []fold.SLO{{Objective: chat()}}, Ranks: []fold.Rank{{ID: "new", Model: "m"}}}
	near := func(int) (uint64, uint64, uint64) { return 100, 90, 98 }
	blind := trouble().Snapshot.Engines[1]
	down := engine("d", "m", 0, steady, chat())
	down.Up, down.Phase, down.WindowStart = false, fold.PhaseDown, 0
	down.Past.Windows = down.Past.Windows[:50]
	for name, c := range map[string]struct {
		view View
		want []string
		not  []string
	}{
		"before the first round":               {View{}, []string{"The first round has not ended yet"}, []string{"broken", "kept"}},
		"no engine":                            {viewOf(), []string{"No engine is configured"}, []string{"broken"}},
		"warming up":                           {viewOf(warming), []string{"warming up", "the first judgement window of 60 s ends in about 40 s"}, []string{"0.0 %", "broken"}},
		"kept":                                 {viewOf(engine("a", "m", 0, steady, chat())), []string{"the promise is kept", "for the whole of the last hour"}, []string{"is broken"}},
		"broken, with when and where":          {viewOf(engine("a", "m", 0, collapse, chat()), engine("b", "m", 0, steady, chat())), []string{"the promise is broken", "since 07:50 UTC, 10 min ago", "TTFT over 250 ms", "mean queue time", "most on engine"}, nil},
		"an interval that holds the objective": {viewOf(engine("a", "m", 0, near, chat())), []string{"cannot tell whether the promise is kept", "90.0 to 98.0 %"}, []string{"is broken"}},
		"no traffic":                           {viewOf(engine("a", "m", 0, idle, chat())), []string{"no traffic", "no sequences"}, []string{"is kept", "100.0 %", "NaN"}},
		"no SLO":                               {viewOf(engine("a", "m", 0, steady)), []string{"No SLO is about this model", "no promise to judge"}, nil},
		"no engine under the SLO":              {viewOf(engine("a", "m", 0, steady)), []string{"no promise to judge"}, nil},
		"everything is down":                   {viewOf(down), []string{"unknown whether the promise is kept", "no judgement window was committed in the last 5 min; the newest ended at 07:50 UTC"}, []string{"✓ kept"}},
		"an SLO that no page can answer":       {viewOf(blind, down), []string{"no tpot histogram: start the engine with", "and not every engine answers"}, []string{"✓ kept"}},
		"an SLO that the only page cannot answer": {viewOf(blind), []string{
			"unknown whether the promise is kept", "no tpot histogram: start the engine with", "No engine&#39;s page can answer this SLO, so there is no goodput to plot", "no window was judged",
		}, []string{"No judgement window has been committed", "no sequences", "Without engine blind"}},
		"a configuration that was not taken":            {View{Snapshot: viewOf().Snapshot, Inputs: Inputs{ReloadFailed: true, Reloaded: utc(now - 60)}}, []string{"has a mistake and is not in use: that of 07:59 UTC still is"}, nil},
		"nothing is said of spans where none are taken": {viewOf(traced(engine("a", "m", 0, steady, chat()))), []string{"histograms"}, []string{"Spans taken in", "match no engine"}},
		"spans, inputs with trouble, and a page that is dear": {observed(), []string{
			"1 file of engines.files cannot be read", "2 targets are not polled", "1 file with a token, password", "polled every 8 s only",
			"came in the last 10 min that match no engine", "1,234", "OTEL_RESOURCE_ATTRIBUTES=goodput.engine=ID", "pod vllm-&lt;b&gt;7, in prod", "66 min ago",
			"from histograms, in 5 of 10 windows from spans too; 52.3 % of sequences have a span", "3: 1 long and 2 negative", "7,250, and 51,000 of other names dropped",
		}, []string{"<b>7"}},
		"trouble": {trouble(), []string{
			"refused: nothing &lt;listens&gt;", "work is in flight, and nothing has moved for a minute", "give a token", "is no target any more",
			"without engine blind: no tpot histogram", "No ledger of engine blind: the page has no http_requests_total", "60 HTTP requests unexplained",
			"cancelled or failed: the page does not tell which", "above the last bucket edge", "differ in TTFT (2)", "Hatched: the sum lacks",
			"first judgement window of 60 s ends in about 40 s",
		}, []string{"s3cret", "t0ken", "alice", "<script"}},
	} {
		t.Run(name, func(t *testing.T) {
			html := strings.ReplaceAll(render(t, "overview", maker(c.view, chat()).overview()), nbsp, " ")
			for _, w := range c.want {
				if !strings.Contains(html, w) {
					t.Errorf("%q is not on the page", w)
				}
			}
			for _, w := range c.not {
				if strings.Contains(html, w) {
					t.Errorf("%q is on the page", w)
				}
			}
		})
	}
}

func TestAnObjectiveWithoutEnginesIsShown(t *testing.T) {
	o := batch()
	html := render(t, "overview", maker(viewOf(engine("a", "m", 0, steady, chat())), chat(), o).overview())
	if !strings.Contains(html, "no page that was read is under it: it is about models that match") {
		t.Error(html)
	}
	m := maker(viewOf(engine("a", "m", 0, steady, chat())), chat(), o)
	p, found := m.slo("batch")
	if !found || !strings.Contains(p.Empty, "No page that was read is under this SLO") {
		t.Errorf("%v %q", found, p.Empty)
	}
}

// TestManyObjectivesStayReadable: thirty objectives are all listed, and a few are plotted.
func TestManyObjectivesStayReadable(t *testing.T) {
	o := maker(big(2, 30)).overview()
	if n := len(o.Promises); n != 30 {
		t.Errorf("%d promises are listed", n)
	}
	if n, more := len(o.Sections[0].Rates), len(o.Sections[0].More); n != mostPlots || more != 30-mostPlots {
		t.Errorf("%d are plotted and %d are linked", n, more)
	}
}

func BenchmarkStatusPage16Engines(b *testing.B) {
	p := pages(b, big(16, 2))
	size := 0
	for b.Loop() {
		var out bytes.Buffer
		if err := p.template.ExecuteTemplate(&out, "overview", maker(p.config.View()).overview()); err != nil {
			b.Fatal(err)
		}
		size = out.Len()
	}
	b.ReportMetric(float64(size), "bytes/page")
}
