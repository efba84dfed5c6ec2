package load

import (
	"context"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

var chat = []Shape{{Share: 1, Prompt: 10, Output: 4}}

// TestLoadDoesNotSlowDownWithTheEngine: an engine that takes ten seconds for an answer is asked as often as a fast one.
func TestLoadDoesNotSlowDownWithTheEngine(t *testing.T) {
	counts := map[time.Duration]int{}
	for _, ttft := range []time.Duration{time.Millisecond, 10 * time.Second} {
		synctest.Test(t, func(t *testing.T) {
			f := &fake{ttft: ttft, gap: time.Millisecond}
			began := time.Now()
			seen, err := Crowd{URL: "http://engine", Model: "m", Client: against(t, f), Seed: 1, Steps: []Step{
				{Name: "a", Length: 20 * time.Second, Rate: 5, Shapes: chat},
				{Name: "b", Length: 10 * time.Second, Rate: 20, Shapes: chat},
			}}.Run(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			counts[ttft] = len(seen)
			late := 0
			for _, s := range seen {
				if s.Start-float64(began.UnixMicro())/1e6 > 20 != (s.Step == 1) {
					late++
				}
				if s.Outcome != Finished {
					t.Errorf("%+v", s)
				}
			}
			if late > 0 {
				t.Errorf("%d requests were sent in another step than they were drawn for", late)
			}
		})
	}
	if fast, slow := counts[time.Millisecond], counts[10*time.Second]; fast != slow || math.Abs(float64(fast)-300) > 60 {
		t.Errorf("%d requests to the fast engine and %d to the slow one, want about 300 each", fast, slow)
	}
}

func TestTheSameSeedAsksForTheSame(t *testing.T) {
	var prompts [2][]string
	for i := range prompts {
		synctest.Test(t, func(t *testing.T) {
			f := &fake{}
			if _, err := (Crowd{URL: "http://engine", Model: "m", Client: against(t, f), Seed: 5, Steps: []Step{{Length: 3 * time.Second, Rate: 10, Shapes: chat}}}).Run(t.Context()); err != nil {
				t.Fatal(err)
			}
			for _, a := range f.asked {
				prompts[i] = append(prompts[i], a["prompt"].(string))
			}
		})
	}
	if len(prompts[0]) == 0 || strings.Join(prompts[0], "|") != strings.Join(prompts[1], "|") {
		t.Errorf("%d and %d prompts, or others", len(prompts[0]), len(prompts[1]))
	}
}

func TestAnEndedContextCutsTheLoad(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(2*time.Second, cancel)
		began := time.Now()
		seen, err := Crowd{URL: "http://engine", Model: "m", Client: against(t, &fake{ttft: time.Hour}), Seed: 1, Steps: []Step{
			{Length: time.Hour, Rate: 3, Shapes: chat},
		}}.Run(ctx)
		if err == nil || time.Since(began) > 3*time.Second {
			t.Errorf("it ended after %v with error %v", time.Since(began), err)
		}
		for _, s := range seen {
			if s.Outcome != Broken {
				t.Errorf("a request that was cut is %s", s.Outcome)
			}
		}
	})
}

func TestSharesComeOutAsAsked(t *testing.T) {
	s := Step{Rate: 1, Shapes: []Shape{{Share: 3, Prompt: 100, Output: 40}, {Share: 1, Prompt: 500, Output: 1}}, Early: 0.1, Late: 0.1, Bad: 0.2, Pairs: 0.05}
	rng := rand.New(rand.NewPCG(1, 2))
	const n = 20000
	var early, late, bad, pairs, long, prompt float64
	for range n {
		a := s.draw(rng)
		switch {
		case a.HangUpAfter > 0:
			early++
			if a.HangUpAfter > patience+1 {
				t.Fatalf("an early client waits %v", a.HangUpAfter)
			}
		case a.HangUpAt > 0:
			late++
		case a.Fault != "":
			bad++
		}
		if a.N == 2 {
			pairs++
		}
		if a.Output == 1 {
			long++
			prompt += float64(a.Prompt)
		}
	}
	for what, v := range map[string][2]float64{
		"early": {early / n, 0.1}, "late": {late / n, 0.1}, "bad": {bad / n, 0.2}, "pairs": {pairs / n, 0.05},
		"the second shape": {long / n, 0.25}, "its mean prompt in thousands": {prompt / long / 1000, 0.5},
	} {
		if math.Abs(v[0]-v[1]) > 0.01 {
			t.Errorf("%s: %.3f, want %v", what, v[0], v[1])
		}
	}
}

func TestPlansThatCannotBeCarriedOut(t *testing.T) {
	good := Step{Name: "x", Length: time.Second, Rate: 1, Shapes: chat}
	for want, change := range map[string]func(*Step){
		"":                       func(*Step) {},
		"its length is 0s":       func(s *Step) { s.Length = 0 },
		"its rate is -1":         func(s *Step) { s.Rate = -1 },
		"it has no shapes":       func(s *Step) { s.Shapes = nil },
		"its shares have to":     func(s *Step) { s.Early, s.Late = 0.6, 0.6 },
		"a prompt and an output": func(s *Step) { s.Shapes = []Shape{{Share: 1, Prompt: 1}} },
	} {
		s := good
		change(&s)
		err := Validate([]Step{s})
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want an error with %q", err, want)
		}
	}
}
