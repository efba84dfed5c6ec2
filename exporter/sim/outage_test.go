package sim

import (
	"fmt"
	"testing"
)

// moment is what a page says of its process.
type moment struct{ started, created, finished float64 }

func look(t *testing.T, w *World) moment {
	t.Helper()
	s := read(t, w, "a")
	return moment{
		started:  s.sums["process_start_time_seconds"],
		created:  s.sums["vllm:prompt_tokens_created"],
		finished: s.sums["vllm:e2e_request_latency_seconds_count"],
	}
}

// TestOutages follows an engine through two deaths.
func TestOutages(t *testing.T) {
	for name, test := range map[string]struct {
		crash  bool
		notice float64 // seconds within which the port closes
	}{
		"the whole process is replaced":                {false, 0},
		"the core dies and the front end goes on dumb": {true, maxNoticed},
	} {
		t.Run(name, func(t *testing.T) {
			const death, every, down = 50, 60, 5 // the shortest that there is
			c := Config{Seed: 1, Start: start, Stop: 150, Engines: []Engine{{ID: "a", Model: "m", Step: StepCost{Base: 0.02}}}, Outages: []Outage{{Engine: "a", After: death, Every: every, Down: down, Crash: test.crash}}, Loads: []Load{
				{Engines: []string{"a"}, Rate: Constant(10), Mix: fixed(50, 100), Habits: Habits{Whole: 0.5, Cancel: 0.1, CancelAfter: 1, Bad: 0.1}},
			}}
			truth := listen(&c)
			w := build(t, c)
			var before moment
			for n := 1; n <= 2; n++ {
				dies := start + death + float64(n-1)*every
				w.Run(dies - 0.001)
				was := look(t, w)
				if w.Process("a") != n || was.started >= was.created || was.finished == 0 || was.started <= before.started {
					t.Errorf("process %d, %+v after %+v", w.Process("a"), was, before)
				}
				frozen(t, w, dies, test.crash, was)
				w.Run(dies + test.notice + 0.001)
				if _, ok := w.Page("a"); ok || w.Up("a") || w.Process("a") != n {
					t.Error("the process is gone, and a page is there")
				}
				for w.Run(dies + down - 0.001); !w.Up("a"); {
					w.Run(w.Now() + 0.01)
				}
				is := look(t, w)
				if up := w.Now() - dies; up < down || up > down+test.notice+0.02 {
					t.Errorf("the next process answers after %.2f s", up)
				}
				if w.Process("a") != n+1 || is.started <= dies || is.created <= is.started || is.created > w.Now() || is.finished != 0 {
					t.Errorf("process %d after a death at %.1f: %+v", w.Process("a"), dies, is)
				}
				blank(t, w)
				before = was
			}
			w.Run(start + 400)
			fates(t, truth, w)
		})
	}
}

// frozen: between the death of its core and the end of the front end nothing finishes, and the front end still answers.
func frozen(t *testing.T, w *World, dies float64, crash bool, was moment) {
	t.Helper()
	w.Run(dies + 0.4)
	if _, ok := w.Page("a"); ok != crash {
		t.Fatalf("0.4 s after the death there is a page: %v", ok)
	}
	if !crash {
		return
	}
	if is := look(t, w); is.finished > was.finished+1 || is.started != was.started {
		t.Errorf("a dead core went from %+v to %+v", was, is)
	}
}

// blank: a young page counts nothing that was before.
func blank(t *testing.T, w *World) {
	t.Helper()
	s := read(t, w, "a")
	for _, name := range append([]string{"vllm:prompt_tokens_total", "vllm:generation_tokens_total", "vllm:num_requests_running", "vllm:time_to_first_token_seconds_count", "http_requests_total"}, finishCounts...) {
		if s.sums[name] > 0 {
			t.Errorf("%s is %v in a new process", name, s.sums[name])
		}
	}
}

// fates: what was in flight at a death is told once, as lost; what came between two processes is refused.
func fates(t *testing.T, truth *told, w *World) {
	t.Helper()
	seen, lost, refused := map[uint64]bool{}, map[int]int{}, 0
	for _, r := range truth.requests {
		if seen[r.ID] {
			t.Errorf("request %d is told twice", r.ID)
		}
		seen[r.ID] = true
		switch r.Outcome {
		case Lost:
			lost[r.Process]++
			if r.Status != 500 && r.Status != 200 {
				t.Errorf("a lost request has status %d", r.Status)
			}
		case Refused:
			refused++
			if r.Process != 0 || r.Status != 0 || r.Ended != r.Arrived {
				t.Errorf("nothing listened, and it is told: %+v", r)
			}
		}
	}
	// 10 requests a second that take 2 s: about 19 are in flight, and 50 come in while nothing listens.
	if lost[1] < 8 || lost[2] < 8 || lost[3] > 0 || refused < 60 || refused > 150 {
		t.Errorf("lost %v, refused %d", lost, refused)
	}
	if uint64(len(seen)) != w.requests {
		t.Errorf("%d requests were made, %d are told", w.requests, len(seen))
	}
	for _, s := range truth.sequences {
		if s.Process < 1 || s.Process > 3 {
			t.Errorf("a sequence of process %d", s.Process)
		}
	}
}

// TestProcessesAreCountedApart: two deaths planned for one moment are one.
func TestProcessesAreCountedApart(t *testing.T) {
	c := Config{Start: start, Engines: []Engine{{ID: "a", Model: "m", Step: H100}, {ID: "b", Model: "m", Step: H100}}, Outages: []Outage{
		{Engine: "a", After: 10, Down: 10}, {Engine: "a", After: 10, Down: 10}, {Engine: "a", After: 15, Down: 30, Crash: true},
		{Engine: "b", After: 50, Down: 10, Crash: true}, {Engine: "b", After: 50.1, Down: 10},
	}}
	w := run(t, c, 100)
	if got := fmt.Sprint(w.Process("a"), w.Up("a"), w.Process("b"), w.Up("b")); got != "2 true 2 true" {
		t.Errorf("processes and ports: %s", got)
	}
}

// TestDecidedRequestsAreNotLost: when a process dies between the end of a request's work and that of its response, the
// response was cut off, and what was decided stands.
func TestDecidedRequestsAreNotLost(t *testing.T) {
	for name, h := range map[string]Habits{
		"refused as bad": {Bad: 1},
		"cancelled":      {Cancel: 1, CancelAfter: 1e-6},
	} {
		c := Config{Start: start, Stop: 20, Engines: []Engine{{ID: "a", Model: "m", Step: H100}}, Outages: []Outage{{Engine: "a", After: 10, Down: 5}}, Loads: []Load{
			{Engines: []string{"a"}, Rate: Constant(5000), Mix: fixed(10, 100), Habits: h},
		}}
		truth := listen(&c)
		run(t, c, 9.9)
		if n := len(truth.requests); n < 40000 {
			t.Fatalf("%s: %d requests", name, n)
		}
		truth.requests = nil
		w := run(t, c, 12)
		cut := 0
		for _, r := range truth.requests {
			if r.Outcome == Lost {
				t.Fatalf("%s: a request that was decided is lost: %+v", name, r)
			}
			if r.Outcome != Refused && r.Status == 0 {
				cut++
			}
		}
		if cut == 0 || w.Up("a") {
			t.Errorf("%s: no response was cut off", name)
		}
	}
}

// TestCreationFollowsThePage: created timestamps lie between the start of the process and its first answer, in order.
func TestCreationFollowsThePage(t *testing.T) {
	w := run(t, Config{Start: start, Engines: []Engine{realSingle}}, 5)
	s := read(t, w, "e")
	first, last := s.sums["vllm:prompt_tokens_created"], s.sums["http_request_duration_highr_seconds_created"]
	if begun := s.sums["process_start_time_seconds"]; !(begun < first && first < last && last <= start) {
		t.Errorf("started %f, first created %f, last %f, answering since %f", begun, first, last, start)
	}
}
