package sim

import (
	"math"
	"testing"
)

// sound is a configuration without a mistake.
func sound() Config {
	return Config{
		Engines: []Engine{{ID: "a", Model: "m", Step: H100}, {ID: "b", Model: "m", Step: H100}},
		Loads: []Load{
			{Name: "l", Engines: []string{"a"}, Rate: Constant(1), Mix: fixed(10, 10)},
			{Name: "t", Engines: []string{"b"}, Trace: []Sent{{At: 1, Prompt: 1, Output: 1}, {At: 2, Prompt: 1, Output: 1}}},
		},
		Outages: []Outage{{Engine: "a", After: 10, Down: 5, Every: 20}},
	}
}

// TestMistakesAreNamed: each mistake has a message that says what is wrong, and where.
func TestMistakesAreNamed(t *testing.T) {
	for _, test := range []struct {
		mistake func(*Config)
		want    string
	}{
		{func(c *Config) { c.Engines[1].ID = "a"; c.Loads[1].Engines[0] = "a" }, `sim: two engines are called "a"`},
		{func(c *Config) { c.Engines[1].Model = "" }, `sim: engine "b": id and model must be given`},
		{func(c *Config) { c.Engines[1].Step.Base = 0 }, `sim: engine "b": a step must take time: Step.Base`},
		{func(c *Config) { c.Engines[1].Step.Base = math.NaN() }, `sim: engine "b": a step must take time: Step.Base`},
		{func(c *Config) { c.Engines[1].Step.KV = -1 }, `sim: engine "b": step costs must not be negative`},
		{func(c *Config) { c.Engines[1].Step.Noise = -1 }, `sim: engine "b": step costs must not be negative`},
		{func(c *Config) { c.Engines[1].MaxSeqs = -1 }, `sim: engine "b": limits must not be negative`},
		{func(c *Config) { c.Engines[1].MaxQueued = -1 }, `sim: engine "b": limits must not be negative`},
		{func(c *Config) { c.Engines[1].MaxModelLen = -1 }, `sim: engine "b": limits must not be negative`},
		{func(c *Config) { c.Engines[1].Overhead = -1 }, `sim: engine "b": Overhead must not be negative`},
		{func(c *Config) { c.Engines[1].Torn = 1.1 }, `sim: engine "b": Torn is a share, from 0 to 1`},
		{func(c *Config) { c.Engines[1].GPU = GPUModel{IdleWatts: 80} }, `sim: engine "b": a GPU draws at least 0 W idle, and at most MaxWatts`},
		{func(c *Config) { c.Engines[1].Buckets.TTFT = []float64{1, 1} }, `sim: engine "b": bucket edges must be positive, finite and strictly increasing`},
		{func(c *Config) { c.Engines[1].Buckets.Gaps = []float64{0, 1} }, `sim: engine "b": bucket edges must be positive, finite and strictly increasing`},
		{func(c *Config) { c.Engines[1].Buckets.Latency = []float64{1, math.Inf(1)} }, `sim: engine "b": bucket edges must be positive, finite and strictly increasing`},

		{func(c *Config) { c.Loads[0].Engines = []string{"z"} }, `sim: load "l" is for engine "z", which does not exist`},
		{func(c *Config) { c.Loads[0].Engines = nil }, `sim: load "l": no engine is named`},
		{func(c *Config) { c.Loads[0].Rate = Rate{} }, `sim: load "l": exactly one of Rate, Closed and Trace must be given`},
		{func(c *Config) { c.Loads[0].Closed = &Closed{Clients: 1} }, `sim: load "l": exactly one of Rate, Closed and Trace must be given`},
		{func(c *Config) { c.Loads[0].Mix = nil }, `sim: load "l": Mix is empty`},
		{func(c *Config) { c.Loads[0].Rate, c.Loads[0].Closed = Rate{}, &Closed{} }, `sim: load "l": a closed loop needs clients and a think time`},
		{func(c *Config) { c.Loads[0].Rate = Constant(-1) }, "sim: load \"l\": rates must be finite and not negative\nload \"l\": the rate is 0 for ever"},
		{func(c *Config) { c.Loads[0].Rate = Constant(0) }, `sim: load "l": the rate is 0 for ever`},
		{func(c *Config) { c.Loads[0].Rate = Ramp(1, 2, 10, 5) }, `sim: load "l": points of a rate must be in order`},
		{func(c *Config) { c.Loads[0].Rate.Period, c.Loads[0].Rate.Points[0].At = 5, 9 }, `sim: load "l": points of a rate must lie within its period`},
		{func(c *Config) { c.Loads[1].Burst = &Burst{1, 1, 1, 1} }, `sim: load "t": Burst modulates a Rate, and there is none`},
		{func(c *Config) { c.Loads[0].Burst = &Burst{0, 0, 1, 1} }, `sim: load "l": a burst's factors must not be negative, nor both 0`},
		{func(c *Config) { c.Loads[0].Burst = &Burst{2, 1, 0, 1} }, `sim: load "l": a burst's times must be positive`},
		{func(c *Config) { c.Loads[1].Trace[1].At = 0.5 }, `sim: load "t": request 1 of the trace is out of order`},
		{func(c *Config) { c.Loads[1].Trace[1].Output = 0 }, `sim: load "t": request 1 of the trace: prompt and output must be positive, the rest not negative`},
		{func(c *Config) { c.Loads[0].Habits.Cancel = 1.5 }, `sim: load "l": Habits.Cancel is a share, from 0 to 1`},
		{func(c *Config) { c.Loads[0].Habits.Bad = -0.1 }, `sim: load "l": Habits.Bad is a share, from 0 to 1`},
		{func(c *Config) { c.Loads[0].Habits.Error = math.NaN() }, `sim: load "l": Habits.Error is a share, from 0 to 1`},
		{func(c *Config) { c.Loads[0].Habits.Two = 2 }, `sim: load "l": Habits.Two is a share, from 0 to 1`},
		{func(c *Config) { c.Loads[0].Habits.Whole = 2 }, `sim: load "l": Habits.Whole is a share, from 0 to 1`},
		{func(c *Config) { c.Loads[0].Habits.Backoff = -1 }, `sim: load "l": Habits must not be negative`},
		{func(c *Config) { c.Loads[0].Mix[0].Weight = 0 }, `sim: load "l": class "fixed": weight, prompt and output must be positive`},
		{func(c *Config) { c.Loads[0].Mix[0].OutputCV = -1 }, `sim: load "l": class "fixed": spreads must not be negative`},
		{func(c *Config) { c.Loads[0].Mix[0].Correlation = 2 }, `sim: load "l": class "fixed": Correlation lies between -1 and 1`},
		{func(c *Config) { c.Loads[0].Mix[0].One = 2 }, `sim: load "l": class "fixed": Stop and One are shares, from 0 to 1`},
		{func(c *Config) { c.Loads[0].Mix[0].Prefixes = 2 }, `sim: load "l": class "fixed": Prefixes and PrefixLen go together`},

		{func(c *Config) { c.Engines[1].Tracing, c.Engines[1].Dialect = &Tracing{}, Rust }, `sim: engine "b": a server of kind Rust sends no spans here: Tracing`},
		{func(c *Config) { c.Engines[1].Tracing = &Tracing{Ratio: 2} }, `sim: engine "b": Tracing.Ratio is a share, from 0 to 1`},
		{func(c *Config) { c.Engines[1].Tracing = &Tracing{Delay: -1} }, `sim: engine "b": Tracing.Delay and Tracing.Export must not be negative`},
		{func(c *Config) { c.Engines[1].Tracing = &Tracing{Export: math.NaN()} }, `sim: engine "b": Tracing.Delay and Tracing.Export must not be negative`},
		{func(c *Config) { c.Engines[1].Tracing = &Tracing{Queue: -1} }, "sim: engine \"b\": Tracing.Batch and Tracing.Queue must not be negative\nengine \"b\": a batch must fit into the queue: Tracing.Batch and Tracing.Queue"},
		{func(c *Config) { c.Engines[1].Tracing = &Tracing{Queue: 100} }, `sim: engine "b": a batch must fit into the queue: Tracing.Batch and Tracing.Queue`},
		{func(c *Config) { c.Engines[1].Tracing = &Tracing{Service: "\xff"} }, `sim: engine "b": what spans say must be UTF-8: Tracing and Handler`},
		{func(c *Config) { c.Loads[0].Caller = &Caller{Ratio: -1} }, `sim: load "l": Caller.Ratio is a share, from 0 to 1`},
		{func(c *Config) { c.Loads[0].Caller = &Caller{Attributes: []Attribute{{"tenant", "\xff"}}} }, `sim: load "l": Caller.Attributes must be UTF-8`},

		{func(c *Config) { c.Outages[0].Engine = "z" }, `sim: an outage is of engine "z", which does not exist`},
		{func(c *Config) { c.Outages[0].After = -1 }, `sim: outage of engine "a": After and Every must not be negative`},
		{func(c *Config) { c.Outages[0].Down = 4 }, `sim: outage of engine "a": a process needs 5 s to come up: Down`},
		{func(c *Config) { c.Outages[0].Every = 7 }, `sim: outage of engine "a": the process must be up again before the next outage: Every must exceed Down by 2 s`},

		{func(c *Config) { c.Engines[0].Torn, c.Outages[0].Down = -1, 0 }, "sim: engine \"a\": Torn is a share, from 0 to 1\noutage of engine \"a\": a process needs 5 s to come up: Down"},
	} {
		c := sound()
		test.mistake(&c)
		w, err := New(c)
		if err == nil || w != nil || err.Error() != test.want {
			t.Errorf("got  %v\nwant %s", err, test.want)
		}
	}
	if _, err := New(sound()); err != nil {
		t.Errorf("a sound configuration: %v", err)
	}
}

// TestScenarios: all can be built, found by name and told apart, and serve somebody within twenty seconds.
func TestScenarios(t *testing.T) {
	names := map[string]bool{}
	for _, s := range Scenarios() {
		t.Run(s.Name, func(t *testing.T) {
			if found, ok := ScenarioNamed(s.Name); !ok || found.About != s.About || names[s.Name] || s.About == "" {
				t.Errorf("found %v: %q", ok, found.About)
			}
			names[s.Name] = true
			c := s.Config(1, start)
			truth := listen(&c)
			w := run(t, c, 20)
			for _, id := range w.Engines() {
				served := false
				for _, q := range truth.sequences {
					served = served || q.Engine == id
				}
				if _, ok := w.Page(id); !ok || !w.Up(id) || !served {
					t.Errorf("engine %s served nobody", id)
				}
			}
		})
	}
	if _, ok := ScenarioNamed("no such story"); ok {
		t.Error("an unknown scenario is found")
	}
	if _, ok := run(t, sound(), 1).Page("z"); ok {
		t.Error("an unknown engine has a page")
	}
}
