package spans

import (
	"encoding/base64"
	"encoding/hex"
	"reflect"
	"regexp"
	"testing"

	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
)

var ids = regexp.MustCompile(`"(traceId|spanId|parentSpanId)": *"([^"]*)"`)

// otlpJSON is a message as OTLP's JSON: protobuf's, with ids in hex.
func otlpJSON(t testing.TB, m proto.Message) []byte {
	t.Helper()
	text, err := protojson.MarshalOptions{UseEnumNumbers: true}.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	return ids.ReplaceAllFunc(text, func(id []byte) []byte {
		parts := ids.FindSubmatch(id)
		raw, err := base64.StdEncoding.DecodeString(string(parts[2]))
		if err != nil {
			t.Fatal(err)
		}
		return []byte(`"` + string(parts[1]) + `":"` + hex.EncodeToString(raw) + `"`)
	})
}

func asJSON(body []byte) Message {
	m := protobuf(body)
	m.ContentType = "application/json; charset=utf-8"
	return m
}

// What engines sent says the same in JSON.
func TestJSONSaysWhatProtobufSays(t *testing.T) {
	for _, name := range []string{"vllm-0.11-day", "vllm-0.32-dp2"} {
		d := decoder("service.name")
		for i, m := range recorded(t, name)[:12] {
			var data tracepb.TracesData
			if err := proto.Unmarshal(m.Body, &data); err != nil {
				t.Fatal(err)
			}
			inJSON := m
			inJSON.ContentType, inJSON.Body = "application/json", otlpJSON(t, &data)
			want, err := d.Decode(m)
			if err != nil {
				t.Fatal(err)
			}
			got, err := d.Decode(inJSON)
			if err != nil || !reflect.DeepEqual(got, want) {
				t.Fatalf("%s, message %d: %v; %d spans and %d others, want %d and %d", name, i, err, len(got.Spans), got.Other, len(want.Spans), want.Other)
			}
		}
	}
}

// The example of the specification's repository, shortened, with what exporters do differently.
func TestJSONAsItIsWrittenByHand(t *testing.T) {
	body := []byte(`{"resourceSpans": [{
		"resource": {"attributes": [{"key": "goodput.engine", "value": {"stringValue": "a"}}, {"key": "list", "value": {"arrayValue": {"values": [{"intValue": "1"}]}}}]},
		"scopeSpans": [{"scope": {"name": "s"}, "spans": [{
			"traceId": "5B8EFFF798038103D269B633813FC60C", "spanId": "eee19b7ec3c1b174", "parentSpanId": "", "flags": 1,
			"name": "llm_request", "kind": 2, "startTimeUnixNano": 1799999998000000000, "endTimeUnixNano": "1799999999000000000",
			"unknown": {"deep": [[[{}]]]}, "status": {}, "events": null,
			"attributes": [
				{"key": "gen_ai.latency.time_to_first_token", "value": {"doubleValue": "0.25"}}, {"key": "gen_ai.latency.e2e", "value": {"doubleValue": 1}},
				{"key": "gen_ai.latency.time_in_queue", "value": {"intValue": 0}}, {"key": "gen_ai.usage.prompt_tokens", "value": {"intValue": "100"}},
				{"key": "gen_ai.usage.completion_tokens", "value": {"intValue": 1e1}}, {"key": "gen_ai.request.id", "value": {"stringValue": "id-\u00e9"}},
				{"key": "stream", "value": {"boolValue": true}}, {"key": "nothing", "value": {}}, {"key": "nothing"}
			]}, {"name": "other"}]}]}], "later": 7}`)
	b, err := decoder("stream").Decode(asJSON(body))
	if err != nil || len(b.Spans) != 1 || b.Other != 1 || len(b.Refused) > 0 {
		t.Fatalf("got %+v, %v", b, err)
	}
	s := b.Spans[0]
	if s.Trace[0] != 0x5b || s.ID[7] != 0x74 || s.Parent != [8]byte{} || s.Call != "id-é" || s.Origin.Engine != "a" || s.End != 1799999999 ||
		s.PromptTokens != 100 || s.OutputTokens != 10 || s.Decode != 0.75 || s.Attributes[0].Value != "true" {
		t.Errorf("got %+v %+v", s, s.Origin)
	}
}

func TestJSONNumbersOfEitherSpelling(t *testing.T) {
	for _, text := range []string{`"NaN"`, `"Infinity"`, `"-Infinity"`} {
		body := otlpJSON(t, export(nil, request(0)))
		body = regexp.MustCompile(`(time_in_queue", *"value": *\{"doubleValue": *)[0-9.]+`).ReplaceAll(body, []byte("${1}"+text))
		if b, err := decoder().Decode(asJSON(body)); err != nil || len(b.Refused) != 1 || b.Refused[0].Reason != ReasonNotFinite {
			t.Errorf("%s: got %+v, %v", text, b.Refused, err)
		}
	}
}
