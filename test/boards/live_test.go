package boards

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
	"time"
)

// runningOnly are the panels, by a part of their titles, that no block can answer: what a receiver counts at its door, and
// native histograms, which a Prometheus takes from a scrape in protobuf only.
var runningOnly = regexp.MustCompile("Spans that came to the exporters|Messages with spans to the exporters|Spans that wait for the next round|how many a second in each bucket")

// simulatedGPUs are panels that the demo has to answer too, whose exporter reads the page of simulated GPUs.
var simulatedGPUs = regexp.MustCompile("GPUs, the engine that each|GPUs: do they answer|GPUs of each|GPUs: share of time in which any kernel ran, now|GPU memory: in use|Energy of GPUs|Where each exporter knows its GPUs|Readings of the GPUs|GPU prices")

// live starts the demo, whose engines send their spans over the wire, and a Prometheus that scrapes it and takes native
// histograms. Every question of these panels, and of some on GPUs, has an answer before long.
func live(t *testing.T) map[place]bool {
	addresses := demo(t)
	spans := addresses("spans go to")
	s, stop := start(t, t.TempDir(), "scrape_configs: [{job_name: goodput-exporter, scrape_interval: 1s, static_configs: [{targets: ['"+
		strings.TrimPrefix(strings.TrimSuffix(addresses("Prometheus"), "/metrics"), "http://")+"']}]}]\n", "--enable-feature=native-histograms")
	t.Cleanup(stop)
	open := map[place]question{}
	ticker := time.NewTicker(time.Second)
	defer ticker.Stop()
	for deadline := time.After(time.Minute); ; {
		now := float64(time.Now().Unix())
		r := &replayed{server: s, when: span{now - 300, now}}
		odd(t, spans)
		answers := map[place]bool{}
		clear(open)
		for _, b := range boards(t) {
			options := choices{"model": {".*"}, "slo": {".*"}, "engine": {"chat-1", "chat-2", "code-dp", "code-2"}, "gpu": {".*"}}
			for _, q := range b.questions(t, r.when, options, all(options), 1) {
				if !runningOnly.MatchString(q.panel) && !simulatedGPUs.MatchString(q.panel) {
					continue
				}
				got, err := r.instant(q.expr, now)
				if err != nil {
					t.Fatalf("%s: %v\n%s", q, err, q.expr)
				}
				if answers[q.place] = len(got) > 0; len(got) == 0 {
					open[q.place] = q
				}
			}
		}
		if len(answers) > 0 && len(open) == 0 {
			return answers
		}
		select {
		case <-deadline:
			t.Fatalf("after a minute there is no answer to %v", open)
		case <-ticker.C:
		}
	}
}

// demo starts one and returns a look-up of the addresses that it prints.
func demo(t *testing.T) func(what string) string {
	t.Helper()
	cmd := exec.Command(exporter(t), "demo", "--hours=0.05", "--web.listen-address=127.0.0.1:0")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	var log bytes.Buffer
	cmd.Stderr = &log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cmd.Process.Signal(os.Interrupt) //nolint:errcheck // it may have ended
		cmd.Wait()                       //nolint:errcheck // it is ended by a signal
	})
	said := ""
	for lines := bufio.NewScanner(out); lines.Scan(); {
		said += lines.Text() + "\n"
		if strings.Contains(lines.Text(), "stops everything") {
			return func(what string) string {
				found := regexp.MustCompile(what + `\s+(\S+)`).FindStringSubmatch(said)
				if found == nil {
					t.Fatalf("the demo does not say %q:\n%s", what, said)
				}
				return found[1]
			}
		}
	}
	t.Fatalf("the demo ended:\n%s%s", said, log.String())
	return nil
}

// odd sends two spans that a demo's engines never do: one of an engine that is not there, and one whose first token came
// before the request did.
func odd(t *testing.T, url string) {
	t.Helper()
	now := time.Now()
	request := func(ttft float64) map[string]any {
		var attributes []map[string]any
		add := func(key string, value map[string]any) {
			attributes = append(attributes, map[string]any{"key": key, "value": value})
		}
		for key, v := range map[string]float64{"time_to_first_token": ttft, "e2e": 1, "time_in_queue": 0, "time_in_model_prefill": 0.1, "time_in_model_decode": 0.8, "time_in_model_inference": 0.9} {
			add("gen_ai.latency."+key, map[string]any{"doubleValue": v})
		}
		add("gen_ai.usage.prompt_tokens", map[string]any{"intValue": "10"})
		add("gen_ai.usage.completion_tokens", map[string]any{"intValue": "10"})
		add("gen_ai.request.id", map[string]any{"stringValue": "odd"})
		return map[string]any{
			"name": "llm_request", "traceId": fmt.Sprintf("%032x", now.UnixNano()), "spanId": fmt.Sprintf("%016x", now.UnixNano()), "attributes": attributes,
			"startTimeUnixNano": fmt.Sprint(now.Add(-time.Second).UnixNano()), "endTimeUnixNano": fmt.Sprint(now.UnixNano()),
		}
	}
	nobody := map[string]any{"attributes": []any{map[string]any{"key": "goodput.engine", "value": map[string]any{"stringValue": "nobody"}}}}
	body, err := json.Marshal(map[string]any{"resourceSpans": []any{map[string]any{
		"resource": nobody, "scopeSpans": []any{map[string]any{"spans": []any{request(0.1), request(-1)}}},
	}}})
	if err != nil {
		t.Fatal(err)
	}
	response, err := http.Post(url, "application/json", bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	response.Body.Close()
	if response.StatusCode != http.StatusOK {
		t.Fatalf("%s answers %s to two spans", url, response.Status)
	}
}
