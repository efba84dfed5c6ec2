package spans

import (
	"reflect"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"github.com/goodput-exporter/goodput-exporter/exporter/fact"
)

// usual is what request(0) says, from a process that says nothing of itself.
func usual() fact.Span {
	return fact.Span{
		Request: fact.Request{
			End: testReceived - 1, TTFT: 0.25, E2E: 1, Queue: 0.05, Prefill: 0.125, Decode: 0.75, PromptTokens: 100, OutputTokens: 31,
		},
		Received: testReceived, Trace: [16]byte{15: 1}, ID: [8]byte{7: 1}, Call: "cmpl-1-0", Origin: &fact.Origin{Peer: "10.0.0.7"},
	}
}

func TestASpanSaysWhatItsSenderSaid(t *testing.T) {
	for name, c := range map[string]struct {
		attributes []string
		resource   with
		change     with
		span       func(*tracepb.Span)
		want       func(*fact.Span)
	}{
		"as vLLM sends it": {},
		"whole seconds may come as integers": {
			change: with{"gen_ai.latency.e2e": 1, "gen_ai.latency.time_in_queue": 0}, want: func(s *fact.Span) { s.Queue = 0 },
		},
		"tokens may come as doubles": {
			change: with{"gen_ai.usage.prompt_tokens": 7.0, "gen_ai.usage.completion_tokens": 0.0},
			want:   func(s *fact.Span) { s.PromptTokens, s.OutputTokens = 7, 0 },
		},
		"a duration below zero by rounding is zero": {
			change: with{"gen_ai.latency.time_in_queue": -9e-7}, want: func(s *fact.Span) { s.Queue = 0 },
		},
		"the request ends at its start and e2e, not when the span was exported": {
			change: with{"gen_ai.latency.e2e": 0.9}, span: func(s *tracepb.Span) { s.EndTimeUnixNano += 5 * second },
			want: func(s *fact.Span) { s.E2E, s.End = 0.9, testReceived-2+0.9 },
		},
		"V0 tells no phases, which are defined by the first token": {
			change: with{"gen_ai.latency.time_in_model_prefill": nil, "gen_ai.latency.time_in_model_decode": nil,
				"gen_ai.latency.time_in_model_inference": nil, "gen_ai.usage.num_sequences": 1},
			want: func(s *fact.Span) { s.Prefill, s.Decode = 0.25-0.05, 0.75 },
		},
		"the caller's span is the parent": {
			span: func(s *tracepb.Span) { s.ParentSpanId = []byte("callers!") },
			want: func(s *fact.Span) { s.Parent = [8]byte([]byte("callers!")) },
		},
		"a parent of another length is none": {span: func(s *tracepb.Span) { s.ParentSpanId = []byte("call") }},
		"an engine may not name the request": {change: with{"gen_ai.request.id": nil}, want: func(s *fact.Span) { s.Call = "" }},
		"everything by which the sender can be told is kept": {
			resource: with{"goodput.engine": "a", "k8s.pod.uid": "u", "k8s.pod.name": "p", "k8s.namespace.name": "n", "service.instance.id": "i", "service.name": "x"},
			want: func(s *fact.Span) {
				s.Origin = &fact.Origin{Engine: "a", PodUID: "u", PodName: "p", PodNamespace: "n", Instance: "i", Peer: "10.0.0.7"}
			},
		},
		"wanted attributes are kept in the order of the configuration, as text, from the span or else its resource": {
			attributes: []string{"tier", "app", "n", "beta", "ratio", "none", "list", "empty"},
			resource:   with{"tier": "gold", "app": "search", "empty": "x"},
			change:     with{"tier": "silver", "n": 3, "beta": true, "ratio": 0.5, "list": []string{"a"}, "empty": ""},
			want: func(s *fact.Span) {
				s.Attributes = []fact.Attribute{{Key: "tier", Value: "silver"}, {Key: "app", Value: "search"}, {Key: "n", Value: "3"}, {Key: "beta", Value: "true"}, {Key: "ratio", Value: "0.5"}, {Key: "empty", Value: "x"}}
			},
		},
		"a value is cut between characters": {
			attributes: []string{"tier"}, change: with{"tier": strings.Repeat("é", 60)},
			want: func(s *fact.Span) { s.Attributes = []fact.Attribute{{Key: "tier", Value: strings.Repeat("é", 32)}} },
		},
		"an origin is cut": {
			resource: with{"k8s.pod.name": strings.Repeat("p", 300)},
			want:     func(s *fact.Span) { s.Origin.PodName = strings.Repeat("p", 256) },
		},
	} {
		t.Run(name, func(t *testing.T) {
			span := request(0, c.change)
			if c.span != nil {
				c.span(span)
			}
			want := usual()
			if c.want != nil {
				c.want(&want)
			}
			b, err := decoder(c.attributes...).Decode(protobuf(wire(t, export(c.resource, other(), span))))
			if err != nil || b.Other != 1 || len(b.Refused) > 0 || len(b.Spans) != 1 {
				t.Fatalf("got %+v, %v", b, err)
			}
			if !reflect.DeepEqual(b.Spans[0], want) {
				t.Errorf("got  %+v %+v\nwant %+v %+v", b.Spans[0], b.Spans[0].Origin, want, want.Origin)
			}
		})
	}
}

func TestTheOrderOfFieldsDoesNotMatter(t *testing.T) {
	data := export(with{"goodput.engine": "a"}, request(0))
	scopes, resource := wire(t, data.ResourceSpans[0].ScopeSpans[0]), wire(t, data.ResourceSpans[0].Resource)
	field := func(to []byte, n protowire.Number, b []byte) []byte {
		return protowire.AppendBytes(protowire.AppendTag(to, n, protowire.BytesType), b)
	}
	body := field(nil, 1, field(field(field(nil, 2, scopes), 77, []byte("of a later version")), 1, resource))
	b, err := decoder().Decode(protobuf(body))
	if err != nil || len(b.Spans) != 1 || b.Spans[0].Origin.Engine != "a" {
		t.Errorf("got %+v, %v: the resource stands behind its spans", b, err)
	}
}

func TestSpansShareWhatTheyHaveInCommon(t *testing.T) {
	d := decoder("tier")
	body := wire(t, export(with{"service.instance.id": "i", "tier": "gold"}, requests(3)...))
	var all []fact.Span
	for range 2 {
		b, err := d.Decode(protobuf(body))
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, b.Spans...)
	}
	for i := range all {
		if all[i].Origin != all[0].Origin {
			t.Errorf("span %d has an origin of its own", i)
		}
	}
	if &all[0].Attributes[0] != &all[2].Attributes[0] {
		t.Error("spans of one resource have copies of its attributes")
	}
}

// The batch outlives the buffer that the message was in.
func TestABatchKeepsNothingOfTheMessage(t *testing.T) {
	body := wire(t, export(with{"service.instance.id": "i", "tier": "gold"}, request(0, with{"app": "chat"})))
	m := protobuf(slices.Clone(body))
	b, err := decoder("tier", "app").Decode(m)
	if err != nil {
		t.Fatal(err)
	}
	for i := range m.Body {
		m.Body[i] = '#'
	}
	again, _ := decoder("tier", "app").Decode(protobuf(body))
	if !reflect.DeepEqual(b, again) {
		t.Errorf("the batch changed with the buffer: %+v", b.Spans)
	}
}

// The client chooses the id of its request, so a long one must not cost more, nor become equal to another.
func TestALongIDIsKeptByItsHash(t *testing.T) {
	long := strings.Repeat("x", 5000)
	a, b, c := call([]byte(long)), call([]byte(long)), call([]byte(long+"y"))
	if a != b || a == c || len(a) > maxCall || !strings.HasPrefix(a, "xxx") {
		t.Errorf("%q, %q and %q", a, b, c)
	}
}

func TestCutTextIsWhole(t *testing.T) {
	for text, want := range map[string]string{
		"abcdef": "abcd", "ab": "ab", "abcé": "abc", "abé": "abé", "a日本": "a日", "ab\xff\xfe\xfd": "ab?", "": "", "\xe6\x97": "?",
	} {
		if got := cut([]byte(text), 4); got != want || !utf8.ValidString(got) {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

func TestNamesAreThoseOfTheConfiguration(t *testing.T) {
	second := request(1)
	second.Name = "generate"
	nameless := request(2)
	nameless.Name = ""
	body := wire(t, export(nil, request(0), second, nameless, other()))
	b, err := NewDecoder([]string{"generate", "chat"}, nil, 1<<20).Decode(protobuf(body))
	if err != nil || len(b.Spans) != 1 || b.Spans[0].ID[7] != 2 || b.Other != 3 {
		t.Errorf("%d spans, %d others, %v; want generate alone", len(b.Spans), b.Other, err)
	}
}

func TestSpansOfOtherNamesAreNotLookedInto(t *testing.T) {
	bad := other()
	bad.Attributes = []*commonpb.KeyValue{attribute("x", "y")}
	body := wire(t, export(nil, bad))
	// Break what lies behind the name, within its length.
	copy(body[slices.Index(body, 'x')-2:], "\xff\xff\xff\xff")
	if b, err := decoder().Decode(protobuf(body)); err != nil || b.Other != 1 {
		t.Errorf("got %+v, %v", b, err)
	}
	if proto.Unmarshal(body, &tracepb.TracesData{}) == nil {
		t.Error("nothing is broken in the message, so this shows nothing")
	}
}
