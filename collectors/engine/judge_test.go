package engine

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"iter"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"github.com/goodput-exporter/goodput-exporter/exporter/fact"
)

// flat is one sample as the Prometheus project's parser understands it.
type flat struct {
	name   string
	labels map[string]string
	value  float64
}

// expfmtReading parses a page with expfmt's text parser and flattens the families again. The parser reads OpenMetrics
// without exemplars too, where counters only lose their type; expfmt's own OpenMetrics decoder agrees with it but takes
// seconds for a page: TestCases asks it about small ones.
func expfmtReading(body []byte) ([]flat, error) {
	p := expfmt.NewTextParser(model.UTF8Validation)
	families, err := p.TextToMetricFamilies(bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	return flattened(maps.Values(families)), nil
}

// openMetricsReading parses a page with expfmt's OpenMetrics decoder.
func openMetricsReading(body []byte) ([]flat, error) {
	var families []*dto.MetricFamily
	for dec := expfmt.NewDecoder(bytes.NewReader(body), expfmt.FmtOpenMetrics_1_0_0); ; {
		mf := new(dto.MetricFamily)
		if err := dec.Decode(mf); errors.Is(err, io.EOF) {
			return flattened(slices.Values(families)), nil
		} else if err != nil {
			return nil, err
		}
		families = append(families, mf)
	}
}

func flattened(families iter.Seq[*dto.MetricFamily]) []flat {
	var all []flat
	for mf := range families {
		for _, m := range mf.Metric {
			all = append(all, flatten(mf.GetName(), m)...)
		}
	}
	return all
}

func flatten(name string, m *dto.Metric) []flat {
	labels := func(extra ...string) map[string]string {
		l := map[string]string{}
		for _, p := range m.Label {
			l[p.GetName()] = p.GetValue()
		}
		for i := 0; i < len(extra); i += 2 {
			l[extra[i]] = extra[i+1]
		}
		return l
	}
	switch {
	case m.Counter != nil:
		return []flat{{name, labels(), m.Counter.GetValue()}}
	case m.Gauge != nil:
		return []flat{{name, labels(), m.Gauge.GetValue()}}
	case m.Untyped != nil:
		return []flat{{name, labels(), m.Untyped.GetValue()}}
	case m.Histogram != nil:
		h := m.Histogram
		all := []flat{{name + "_sum", labels(), h.GetSampleSum()}, {name + "_count", labels(), float64(h.GetSampleCount())}}
		for _, b := range h.Bucket {
			all = append(all, flat{name + "_bucket", labels("le", fmt.Sprint(b.GetUpperBound())), float64(b.GetCumulativeCount())})
		}
		return all
	}
	return nil
}

// judge compares one sample with expfmt's reading of the same page, number by number. It knows names and labels, and
// nothing of how the decoder works.
type judge struct {
	named      map[string][]flat
	complaints []string
}

// disagreement is what a sample and expfmt's reading differ in; "" when they agree.
func disagreement(s *fact.EngineSample, all []flat) string {
	j := &judge{named: map[string][]flat{}}
	for _, x := range all {
		j.named[x.name] = append(j.named[x.name], x)
	}
	for i := range s.Ranks {
		j.numbers(&s.Ranks[i])
		j.finished(&s.Ranks[i])
		j.histograms(&s.Ranks[i])
	}
	var http float64
	for _, x := range j.named["http_requests_total"] {
		http += x.value
	}
	for _, c := range s.HTTP {
		http -= float64(c.Count)
	}
	j.check("http requests beyond ours", 0, http)
	if s.Admission.Known {
		var refusals float64
		for _, x := range j.named["vllm:admission_rejections_total"] {
			refusals += x.value
		}
		j.check("admission", s.Admission.V, refusals)
	}
	if start := j.named["process_start_time_seconds"]; s.ProcessStart > 0 {
		j.check("process start", s.ProcessStart, start[0].value)
	}
	return strings.Join(j.complaints, "; ")
}

func (j *judge) check(what string, got, want float64) {
	if got != want && !(math.IsNaN(got) && math.IsNaN(want)) {
		j.complaints = append(j.complaints, fmt.Sprintf("%s: %v, expfmt says %v", what, got, want))
	}
}

// of are the samples of one name and one rank.
func (j *judge) of(r *fact.Rank, name string) (found []flat) {
	for _, x := range j.named[name] {
		if x.labels["engine"] == r.Name && x.labels["model_name"] == r.Model {
			found = append(found, x)
		}
	}
	return found
}

func (j *judge) numbers(r *fact.Rank) {
	for name, got := range map[string]fact.Number{
		"vllm:num_requests_running": r.Running, "vllm:num_requests_waiting": r.Waiting,
		"vllm:kv_cache_usage_perc": r.KVUsage, "vllm:prompt_tokens_total": r.PromptTokens,
		"vllm:generation_tokens_total": r.OutputTokens, "vllm:num_preemptions_total": r.Preemptions,
		"vllm:request_params_n_count": r.Requests,
	} {
		if found := j.of(r, name); len(found) > 0 && got.Known {
			top := math.Inf(-1)
			if name == "vllm:num_requests_waiting" {
				for _, x := range j.of(r, "vllm:num_requests_swapped") {
					got.V -= x.value // swapped sequences wait, too
				}
			}
			for _, x := range found {
				if x.value > top {
					top = x.value
				}
			}
			j.check(name, got.V, top)
		}
	}
}

func (j *judge) finished(r *fact.Rank) {
	finished := j.of(r, "vllm:request_success_total")
	j.check("finish reasons", float64(len(r.Finished)), float64(len(finished)))
	for _, x := range finished {
		reason := cmp.Or(x.labels["finished_reason"], x.labels["finish_reason"], x.labels["reason"])
		j.check("finished "+reason, float64(r.FinishedWith(reason)), x.value)
	}
}

func (j *judge) histograms(r *fact.Rank) {
	for family, name := range map[fact.Family]string{
		fact.TTFT: "time_to_first_token_seconds", fact.TPOT: "request_time_per_output_token_seconds",
		fact.E2E: "e2e_request_latency_seconds", fact.TokenGap: "inter_token_latency_seconds",
		fact.Queue: "request_queue_time_seconds", fact.Prefill: "request_prefill_time_seconds",
		fact.Decode: "request_decode_time_seconds", fact.Inference: "request_inference_time_seconds",
		fact.PromptTokens: "request_prompt_tokens", fact.OutputTokens: "request_generation_tokens",
	} {
		h := r.Histograms[family]
		buckets := j.of(r, "vllm:"+name+"_bucket")
		if len(buckets) == 0 || !h.Known() {
			continue
		}
		j.check(name+" sum", h.Sum, j.of(r, "vllm:"+name+"_sum")[0].value)
		j.check(name+" count", float64(h.Count()), j.of(r, "vllm:"+name+"_count")[0].value)
		j.check(name+" buckets", float64(len(h.Counts)), float64(len(buckets)))
		cumulative, below := map[float64]float64{}, uint64(0)
		for i, c := range h.Counts {
			below += c
			cumulative[h.Upper(i)] = float64(below)
		}
		for _, b := range buckets {
			le, err := strconv.ParseFloat(b.labels["le"], 64)
			if err != nil {
				le = math.NaN() // no bucket of ours has it
			}
			j.check(name+" le="+b.labels["le"], cumulative[le], b.value)
		}
	}
}

// A judge that is content with everything proves nothing: every number of a page that the decoder reads is made wrong
// once, one after the other, and each time the judge must see it.
func TestTheJudgeSeesWrongNumbers(t *testing.T) {
	for _, name := range []string{"vllm-0.32-live", "vllm-0.32-dp2-live", "vllm-0.32-rust-live"} {
		body, contentType := sample(t, name)
		s := decoded(t, body, contentType)
		all, err := expfmtReading(body)
		if err != nil {
			t.Fatal(err)
		}
		if diff := disagreement(s, all); diff != "" {
			t.Fatalf("%s: %s", name, diff)
		}
		spoiled := 0
		for i := range all {
			r := names.samples[all[i].name]
			if r.part == partNone || r.part == partCreated || r.part == partSign || names.slots[r.slot].alias.optional {
				continue // of an optional field only what it means is told: TestWhatAPageSays
			}
			spoiled++
			all[i].value++
			if disagreement(s, all) == "" {
				t.Errorf("%s: %s%v is off by one and the judge is content", name, all[i].name, all[i].labels)
			}
			all[i].value--
		}
		if spoiled < 200 {
			t.Errorf("%s: only %d numbers were looked at", name, spoiled)
		}
	}
}
