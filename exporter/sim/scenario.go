package sim

import "slices"

// Scenario is a world with a story.
type Scenario struct {
	Name, About string
	Engines     []Engine
	Loads       []Load
	Outages     []Outage
	GPUEvents   []GPUEvent
}

// Config is the scenario's world from a time on, unix seconds.
func (s *Scenario) Config(seed uint64, start float64) Config {
	return Config{Seed: seed, Start: start, Engines: s.Engines, Loads: s.Loads, Outages: s.Outages, GPUEvents: s.GPUEvents}
}

// ScenarioNamed finds a scenario.
func ScenarioNamed(name string) (Scenario, bool) {
	all := Scenarios()
	i := slices.IndexFunc(all, func(s Scenario) bool { return s.Name == name })
	if i < 0 {
		return Scenario{}, false
	}
	return all[i], true
}

// The models of the scenarios.
const (
	ChatModel = "llama-3.1-8b"
	CodeModel = "qwen3-coder-30b"
)

func chatEngine(id string) Engine { return Engine{ID: id, Model: ChatModel, Step: H100, MaxSeqs: 128} }

// codeEngine reads long prompts: a bigger model, so a slower step.
func codeEngine(id string) Engine {
	return Engine{ID: id, Model: CodeModel, Step: StepCost{Base: 0.009, Prefill: 25e-6, Sequence: 30e-6, KV: 4e-8, Noise: 0.1}, MaxSeqs: 64, Blocks: 40000}
}

// habits of people in front of a chat window.
var people = Habits{Cancel: 0.04, CancelAfter: 3, Patience: 30, Retries: 1, Backoff: 2, Bad: 0.005, Two: 0.02, Whole: 0.1}

// Scenarios lists all, the default first.
func Scenarios() []Scenario {
	one := func(name, about string, e Engine, l Load) Scenario {
		l.Name, l.Engines = name, []string{e.ID}
		return Scenario{Name: name, About: about, Engines: []Engine{e}, Loads: []Load{l}}
	}
	limited := chatEngine("a")
	limited.MaxQueued, limited.MaxSeqs = 16, 48
	starved := chatEngine("a")
	starved.Blocks = 1400
	double := codeEngine("a")
	double.Ranks, double.MultiProcess = 2, true
	torn := chatEngine("a")
	torn.Torn = 0.05
	failing := people
	failing.Error, failing.Whole = 0.03, 0.4
	hasty := people
	hasty.Cancel, hasty.CancelAfter, hasty.Patience, hasty.Retries = 0.25, 1.5, 1.2, 2
	rude := people
	rude.Retries, rude.Patience = 2, 0

	restart := one("restart", "the process is replaced every ten minutes, with all that it was working on", chatEngine("a"), Load{Rate: Constant(12), Mix: Chat, Habits: people})
	restart.Outages = []Outage{{Engine: "a", After: 250, Every: 600, Down: 45}}
	crash := one("crash", "the engine core dies every ten minutes; its front end notices after a second or two", chatEngine("a"), Load{Rate: Constant(12), Mix: Chat, Habits: people})
	crash.Outages = []Outage{{Engine: "a", After: 250, Every: 600, Down: 60, Crash: true}}

	hot := one("throttled", "the GPU runs hot for four minutes of every fifteen: its clocks are held down, and steps take almost twice as long", chatEngine("a"), Load{Rate: Constant(12), Mix: Chat, Habits: people})
	hot.GPUEvents = []GPUEvent{{Engine: "a", After: 240, Every: 900, Throttle: HardwareThermal, For: 240, Slow: 1.9}}
	pair := codeEngine("a")
	pair.GPU.Count = 2
	fallen := one("gpu-lost", "one of the two GPUs under an engine falls off the bus every fifteen minutes; the engine dies, and both are back two minutes later", pair, Load{Rate: Constant(3), Mix: CodeAgent, Habits: people})
	fallen.Outages = []Outage{{Engine: "a", After: 300, Every: 900, Down: 120, Crash: true, Lost: true}}

	return []Scenario{
		fleet(),
		one("steady", "one chat engine at half of its capacity", chatEngine("a"), Load{Rate: Constant(11), Mix: Chat, Habits: people}),
		one("ramp", "load climbs past the knee within ten minutes and falls back: goodput collapses while throughput holds", chatEngine("a"),
			Load{Rate: Rate{Points: []Point{{0, 8}, {600, 25}, {900, 8}}, Period: 900}, Mix: Chat, Habits: people}),
		one("bursty", "the same mean load as steady, in bursts", chatEngine("a"), Load{Rate: Constant(11), Burst: &Burst{High: 2.5, Low: 0.5, HighS: 10, LowS: 30}, Mix: Chat, Habits: people}),
		one("diurnal", "a day's traffic in twenty minutes", chatEngine("a"), Load{Rate: Diurnal(13, 0.6, 1200), Mix: Chat, Habits: people}),
		one("closed-loop", "sixty clients that wait for their answers: a load that slows down with the engine", chatEngine("a"), Load{Closed: &Closed{Clients: 60, Think: 2}, Mix: Chat}),
		one("kv", "too little memory for the load: sequences are preempted and computed again", starved, Load{Rate: Rate{Points: []Point{{0, 3}, {600, 10}, {900, 3}}, Period: 900}, Mix: Chat, Habits: people}),
		one("rejections", "an admission limit sheds load, before the headers and inside a 200", limited, Load{Rate: Rate{Points: []Point{{0, 8}, {600, 24}, {900, 8}}, Period: 900}, Mix: Chat, Habits: rude}),
		one("impatience", "clients that give up, before and after the first token, and try again", chatEngine("a"), Load{Rate: Rate{Points: []Point{{0, 8}, {600, 24}, {900, 8}}, Period: 900}, Mix: Chat, Habits: hasty}),
		one("errors", "three of a hundred sequences end in an error of the engine, as a 500 or inside a 200", chatEngine("a"), Load{Rate: Constant(11), Mix: Chat, Habits: failing}),
		restart,
		crash,
		one("data-parallel", "two ranks behind one address, on a page without created timestamps", double, Load{Rate: Constant(7), Mix: CodeAgent, Habits: people}),
		one("prefixes", "a code agent whose long prompts begin alike, so that most of them is found in the cache", codeEngine("a"), Load{Rate: Constant(4), Mix: CodeAgent, Habits: people}),
		one("rag", "retrieved passages: long prompts, short answers", chatEngine("a"), Load{Rate: Constant(2.4), Mix: RAG, Habits: people}),
		one("long-document", "prompts of twelve thousand tokens, computed in chunks between other sequences' tokens", chatEngine("a"), Load{Rate: Constant(0.45), Mix: LongDocument, Habits: people}),
		one("reasoning", "answers of two thousand tokens", chatEngine("a"), Load{Rate: Constant(2.6), Mix: Reasoning, Habits: people}),
		one("torn-pages", "one page of twenty is rendered amid an update", torn, Load{Rate: Constant(14), Mix: Chat, Habits: people}),
		hot,
		fallen,
	}
}

// named is a tracer whose spans name their engine, as they must where several engines are on a node.
func named(id string, ratio float64) *Tracing {
	return &Tracing{Attributes: []Attribute{{"goodput.engine", id}}, Ratio: ratio}
}

// fleet is the default demo: a node with two models on four engines, one of them data parallel, one that drifts past its knee
// and back, one that crashes now and then. Two send a span for each request, one for nine in ten, and one sends none.
func fleet() Scenario {
	chat1, chat2 := chatEngine("chat-1"), chatEngine("chat-2")
	code1, code2 := codeEngine("code-dp"), codeEngine("code-2")
	code1.Ranks, code1.MultiProcess = 2, true
	chat2.Torn = 0.01
	chat1.Tracing, chat2.Tracing, code1.Tracing = named("chat-1", 1), named("chat-2", 0.9), named("code-dp", 1)
	return Scenario{
		Name: "fleet", About: "two models on four engines: one data parallel, one drifting past its knee and back, one crashing now and then; two send all their spans, one sends nine in ten, one none",
		Engines: []Engine{chat1, chat2, code1, code2},
		Loads: []Load{
			{Name: "chat", Engines: []string{"chat-1"}, Rate: Diurnal(13, 0.3, 3600), Mix: Chat, Habits: people},
			{Name: "drift", Engines: []string{"chat-2"}, Rate: Rate{Points: []Point{{0, 11}, {600, 12}, {1200, 25}, {1380, 25}, {1800, 12}, {2400, 11}}, Period: 2400}, Mix: Chat, Habits: people},
			{Name: "agents", Engines: []string{"code-dp"}, Rate: Constant(6.2), Burst: &Burst{High: 1.6, Low: 0.8, HighS: 20, LowS: 60}, Mix: CodeAgent, Habits: people},
			{Name: "complete", Engines: []string{"code-2"}, Rate: Constant(3), Mix: CodeAgent, Habits: people},
		},
		Outages: []Outage{{Engine: "code-2", After: 1500, Every: 3600, Down: 75, Crash: true}},
	}
}
