package main

import (
	"bytes"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/goodput-exporter/goodput-exporter/collectors/recording"
)

func three() *playback {
	body := func(n int) []byte {
		return fmt.Appendf(nil, "process_start_time_seconds 1.0e+03\nvllm:x_created{le=\"a b\"} 1050.0\nvllm:x_total %d\n", n)
	}
	return &playback{offset: 10, started: 500_000, pages: []recording.Page{
		{T: 1100, Body: body(1)}, {T: 1110, Body: body(2)}, {T: 1120, Body: body(3)},
	}}
}

func TestPlayback(t *testing.T) {
	for name, c := range map[string]struct {
		after float64 // seconds after the start of the demo
		want  string  // "" when nothing answers
	}{
		"the first play begins at the offset, as old as in the recording": {0, "start 499890 created 499940 total 2"},
		"the same page is served until the next one":                      {9.5, "start 499890 created 499940 total 2"},
		"the last page ends the first play":                               {10, "start 499890 created 499940 total 3"},
		"then nothing answers":                                            {14, ""},
		"then a new process plays from the beginning":                     {16, "start 500014 created 500014 total 1"},
		"its start does not move while it lives":                          {34, "start 500014 created 500014 total 2"},
		"and it ends as the first did":                                    {36, ""},
		"the third process is younger than the second":                    {41, "start 500039 created 500039 total 1"},
	} {
		t.Run(name, func(t *testing.T) {
			p := three()
			got := ""
			if answer, ok := p.at(p.started + c.after); ok {
				got = strings.NewReplacer("process_start_time_seconds", "start", `vllm:x_created{le="a b"}`, "created",
					"vllm:x_total", "total", "\n", " ").Replace(strings.TrimSpace(string(answer.Body)))
			}
			if got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

// A start time that moves by a rounding error would be a new process at every page.
func TestOnePlayIsOneProcess(t *testing.T) {
	p := three()
	p.started += 0.1
	starts := map[string]int{}
	for i := range 600 {
		if answer, ok := p.at(p.started + float64(i)*0.0737); ok {
			line, _, _ := strings.Cut(string(answer.Body), "\n")
			starts[line]++
		}
	}
	if len(starts) != 3 { // 44 s: the rest of the first play, the second, the beginning of the third
		t.Errorf("%d processes: %v", len(starts), starts)
	}
}

func TestRestampTouchesInstantsOnly(t *testing.T) {
	const body = "# TYPE vllm:x_created gauge\nvllm:x_created_total 5\nprocess_start_time_seconds NotANumber\nvllm:x_sum 1050.5\n"
	if got := string(restamp([]byte(body), 100, math.Inf(-1))); got != body {
		t.Errorf("got %q, want no change", got)
	}
}

func TestLoadSaysWhatIsWrong(t *testing.T) {
	short := filepath.Join(t.TempDir(), "short.jsonl")
	if err := os.WriteFile(short, []byte(`{"t":1,"kind":"engine","target":"a","status":200,"body":""}`), 0o600); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{short: "at least two", short + ".gz": "no such file"} {
		if _, err := load(path); err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: %v, want the path and %q", path, err, want)
		}
	}
}

// TestTheRecordingOfTheDemoPlays guards what `make demo` starts with: the file is there and has load at the offset.
func TestTheRecordingOfTheDemoPlays(t *testing.T) {
	pages, err := load(filepath.Join("../..", defaultRecording))
	if err != nil {
		t.Fatal(err)
	}
	p := &playback{pages: pages, offset: defaultOffset, started: 2e9}
	now, ok := p.at(2e9)
	later, ok2 := p.at(2e9 + 2)
	if !ok || !ok2 || bytes.Equal(now.Body, later.Body) {
		t.Error("nothing happens at the default offset")
	}
	if !bytes.Contains(now.Body, []byte("process_start_time_seconds 1999")) {
		t.Error("the process does not look as if it had been started in the present")
	}
}

func TestAReaderWithTheRecordingsPaceGetsEachPageOnce(t *testing.T) {
	pages, err := load("../../" + defaultRecording)
	if err != nil {
		t.Fatal(err)
	}
	for _, phase := range []float64{0, 0.999} {
		p := &playback{pages: pages, offset: defaultOffset, started: 1000}
		p.align(1000 + phase)
		last := ""
		for i := range 60 {
			answer, ok := p.at(1000 + phase + float64(i) + 0.02*float64(i%3))
			if !ok || string(answer.Body) == last {
				t.Fatalf("phase %v: page %d came twice, or not at all", phase, i)
			}
			last = string(answer.Body)
		}
	}
}
