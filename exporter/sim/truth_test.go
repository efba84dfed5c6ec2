package sim

import (
	"fmt"
	"math"
	"testing"
)

// account is what one process of an engine has told.
type account struct {
	reasons          map[string]float64
	status           map[int]float64
	outcomes         map[Outcome]float64
	finished, firsts float64
	ttft, e2e, queue float64 // seconds
	prefill, decode  float64
	prompts, outputs float64 // tokens
	ones, tpot, open float64 // sequences of one token, seconds; seconds of answered requests
}

func accountOf(truth *told, engine string, process int) account {
	a := account{reasons: map[string]float64{}, status: map[int]float64{}, outcomes: map[Outcome]float64{}}
	for _, s := range truth.sequences {
		if s.Engine != engine || s.Process != process {
			continue
		}
		v := s.Values
		a.reasons[s.Reason]++
		a.finished++
		a.e2e += v.E2E
		a.queue += v.Queue
		a.prefill += v.Prefill
		a.decode += v.Decode
		a.prompts += float64(v.PromptTokens)
		a.outputs += float64(v.OutputTokens)
		if v.OutputTokens == 1 {
			a.ones++
		} else {
			a.tpot += v.Decode / float64(v.OutputTokens-1)
		}
	}
	for _, f := range truth.firsts {
		if f.Engine == engine && f.Process == process {
			a.firsts++
			a.ttft += f.TTFT
		}
	}
	for _, r := range truth.requests {
		if r.Engine == engine && r.Process == process {
			a.status[r.Status/100]++
			a.outcomes[r.Outcome]++
			if r.Status > 0 {
				a.open += r.Ended - r.Arrived
			}
		}
	}
	return a
}

// check holds a page that is not torn against the account.
func (a account) check(t *testing.T, e *endpoint, s sheet) {
	t.Helper()
	same := func(what string, got, want float64) {
		t.Helper()
		if got != want {
			t.Errorf("%s: the page says %v, %v are true", what, got, want)
		}
	}
	sum := func(family string, want float64) {
		t.Helper()
		if got := s.sums["vllm:"+family+"_sum"]; !(math.Abs(got-want) <= 1e-6*max(1, want)) { // NaN is wrong, too
			t.Errorf("%s_sum: the page says %v, %v is true", family, got, want)
		}
	}
	for _, f := range finishCounts {
		same(f, s.sums[f], a.finished)
	}
	for _, reason := range reasons {
		same(reason, s.group("vllm:request_success_total", `finished_reason="`+reason+`"`), a.reasons[reason])
	}
	same("first tokens", s.sums["vllm:time_to_first_token_seconds_count"], a.firsts)
	// What has been decided and not yet answered is on its way to the http counters.
	settled := map[Outcome]float64{}
	for _, r := range e.inFlight {
		if r.settled {
			settled[r.outcome]++
		}
	}
	same("requests with all sequences ended", s.sums["vllm:request_params_n_count"], a.outcomes[Finished]+a.outcomes[Failed]+settled[Finished]+settled[Failed])
	same("admission refusals", s.sums["vllm:admission_rejections_total"], a.outcomes[RejectedAdmission]+settled[RejectedAdmission])
	for class := 2; class <= 5; class++ {
		same(fmt.Sprintf("http %dxx", class), s.group("http_requests_total", fmt.Sprintf(`status="%dxx"`, class)), a.status[class])
	}
	same("responses", s.sums["http_request_duration_highr_seconds_count"], a.status[2]+a.status[4]+a.status[5])
	if got := s.sums["http_request_duration_highr_seconds_sum"]; math.Abs(got-a.open) > 1e-4*max(1, a.open) { // unix times have 2e-7 s
		t.Errorf("responses took %v s, %v are true", got, a.open)
	}
	same("sequences of one token", s.group("vllm:request_generation_tokens_bucket", `le="1.0"`), a.ones)
	sum("time_to_first_token_seconds", a.ttft)
	sum("e2e_request_latency_seconds", a.e2e)
	sum("request_queue_time_seconds", a.queue)
	sum("request_prefill_time_seconds", a.prefill)
	sum("request_decode_time_seconds", a.decode)
	sum("request_inference_time_seconds", a.prefill+a.decode)
	sum("request_prompt_tokens", a.prompts)
	sum("request_generation_tokens", a.outputs)
	sum("request_time_per_output_token_seconds", a.tpot) // a sequence of one token adds 0
}

// TestPagesSayTheTruth holds every page of random worlds against what was told up to its instant.
func TestPagesSayTheTruth(t *testing.T) {
	outcomes := map[Outcome]float64{}
	for seed := range uint64(worlds) {
		t.Run(fmt.Sprintf("world %d", seed), func(t *testing.T) {
			c := anyWorld(seed)
			truth := listen(&c)
			w := build(t, c)
			for at := 0.0; at < 90 && !t.Failed(); at += 7.3 {
				w.Run(start + at)
				for _, e := range w.endpoints {
					if !e.up {
						continue
					}
					a := accountOf(truth, e.config.ID, e.process)
					s := read(t, w, e.config.ID)
					a.check(t, e, s)
					tokens(t, e, s, a)
				}
			}
			for _, r := range truth.requests {
				outcomes[r.Outcome]++
			}
		})
	}
	for _, o := range []Outcome{Finished, Failed, Cancelled, RejectedAdmission, RejectedClient, Lost, Refused} {
		if outcomes[o] == 0 {
			t.Errorf("no request was ever %s", o)
		}
	}
}

// tokens checks the counters that have no counterpart in what is told, by their relations.
func tokens(t *testing.T, e *endpoint, s sheet, a account) {
	t.Helper()
	prompts, outputs := s.sums["vllm:prompt_tokens_total"], s.sums["vllm:generation_tokens_total"]
	gaps, iterations := s.sums["vllm:inter_token_latency_seconds_count"], s.sums["vllm:iteration_tokens_total_sum"]
	local, cached := s.group("vllm:prompt_tokens_by_source_total", "local_compute"), s.sums["vllm:prompt_tokens_cached_total"]
	if gaps+a.firsts != outputs {
		t.Errorf("%v gaps and %v first tokens are not %v output tokens", gaps, a.firsts, outputs)
	}
	if local+cached != prompts || iterations != local+outputs {
		t.Errorf("%v computed + %v cached prompt tokens are not %v, or steps of %v tokens do not add up with %v outputs", local, cached, prompts, iterations, outputs)
	}
	if hits, queries := s.sums["vllm:prefix_cache_hits_total"], s.sums["vllm:prefix_cache_queries_total"]; hits > queries || (e.config.NoPrefixCache && queries > 0) || cached > hits {
		t.Errorf("%v hits of %v queries, %v cached tokens", hits, queries, cached)
	}
	if prompts < a.prompts || outputs < a.outputs {
		t.Errorf("finished sequences have more tokens (%v, %v) than were ever processed (%v, %v)", a.prompts, a.outputs, prompts, outputs)
	}
	if waiting := s.sums["vllm:num_requests_waiting"]; s.sums["vllm:num_requests_waiting_by_reason"] != waiting {
		t.Errorf("%v wait, and the reasons do not add up to it", waiting)
	}
	if n := s.sums["vllm:num_requests_running"]; n > float64(e.config.MaxSeqs*e.config.Ranks) || s.sums["vllm:kv_cache_usage_perc"] > float64(e.config.Ranks) {
		t.Errorf("%v run in batches of %d, with %v of the memory", n, e.config.MaxSeqs, s.sums["vllm:kv_cache_usage_perc"])
	}
}
