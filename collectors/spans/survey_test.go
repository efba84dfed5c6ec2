package spans

import (
	"testing"

	"github.com/goodput-exporter/goodput-exporter/exporter/fact"
)

// surveyed adds up a survey: spans of requests, and others.
func surveyed(s *Survey) (requests, others uint64) {
	for _, r := range s.Resources {
		for name, n := range r.Spans {
			if name == "llm_request" {
				requests += n
			} else {
				others += n
			}
		}
	}
	return requests, others
}

// TestSurveyCountsWhatDecodeCounts on everything that real engines have sent.
func TestSurveyCountsWhatDecodeCounts(t *testing.T) {
	for _, name := range []string{"vllm-0.32-day", "vllm-0.11-day", "vllm-0.32-dp2"} {
		t.Run(name, func(t *testing.T) {
			d := decoder()
			origins, services := map[fact.Origin]bool{}, map[string]bool{}
			total := uint64(0)
			for _, m := range recorded(t, name) {
				survey, err := d.Survey(m)
				if err != nil {
					t.Fatal(err)
				}
				batch, err := d.Decode(m)
				if err != nil {
					t.Fatal(err)
				}
				requests, others := surveyed(&survey)
				if requests != uint64(len(batch.Spans))+batch.Rejected() || others != batch.Other || survey.Bytes != len(m.Body) {
					t.Fatalf("%d requests and %d others in %d bytes, decoded %d and %d of %d", requests, others, survey.Bytes, len(batch.Spans), batch.Other, len(m.Body))
				}
				total += requests
				for _, r := range survey.Resources {
					services[r.Service] = true
					origins[r.Origin] = true
				}
				for _, s := range batch.Spans {
					if !origins[*s.Origin] {
						t.Fatalf("the survey does not know %+v", *s.Origin)
					}
				}
			}
			if total == 0 || len(services) == 0 || services[""] {
				t.Errorf("%d requests of services %v", total, services)
			}
		})
	}
}

// FuzzSurvey: whatever is sent, both ways of reading it agree.
func FuzzSurvey(f *testing.F) {
	small := export(with{"goodput.engine": "a", "service.name": "s"}, request(0), other())
	f.Add(wire(f, small), byte(0))
	f.Add(otlpJSON(f, small), byte(1))
	f.Add(zipped(f, wire(f, small)), byte(2))
	d := decoder()
	f.Fuzz(func(t *testing.T, body []byte, kind byte) {
		m := protobuf(body)
		if kind&1 != 0 {
			m.ContentType = "application/json"
		}
		if kind&2 != 0 {
			m.ContentEncoding = "gzip"
		}
		batch, err := d.Decode(m)
		survey, bad := d.Survey(m)
		if err != nil || bad != nil {
			return // a survey reads every resource and no attribute of a span, Decode the reverse
		}
		requests, others := surveyed(&survey)
		if requests != uint64(len(batch.Spans))+batch.Rejected() || others != batch.Other {
			t.Fatalf("surveyed %d requests and %d others, decoded %d, %d refused and %d others", requests, others, len(batch.Spans), batch.Rejected(), batch.Other)
		}
	})
}
