package sim

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"github.com/goodput-exporter/goodput-exporter/internal/jsonlines"
)

// toldSpan is a span of a finished sequence as whoever takes it in reads it.
type toldSpan struct {
	message  int
	at       float64 // when it came
	instance string
	trace    [16]byte
	parent   string
	call     string
	end      float64 // start + e2e
	values   [6]float64
	tokens   [2]int64
	texts    map[string]string // of the span
}

// inbox takes in messages.
type inbox struct {
	messages []Message
	spans    []toldSpan
	others   map[string]int // by name
}

// takeIn makes every engine of a configuration that has no tracer send spans, and reads them.
func takeIn(t testing.TB, c *Config, tracing Tracing) *inbox {
	in := &inbox{others: map[string]int{}}
	for i := range c.Engines {
		if c.Engines[i].Tracing == nil {
			c.Engines[i].Tracing = &tracing
		}
	}
	c.Spans = func(m Message) {
		requests := len(in.spans)
		in.read(t, m)
		if got := len(in.spans) - requests; got != m.Requests {
			t.Errorf("a message of %d sequences says that it has %d", got, m.Requests)
		}
		in.messages = append(in.messages, m)
	}
	return in
}

func decoded(t testing.TB, body []byte) *tracepb.TracesData {
	t.Helper()
	var data tracepb.TracesData
	if err := proto.Unmarshal(body, &data); err != nil {
		t.Fatal(err)
	}
	return &data
}

func (in *inbox) read(t testing.TB, m Message) {
	t.Helper()
	for _, of := range decoded(t, m.Body).ResourceSpans {
		instance := textsOf(of.Resource.Attributes)["service.instance.id"]
		for _, scope := range of.ScopeSpans {
			for _, s := range scope.Spans {
				if s.Name != "llm_request" {
					in.others[s.Name]++
					continue
				}
				in.spans = append(in.spans, readSpan(s, toldSpan{message: len(in.messages), at: m.At, instance: instance}))
			}
		}
	}
}

func readSpan(s *tracepb.Span, out toldSpan) toldSpan {
	out.trace, out.parent, out.texts = [16]byte(s.TraceId), string(s.ParentSpanId), textsOf(s.Attributes)
	out.call = out.texts["gen_ai.request.id"]
	doubles := map[string]float64{}
	ints := map[string]int64{}
	for _, a := range s.Attributes {
		doubles[a.Key], ints[a.Key] = a.Value.GetDoubleValue(), a.Value.GetIntValue()
	}
	for i, key := range []string{"time_to_first_token", "e2e", "time_in_queue", "time_in_model_prefill", "time_in_model_decode", "time_in_model_inference"} {
		out.values[i] = doubles["gen_ai.latency."+key]
	}
	out.tokens = [2]int64{ints["gen_ai.usage.prompt_tokens"], ints["gen_ai.usage.completion_tokens"]}
	out.end = float64(s.StartTimeUnixNano)/1e9 + out.values[1]
	return out
}

func textsOf(attributes []*commonpb.KeyValue) map[string]string {
	texts := map[string]string{}
	for _, a := range attributes {
		if v, is := a.Value.Value.(*commonpb.AnyValue_StringValue); is {
			texts[a.Key] = v.StringValue
		}
	}
	return texts
}

// worldOfSpans is anyWorld with what its tracers send. None of its engines dies.
func worldOfSpans(t testing.TB, seed uint64, tracing Tracing) (*told, *inbox) {
	c := anyWorld(seed)
	c.Outages = nil
	truth := listen(&c)
	in := takeIn(t, &c, tracing)
	w := run(t, c, 300)
	if !w.idle() {
		t.Fatalf("world %d is still at work", seed)
	}
	return truth, in
}

// key is by what a span and the truth of a sequence are held together: the request, and the values in microseconds.
func key(request string, values ...float64) string {
	for _, v := range values {
		request += fmt.Sprintf(" %.6f", v)
	}
	return request
}

func (s *toldSpan) key() string {
	return key(s.call, s.values[0], s.values[1], s.values[2], s.values[3], s.values[4], float64(s.tokens[0]), float64(s.tokens[1]))
}

func (s *Sequence) key() string {
	v := s.Values
	return key(fmt.Sprintf("chatcmpl-r%d", s.Request), v.TTFT, v.E2E, v.Queue, v.Prefill, v.Decode, float64(v.PromptTokens), float64(v.OutputTokens))
}

// TestEveryFinishedSequenceHasOneSpan: with its values, and with its end. What did not finish has none.
func TestEveryFinishedSequenceHasOneSpan(t *testing.T) {
	for seed := range uint64(worlds) {
		truth, in := worldOfSpans(t, seed, Tracing{Foreign: seed%2 == 0})
		want := map[string][]float64{}
		for _, s := range truth.sequences {
			want[s.key()] = append(want[s.key()], s.Values.End)
		}
		for _, s := range in.spans {
			ends := want[s.key()]
			at := slices.IndexFunc(ends, func(end float64) bool { return math.Abs(end-s.end) < 2e-6 })
			if at < 0 {
				t.Fatalf("world %d: a span of nothing that finished: %s at %f, not %v", seed, s.key(), s.end-start, ends)
			}
			want[s.key()] = slices.Delete(ends, at, at+1)
			if math.Abs(s.values[5]-s.values[3]-s.values[4]) > 1e-9 {
				t.Fatalf("world %d: inference is not prefill and decode: %s", seed, s.key())
			}
		}
		if len(in.spans) != len(truth.sequences) || len(in.spans) < 100 {
			t.Errorf("world %d: %d spans of %d sequences", seed, len(in.spans), len(truth.sequences))
		}
		if seed%2 == 1 && len(in.others) == 0 {
			t.Errorf("world %d: no span of the start", seed)
		}
	}
}

// TestTracingChangesNothingElse: a world whose engines send spans is, page by page and request by request, the one in which
// they do not.
func TestTracingChangesNothingElse(t *testing.T) {
	for seed := range uint64(worlds) {
		plain, traced := anyWorld(seed), anyWorld(seed)
		without, with := listen(&plain), listen(&traced)
		in := takeIn(t, &traced, Tracing{Foreign: true, Queue: 64, Batch: 16, Export: 0.5, Ratio: 0.7})
		for i := range traced.Loads {
			traced.Loads[i].Caller = &Caller{Ratio: 0.5}
		}
		a, b := build(t, plain), build(t, traced)
		for range 9 {
			a.Run(a.Now() + 10)
			b.Run(b.Now() + 10)
			if !bytes.Equal(pages(a), pages(b)) {
				t.Fatalf("world %d differs at %.0f s", seed, a.Now()-start)
			}
		}
		if !reflect.DeepEqual(without, with) {
			t.Errorf("world %d: another truth", seed)
		}
		if len(in.spans) == 0 {
			t.Errorf("world %d: no spans", seed)
		}
	}
}

// TestMessagesDoNotDependOnTheLooker: they are the same, at the same times, in whatever steps a world is run.
func TestMessagesDoNotDependOnTheLooker(t *testing.T) {
	for seed := range uint64(worlds / 3) {
		messages := func(step float64) []Message {
			c := anyWorld(seed)
			in := takeIn(t, &c, Tracing{Foreign: true})
			w := build(t, c)
			for w.Now() < start+80 {
				w.Run(w.Now() + step)
				pages(w)
			}
			w.Run(start + 90)
			return in.messages
		}
		if a, b := messages(40), messages(1.7); !reflect.DeepEqual(a, b) || len(a) < 10 {
			t.Errorf("world %d: %d messages and %d", seed, len(a), len(b))
		}
	}
}

// one is a world of one engine with a steady load.
func one(rate float64, tracing *Tracing) Config {
	return Config{
		Seed: 5, Start: start, Engines: []Engine{{ID: "a", Model: "m", Step: H100, Tracing: tracing}},
		Loads: []Load{{Name: "l", Engines: []string{"a"}, Rate: Constant(rate), Mix: fixed(100, 20)}},
	}
}

// TestBatches: a message every five seconds, so that a span comes after half of that in the mean; or as soon as a batch is full.
func TestBatches(t *testing.T) {
	for name, test := range map[string]struct {
		tracing         Tracing
		least, most     int     // messages in a minute
		latest, largest float64 // lag in seconds, spans in one
	}{
		"the defaults":                {Tracing{}, 12, 14, 5.5, 512},
		"small batches do not wait":   {Tracing{Batch: 20}, 60, 64, 5.5, 20},
		"a long delay":                {Tracing{Delay: 20}, 3, 6, 20.6, 512},
		"the exports take their time": {Tracing{Export: 5}, 5, 10, 30, 512},
	} {
		t.Run(name, func(t *testing.T) {
			c := one(20, &test.tracing)
			c.Stop = 60
			truth, in := listen(&c), takeIn(t, &c, Tracing{})
			run(t, c, 120)
			if len(in.spans) != len(truth.sequences) {
				t.Errorf("%d spans of %d sequences", len(in.spans), len(truth.sequences))
			}
			minute, previous := 0, 0.0
			of := map[int]int{}
			for i, m := range in.messages {
				if m.Engine != "a" || m.Peer != "127.0.0.1" || m.At < previous {
					t.Fatalf("message %d from %s of %s at %f", i, m.Peer, m.Engine, m.At)
				}
				if previous = m.At; m.Requests > 0 && m.At < start+62 {
					minute++
				}
			}
			lags := 0.0
			for _, s := range in.spans {
				of[s.message]++
				lags += s.at - s.end
				if lag := s.at - s.end; lag < 0 || lag > test.latest {
					t.Fatalf("a span came %.2f s after its end", lag)
				}
			}
			largest := slices.Max(slices.Collect(maps.Values(of)))
			if minute < test.least || minute > test.most || float64(largest) > test.largest {
				t.Errorf("%d messages of up to %d spans", minute, largest)
			}
			if mean := lags / float64(len(in.spans)); name == "the defaults" && (mean < 2.2 || mean > 2.9) {
				t.Errorf("lag %.2f s in the mean; real ones have 2.6 s", mean)
			}
		})
	}
}

// TestAFullQueueDropsTheOldest, silently: nothing else comes out of order, and nothing twice.
func TestAFullQueueDropsTheOldest(t *testing.T) {
	c := one(20, &Tracing{Queue: 40, Batch: 10, Export: 2})
	c.Stop = 100
	truth, in := listen(&c), takeIn(t, &c, Tracing{})
	w := run(t, c, 200)
	dropped := w.endpoints[0].tracers[0].dropped
	if got, all := len(in.spans), len(truth.sequences); got+dropped < all || got+dropped > all+2 || dropped < all/3 { // two of the start may be among them
		t.Errorf("%d spans came and %d were dropped of %d", got, dropped, all)
	}
	for i, s := range in.spans[1:] {
		if s.end < in.spans[i].end-1e-6 { // the ends of one step differ by roundings
			t.Fatal("a span came before an earlier one")
		}
		if lag := s.at - s.end; lag > 25 {
			t.Fatalf("a span waited %.1f s: the newest ones were dropped", lag)
		}
	}
}

// TestSampling keeps whole traces: by the caller's word where there is one, else by the engine's own ratio.
func TestSampling(t *testing.T) {
	for name, test := range map[string]struct {
		ratio  float64
		caller *Caller
		want   float64
	}{
		"a tenth":                             {0.1, nil, 0.1},
		"the caller decides":                  {0.1, &Caller{}, 1},
		"the caller samples a half":           {1, &Caller{Ratio: 0.5}, 0.5},
		"the engine does not sample it again": {0.5, &Caller{Ratio: 0.5}, 0.5},
	} {
		t.Run(name, func(t *testing.T) {
			c := one(20, &Tracing{Ratio: test.ratio})
			c.Stop, c.Loads[0].Caller = 150, test.caller
			c.Loads[0].Habits = Habits{Two: 0.5}
			truth, in := listen(&c), takeIn(t, &c, Tracing{})
			run(t, c, 200)
			n := float64(len(truth.sequences))
			if got := float64(len(in.spans)); math.Abs(got-n*test.want) > 4*math.Sqrt(2*n*test.want*(1-test.want)) {
				t.Errorf("%g spans of %g sequences", got, n)
			}
			traces, calls := map[[16]byte]map[string]int{}, map[string]int{}
			for _, s := range in.spans {
				if traces[s.trace] == nil {
					traces[s.trace] = map[string]int{}
				}
				traces[s.trace][s.call]++
				calls[s.call]++
			}
			two := 0
			for trace, of := range traces {
				for call, n := range of {
					if test.caller == nil && n != 1 || test.caller != nil && (len(of) != 1 || n != calls[call]) {
						t.Fatalf("trace %x has %v", trace, of)
					}
					two += n / 2
				}
			}
			if test.caller != nil && two < 100 { // the engine begins a trace for each sequence, a caller one for the request
				t.Errorf("%d requests of two sequences in one trace", two)
			}
		})
	}
}

// TestRetriesShareATrace: all attempts at the same work are of one trace, each a request of its own for the engine and a span
// of its own for the caller.
func TestRetriesShareATrace(t *testing.T) {
	c := one(4, &Tracing{})
	c.Engines = append(c.Engines, Engine{ID: "b", Model: "m", Step: H100, Tracing: &Tracing{}})
	c.Loads[0].Engines = []string{"a", "b"}
	c.Loads[0].Habits = Habits{Error: 0.3, Retries: 2, Backoff: 0.1}
	c.Loads[0].Caller = &Caller{Attributes: []Attribute{{"tenant", "acme"}}}
	c.Stop = 60
	truth, in := listen(&c), takeIn(t, &c, Tracing{})
	run(t, c, 120)
	logical := map[string]uint64{}
	for _, r := range truth.requests {
		logical[fmt.Sprintf("chatcmpl-r%d", r.ID)] = r.Logical
	}
	traces, parents := map[uint64][16]byte{}, map[string]bool{}
	again := 0
	for _, s := range in.spans {
		work := logical[s.call]
		if first, seen := traces[work]; seen {
			again++
			if first != s.trace {
				t.Fatalf("two traces of one work: %x and %x", first, s.trace)
			}
		}
		traces[work] = s.trace
		if len(s.parent) != 8 || parents[s.parent] || s.texts["tenant"] != "acme" {
			t.Fatalf("parent %x of %s", s.parent, s.call)
		}
		parents[s.parent] = true
	}
	distinct := map[[16]byte]bool{}
	for _, trace := range traces {
		distinct[trace] = true
	}
	if again < 20 || len(distinct) != len(traces) || len(in.spans) != len(truth.requests) {
		t.Errorf("%d further attempts, %d traces of %d works, %d spans of %d requests", again, len(distinct), len(traces), len(in.spans), len(truth.requests))
	}
}

// TestProcessesTellOfThemselves: each API server of each process has an instance id of its own. One that is killed takes what
// waits with it; one that ends because its engine core died sends it first.
func TestProcessesTellOfThemselves(t *testing.T) {
	for name, crash := range map[string]bool{"killed": false, "its core died": true} {
		t.Run(name, func(t *testing.T) {
			c := one(20, &Tracing{Attributes: []Attribute{{"goodput.engine", "a"}}})
			c.Engines[0].Ranks, c.Engines[0].MultiProcess = 2, true
			c.Outages = []Outage{{Engine: "a", After: 60, Down: 10, Crash: crash}}
			c.Stop = 120
			truth, in := listen(&c), takeIn(t, &c, Tracing{})
			run(t, c, 200)
			instances := map[string]int{}
			calls := map[string]string{}
			for _, s := range in.spans {
				instances[s.instance]++
				if first, seen := calls[s.call]; seen && first != s.instance {
					t.Errorf("%s was told by two processes", s.call)
				}
				calls[s.call] = s.instance
			}
			if len(instances) != 4 || slices.Min(slices.Collect(maps.Values(instances))) < 200 {
				t.Errorf("spans by instance: %v", instances)
			}
			missing := 0
			for _, s := range truth.sequences {
				if calls[fmt.Sprintf("chatcmpl-r%d", s.Request)] == "" {
					if missing++; s.Values.End < start+60-5.1 || s.Values.End > start+60 {
						t.Errorf("no span of what ended at %.1f s", s.Values.End-start)
					}
				}
			}
			if (missing > 0) == crash {
				t.Errorf("%d spans are missing", missing)
			}
			if texts := textsOf(decoded(t, in.messages[0].Body).ResourceSpans[0].Resource.Attributes); texts["goodput.engine"] != "a" {
				t.Errorf("the resource says %v", texts)
			}
		})
	}
}

// shape is everything of a span that is the same on all of its kind.
func shape(of *tracepb.ResourceSpans, in *tracepb.ScopeSpans, s *tracepb.Span) string {
	keys := func(attributes []*commonpb.KeyValue) (list []string) {
		for _, a := range attributes {
			list = append(list, fmt.Sprintf("%s %T", a.Key, a.Value.Value))
		}
		return list
	}
	// Which start-up span of a process is the root of its trace is not looked at.
	request := ""
	if s.Kind == tracepb.Span_SPAN_KIND_SERVER {
		request = fmt.Sprintf("flags %x, %d bytes of a parent", s.Flags, len(s.ParentSpanId))
	}
	return fmt.Sprintf("%v\n %s %q %q %v\n %s %s %v %q %d %d %s\n %v", keys(of.Resource.Attributes), in.Scope.Name, in.Scope.Version, in.SchemaUrl, in.Scope.Attributes,
		s.Name, s.Kind, s.Status, s.TraceState, len(s.Events), len(s.Links), request, keys(s.Attributes))
}

func shapes(t testing.TB, into map[string]map[string]bool, body []byte) {
	for _, of := range decoded(t, body).ResourceSpans {
		for _, in := range of.ScopeSpans {
			for _, s := range in.Spans {
				if into[s.Name] == nil {
					into[s.Name] = map[string]bool{}
				}
				into[s.Name][shape(of, in, s)] = true
			}
		}
	}
}

// recordedBatches are the messages of a recording.
func recordedBatches(t testing.TB, name string) (bodies [][]byte) {
	jsonlines.Each(t, "../../testdata/recordings/"+name+"/recording.jsonl.gz", func(line []byte) {
		if !bytes.Contains(line, []byte(`"spans"`)) {
			return
		}
		var l struct {
			Kind, Path  string
			ContentType string `json:"content_type"`
			Body        []byte `json:"body_base64"`
		}
		if err := json.Unmarshal(line, &l); err != nil {
			t.Fatal(err)
		}
		if l.Path != SpansPath || l.ContentType != SpansContentType {
			t.Fatalf("a message of %s to %s", l.ContentType, l.Path)
		}
		bodies = append(bodies, l.Body)
	})
	return bodies
}

// TestSpansAreRealOnes compares all that is the same on all spans of a kind with those of real engines: resources, scopes,
// names, the keys of attributes in their order and the types of their values.
func TestSpansAreRealOnes(t *testing.T) {
	for name, test := range map[string]struct {
		engine Engine
		names  []string // that must have been compared
	}{
		"vllm-0.32-day": {realSingle, []string{"llm_request", "Overall Loading", "AsyncMPClient init", "EngineCoreProc init", "Load model", "Allocate KV cache"}},
		"vllm-0.32-dp2": {realDouble, []string{"llm_request", "Overall Loading"}},
		"vllm-0.11-day": {
			Engine{ID: "e", Dialect: V1Old, Model: "demo", Step: H100, Handler: "/v1/completions", Tracing: &Tracing{Foreign: true}},
			[]string{"llm_request", "fastapi.dependencies", "fastapi.endpoint", "GET /metrics", "POST /v1/completions"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			real, ours := map[string]map[string]bool{}, map[string]map[string]bool{}
			for _, body := range recordedBatches(t, name) {
				shapes(t, real, body)
			}
			c := Config{Start: start, Engines: []Engine{test.engine}, Loads: []Load{{
				Engines: []string{"e"}, Rate: Constant(4), Mix: fixed(100, 40), Habits: Habits{Cancel: 0.1, CancelAfter: 0.1, Bad: 0.1},
			}}}
			in := takeIn(t, &c, Tracing{})
			run(t, c, 60)
			for _, m := range in.messages {
				shapes(t, ours, m.Body)
			}
			for kind, of := range ours {
				if strings.HasPrefix(kind, "Worker init") {
					continue // two scopes have a span of this name
				}
				for s := range of {
					if real[kind] != nil && !real[kind][s] {
						t.Errorf("got\n%s\nwant one of\n%s", s, strings.Join(slices.Collect(maps.Keys(real[kind])), "\n"))
					}
				}
			}
			for _, kind := range test.names {
				if ours[kind] == nil || real[kind] == nil {
					t.Errorf("no %s was compared", kind)
				}
			}
		})
	}
}

// TestForeignSpans: three for each response, and for each of the scrapes that are thought of.
func TestForeignSpans(t *testing.T) {
	c := one(5, &Tracing{Foreign: true})
	c.Engines[0].Dialect, c.Stop = V1Old, 60
	c.Loads[0].Habits = Habits{Cancel: 0.2, CancelAfter: 0.1, Bad: 0.1}
	truth, in := listen(&c), takeIn(t, &c, Tracing{})
	run(t, c, 100)
	posts, scrapes := in.others["POST /v1/chat/completions"], in.others["GET /metrics"]
	if posts != len(truth.requests) || scrapes < 5 || scrapes > 7 || in.others["fastapi.endpoint"] != posts+scrapes || in.others["fastapi.dependencies"] != posts+scrapes || len(in.others) != 4 {
		t.Errorf("%d requests, spans %v", len(truth.requests), in.others)
	}
}

// TestForeignSpansFillABatch: those of scrapes are added when a batch is put together, and may fill it.
func TestForeignSpansFillABatch(t *testing.T) {
	c := one(5, &Tracing{Foreign: true, Batch: 3, Delay: 40})
	c.Engines[0].Dialect, c.Stop = V1Old, 1
	in := takeIn(t, &c, Tracing{})
	run(t, c, 200)
	if scrapes := in.others["GET /metrics"]; scrapes < 8 || scrapes > 13 {
		t.Errorf("%d scrapes in 200 s", scrapes)
	}
}

// TestNobodyListens: without a listener the world is the same, and its tracers keep no more than their queues.
func TestNobodyListens(t *testing.T) {
	c := one(20, &Tracing{Queue: 50, Batch: 50, Export: 3})
	w := run(t, c, 100)
	if q := w.endpoints[0].tracers[0].queue; len(q) > 50 || cap(q) > 1000 {
		t.Errorf("%d spans in a queue for %d", len(q), cap(q))
	}
}

// BenchmarkTracing is BenchmarkWorld's load on one engine, without and with spans that somebody takes in.
func BenchmarkTracing(b *testing.B) {
	for _, test := range []struct {
		name    string
		tracing *Tracing
		taken   bool
	}{{"no tracer", nil, false}, {"nobody listens", &Tracing{}, false}, {"spans are taken in", &Tracing{}, true}} {
		b.Run(test.name, func(b *testing.B) {
			e := benched("a")
			e.Tracing = test.tracing
			c := Config{Start: start, Engines: []Engine{e}, Loads: []Load{{Engines: []string{"a"}, Rate: Constant(24), Mix: Chat}}}
			bytes, spans := 0, 0
			if test.taken {
				c.Spans = func(m Message) { bytes, spans = bytes+len(m.Body), spans+m.Requests }
			}
			w := run(b, c, 60)
			bytes, spans = 0, 0
			from := w.Now()
			b.ReportAllocs()
			for b.Loop() {
				w.Run(w.Now() + 1)
			}
			b.ReportMetric((w.Now()-from)/b.Elapsed().Seconds(), "x_real_time")
			if spans > 0 {
				b.ReportMetric(float64(bytes)/float64(spans), "bytes/span")
			}
		})
	}
}

// BenchmarkEncode writes a full batch.
func BenchmarkEncode(b *testing.B) {
	rng := rand.New(rand.NewPCG(1, 1))
	var e encoder
	spans := make([]span, 512)
	for i := range spans {
		spans[i] = span{trace: newTrace(rng), id: spanID(rng.Uint64()), start: start, end: start + 1, call: "chatcmpl-r1", values: spanValues{ttft: 0.1, e2e: 1, prompt: 600, output: 220}}
	}
	b.ReportAllocs()
	for b.Loop() {
		e.encode(V1, []Attribute{{"service.name", "vllm"}}, spans)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(spans)), "ns/span")
}
