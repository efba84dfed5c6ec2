package spans

import (
	"bytes"
	"compress/gzip"
	"runtime"
	"strings"
	"testing"

	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/encoding/protowire"
)

func TestMessagesThatCannotBeTakenAreRefusedAsAWhole(t *testing.T) {
	good := wire(t, export(nil, requests(20)...))
	manySpans := repeated(2, nil, maxSpans+1) // of two bytes each
	manyResources := repeated(1, nil, maxSpans+1)
	manyAttributes := repeated(1, []byte{}, maxAttributes+1)
	field := func(n protowire.Number, b []byte) []byte {
		return protowire.AppendBytes(protowire.AppendTag(nil, n, protowire.BytesType), b)
	}
	span := field(2, field(2, wire(t, request(0))))
	for name, c := range map[string]struct {
		body                  []byte
		contentType, encoding string
		outcome, detail       string // part of it
	}{
		"more bytes than the limit":               {body: make([]byte, 1<<20+1), outcome: TooLarge, detail: "1048576 bytes that spans.max_message allows"},
		"more bytes once inflated":                {body: zipped(t, make([]byte, 4<<20)), encoding: "gzip", outcome: TooLarge, detail: "spans.max_message"},
		"more spans than are read":                {body: field(1, field(2, manySpans)), outcome: TooLarge, detail: "131072 spans"},
		"more resources than are read":            {body: manyResources, outcome: TooLarge, detail: "131072 spans, or resources"},
		"a resource of more attributes":           {body: field(1, append(field(1, manyAttributes), span...)), outcome: TooLarge, detail: "a resource has more than 1024 attributes"},
		"a message that ends within a field":      {body: good[:len(good)-3], outcome: Malformed, detail: "in the middle of a field"},
		"a text":                                  {body: []byte("hello"), outcome: Malformed, detail: "not an OTLP export"},
		"gzip that is none":                       {body: good, encoding: "gzip", outcome: Malformed, detail: "says that it is gzipped and is not"},
		"gzip that was cut short":                 {body: zipped(t, good)[:100], encoding: "gzip", outcome: Malformed, detail: "damaged or cut short"},
		"a compression that is not read":          {body: good, encoding: "zstd", outcome: Unsupported, detail: "compression is not known"},
		"a content type that is none of OTLP's":   {body: good, contentType: "text/plain", outcome: Unsupported, detail: "content type"},
		"no content type":                         {body: good, contentType: " ", outcome: Unsupported, detail: "content type"},
		"JSON that is none":                       {body: good, contentType: "application/json", outcome: Malformed, detail: "in JSON: wrong syntax after"},
		"JSON of another shape":                   {body: []byte(`{"resourceSpans": 1}`), contentType: "application/json", outcome: Malformed, detail: "a value is of the wrong type"},
		"JSON with an id that is not hex":         {body: jsonSpans(`{"traceId": "xyz"}`), contentType: "application/json", outcome: Malformed, detail: "a value is no id in hex"},
		"JSON with a time that is no number":      {body: jsonSpans(`{"startTimeUnixNano": "noon"}`), contentType: "application/json", outcome: Malformed, detail: "a value is no integer of 64 bits"},
		"JSON with more spans than are read":      {body: jsonSpans(strings.TrimSuffix(strings.Repeat("{},", maxSpans+1), ",")), contentType: "application/json", outcome: TooLarge, detail: "131072 spans"},
		"JSON that is nested deeper than is sane": {body: []byte(`{"x":` + strings.Repeat("[", 20000)), contentType: "application/json", outcome: Malformed, detail: "wrong syntax"},
	} {
		t.Run(name, func(t *testing.T) {
			m := protobuf(c.body)
			if m.ContentEncoding = c.encoding; c.contentType != "" {
				m.ContentType = strings.TrimSpace(c.contentType)
			}
			b, err := NewDecoder([]string{"llm_request"}, nil, 1<<20).decode(m)
			if err == nil || err.Outcome != c.outcome || !strings.Contains(err.Detail, c.detail) || len(b.Spans) > 0 || b.Other > 0 || b.Refused != nil {
				t.Errorf("got %+v, %+v; want %s: %s", b, err, c.outcome, c.detail)
			}
		})
	}
}

func repeated(number protowire.Number, element []byte, n int) (all []byte) {
	for range n {
		all = protowire.AppendBytes(protowire.AppendTag(all, number, protowire.BytesType), element)
	}
	return all
}

func jsonSpans(spans string) []byte {
	return []byte(`{"resourceSpans":[{"scopeSpans":[{"spans":[` + spans + `]}]}]}`)
}

// A large inflation must be stopped where the limit is, not after it has been done.
func TestABombCostsTheLimitAtMost(t *testing.T) {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	zeros := make([]byte, 1<<20)
	for range 16 {
		if _, err := z.Write(zeros); err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	m := protobuf(b.Bytes())
	m.ContentEncoding = "gzip"
	const limit = 1 << 20
	d := NewDecoder([]string{"llm_request"}, nil, limit)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, err := d.decode(m)
	runtime.ReadMemStats(&after)
	if err == nil || err.Outcome != TooLarge {
		t.Fatalf("got %v", err)
	}
	// Growth by doubling or less adds up to a few times the limit.
	if cost := after.TotalAlloc - before.TotalAlloc; cost > 8*limit {
		t.Errorf("16 MiB in %d bytes allocated %d", b.Len(), cost)
	}
}

// JSON of many empty elements is the dearest text for its length.
func TestJSONCostsMemoryInProportionToItsText(t *testing.T) {
	empty := strings.TrimSuffix(strings.Repeat("{},", 20_000), ",")
	for name, body := range map[string][]byte{
		"resources":  []byte(`{"resourceSpans":[` + empty + `]}`),
		"scopes":     []byte(`{"resourceSpans":[{"scopeSpans":[` + empty + `]}]}`),
		"spans":      jsonSpans(empty),
		"attributes": jsonSpans(`{"name":"llm_request","attributes":[` + empty + `]}`),
		"lists":      jsonSpans(`{"x":` + strings.Repeat("[", 5000) + strings.Repeat("]", 5000) + `}`),
	} {
		t.Run(name, func(t *testing.T) {
			var before, after runtime.MemStats
			runtime.GC()
			runtime.ReadMemStats(&before)
			wire, err := fromJSON(body)
			runtime.ReadMemStats(&after)
			if err != nil {
				t.Fatal(err)
			}
			if len(wire) > 3*len(body) {
				t.Errorf("%d bytes of JSON are %d bytes of protobuf", len(body), len(wire))
			}
			// In all, not at once; most of it is encoding/json's decoders, one for each list.
			if cost := after.TotalAlloc - before.TotalAlloc; cost > 256*uint64(len(body)) {
				t.Errorf("%d bytes of text allocated %d", len(body), cost)
			}
		})
	}
}

// The message with the most requests for its bytes that can be taken.
func TestAsManySpansAsAllowedAreTaken(t *testing.T) {
	var all []*tracepb.Span
	for range 20_000 {
		all = append(all, &tracepb.Span{Name: "x"})
	}
	if b, err := decoder().Decode(protobuf(wire(t, export(nil, all...)))); err != nil || b.Other != 20_000 {
		t.Errorf("%d others, %v", b.Other, err)
	}
}
