package web

import (
	"math"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/goodput-exporter/goodput-exporter/exporter/fold"
)

func labels(ts []tick) string {
	var out []string
	for _, t := range ts {
		out = append(out, strings.ReplaceAll(t.Label, nbsp, " "))
	}
	return strings.Join(out, "|")
}

func TestLinearAxisHasRoundNumbers(t *testing.T) {
	for most, want := range map[float64]string{
		0: "0.0|0.5|1.0", 0.034: "0.00|0.01|0.02|0.03|0.04", 1: "0.0|0.2|0.4|0.6|0.8|1.0", 3.7: "0|1|2|3|4", 42: "0|10|20|30|40|50", 4321: "0|1,000|2,000|3,000|4,000|5,000",
	} {
		l := newLinear(most)
		if got := labels(l.ticks()); got != want {
			t.Errorf("up to %v: %s, want %s", most, got, want)
		}
		if l.top < most || l.y(0) != plotBottom || l.y(l.top) != plotTop {
			t.Errorf("up to %v: the axis ends at %v", most, l.top)
		}
	}
}

func TestLogarithmicAxis(t *testing.T) {
	for name, c := range map[string]struct {
		low, high float64
		overflow  bool
		want      string
	}{
		"a decade":           {0.02, 0.3, false, "20 ms|50 ms|100 ms|200 ms"},
		"four decades":       {0.001, 10, false, "1 ms|10 ms|100 ms|1 s|10 s"},
		"a single value":     {0.1, 0.1, false, "50 ms|100 ms|200 ms"},
		"something above it": {0.1, 10, true, "100 ms|300 ms|1 s|3 s|10 s"},
	} {
		l := newLogarithmic(c.low, c.high, c.overflow)
		if got := labels(l.ticks()); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
		if l.y(0) != plotBottom {
			t.Errorf("%s: 0 is at %v", name, l.y(0))
		}
		room := 0.0
		if c.overflow {
			room = overflowStrip
		}
		if above := l.y(math.Inf(1)); above != plotTop || l.y(c.high) < plotTop+room {
			t.Errorf("%s: what lies above the last edge is at %v, the edge at %v", name, above, l.y(c.high))
		}
		if !(l.y(c.low) > l.y(2*c.low)) {
			t.Errorf("%s: more is not higher", name)
		}
	}
}

func TestTimeAxis(t *testing.T) {
	for name, c := range map[string]struct {
		oldest float64
		want   string
	}{
		"an hour":          {now - 7200, "|07:10|07:20|07:30|07:40|07:50|"},
		"twenty minutes":   {now - 1300, "07:40|07:45|07:50|07:55|"},
		"a young exporter": {now - 30, "|07:52|07:54|07:56|07:58|"},
	} {
		if got := labels(newTimeAxis(c.oldest, now).ticks()); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
	a := newTimeAxis(now-7200, now)
	if a.x(now) != plotRight || a.x(now-3600) != plotLeft || a.x(0) != plotLeft {
		t.Errorf("an hour runs from %v to %v", a.x(now-3600), a.x(now))
	}
}

func TestThreePercentilesAreShown(t *testing.T) {
	for _, c := range []struct {
		qs   []float64
		want []int
	}{
		{nil, []int{}}, {[]float64{0.5}, []int{0}}, {[]float64{0.5, 0.9, 0.99}, []int{0, 1, 2}},
		{[]float64{0.5, 0.9, 0.95, 0.99}, []int{0, 1, 3}}, {[]float64{0.1, 0.5, 0.75, 0.95, 0.999}, []int{0, 3, 4}},
	} {
		if got := (frame{terms: fold.Terms{Quantiles: c.qs}}).chosen(); !slices.Equal(got, c.want) {
			t.Errorf("of %v %v are shown, want %v", c.qs, got, c.want)
		}
	}
}

func TestPaths(t *testing.T) {
	cs := []column{{10, 20, 5, 3}, {20, 30, 5, 3}, {30, 40, 8, 1}, {50, 60, 2, 2}}
	if got, want := stepPath(cs, lowOf), "M10 5H20H30V8H40M50 2H60"; got != want {
		t.Errorf("line %s, want %s", got, want)
	}
	if got, want := bandPath(cs[:3]), "M10 3H20H30V1H40V8H30V5H20V5H10Z"; got != want {
		t.Errorf("band %s, want %s", got, want)
	}
}

// TestManyEnginesMakeNoLargerPicture: steps that are too narrow to be seen are not drawn, and the rest still touches.
func TestManyEnginesMakeNoLargerPicture(t *testing.T) {
	var cs []column
	for i := range 20000 {
		x := plotLeft + (plotRight-plotLeft)*float64(i)/20000
		cs = append(cs, column{x, x + (plotRight-plotLeft)/20000, float64(i % 7), 0})
	}
	got := drawn(cs)
	if most := int(2*(plotRight-plotLeft)) + 1; len(got) > most || len(runs(got)) != 1 {
		t.Errorf("%d columns in %d runs", len(got), len(runs(got)))
	}
}

// TestColoursCanBeRead holds every colour of text to a contrast of 4.5 with what it stands on, and every colour of a
// line to one of 3, in light and dark: WCAG 2.2, criteria 1.4.3 and 1.4.11.
func TestColoursCanBeRead(t *testing.T) {
	style, err := os.ReadFile("style.css")
	if err != nil {
		t.Fatal(err)
	}
	light, dark, both := strings.Cut(string(style), "prefers-color-scheme: dark")
	if !both {
		t.Fatal("there is no dark scheme")
	}
	for scheme, css := range map[string]string{"light": light, "dark": dark} {
		colour := func(name string) float64 {
			m := regexp.MustCompile(`--` + name + `: #([0-9a-f]{3,6});`).FindStringSubmatch(css)
			if m == nil {
				t.Fatalf("%s has no colour %s", scheme, name)
			}
			return luminance(t, m[1])
		}
		for text, grounds := range map[string][]string{
			"ink": {"ground", "panel", "warn-ground", "bad-ground"}, "soft": {"ground", "panel", "bad-ground"}, "link": {"ground", "warn-ground"}, "calm": {"ground", "panel"},
			"good": {"ground", "good-ground"}, "bad": {"ground", "bad-ground"}, "warn": {"ground", "warn-ground"},
		} {
			for _, ground := range grounds {
				if c := contrast(colour(text), colour(ground)); c < 4.5 {
					t.Errorf("%s: text in %s on %s has a contrast of %.2f", scheme, text, ground, c)
				}
			}
		}
		for _, mark := range []string{"good", "through", "offered", "bad", "p0", "p1", "p2", "c1", "c2", "c3", "c4", "c5", "c6"} {
			if c := contrast(colour(mark), colour("ground")); c < 3 {
				t.Errorf("%s: a line in %s has a contrast of %.2f", scheme, mark, c)
			}
		}
	}
}

func luminance(t *testing.T, hex string) float64 {
	t.Helper()
	if len(hex) == 3 {
		hex = string([]byte{hex[0], hex[0], hex[1], hex[1], hex[2], hex[2]})
	}
	sum := 0.0
	for i, weight := range []float64{0.2126, 0.7152, 0.0722} {
		n, err := strconv.ParseUint(hex[2*i:2*i+2], 16, 8)
		if err != nil {
			t.Fatal(err)
		}
		c := float64(n) / 255
		if c <= 0.04045 {
			c /= 12.92
		} else {
			c = math.Pow((c+0.055)/1.055, 2.4)
		}
		sum += weight * c
	}
	return sum
}

func contrast(a, b float64) float64 { return (max(a, b) + 0.05) / (min(a, b) + 0.05) }
