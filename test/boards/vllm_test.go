package boards

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/goodput-exporter/goodput-exporter/internal/golden"
	"github.com/goodput-exporter/goodput-exporter/internal/jsonlines"
)

// guide compares vLLM's own board with ours on a recorded engine; its numbers are measured here.
const guide, begins, ends = "docs/from-vllm-dashboard.md", "<!-- measured -->\n", "<!-- /measured -->\n"

// TestVLLMBoardNumbers computes from the engine's pages what vLLM's board would draw, puts our interval and the truth
// beside it, and holds the document to it.
func TestVLLMBoardNumbers(t *testing.T) {
	dir := filepath.Join(root(t), "testdata/recordings/vllm-0.32-day")
	config := filepath.Join(t.TempDir(), "goodput.yaml")
	if err := os.WriteFile(config, []byte(chat), 0o600); err != nil {
		t.Fatal(err)
	}
	ours, when := lastQuantiles(t, string(command(t, exporter(t), "replay", "--config.file="+config, "--format=windows", filepath.Join(dir, "recording.jsonl.gz"))))
	first, last := pageAt(t, dir, when.from), pageAt(t, dir, when.to)
	truth := sequencesIn(t, dir, when)
	var b strings.Builder
	b.WriteString("| what | vLLM's board | our interval | the truth, of finished sequences |\n|---|---:|---:|---:|\n")
	for _, c := range []struct{ metric, family string }{
		{"ttft", "vllm:time_to_first_token_seconds"},
		{"tpot", "vllm:request_time_per_output_token_seconds"},
		{"e2e", "vllm:e2e_request_latency_seconds"},
	} {
		for _, q := range []float64{0.5, 0.95, 0.99} {
			drawn := interpolated(t, first, last, c.family, q)
			interval, real := ours[fmt.Sprint(c.metric, q)], rank(truth[c.metric], q)
			if real <= interval[0] || real > interval[1] {
				t.Errorf("%s %v: the truth %v is not in our interval %v", c.metric, q, real, interval)
			}
			fmt.Fprintf(&b, "| %s p%g | %.3g s | (%g, %g] s | %.3g s |\n", c.metric, 100*q, drawn, interval[0], interval[1], real)
		}
	}
	fmt.Fprintf(&b, "| token gaps p99, titled inter-token latency | %.3g s | (%g, %g] s | not recorded |\n",
		interpolated(t, first, last, "vllm:inter_token_latency_seconds", 0.99), ours["token_gap0.99"][0], ours["token_gap0.99"][1])
	queued := sample(t, last, "vllm:request_queue_time_seconds_sum") - sample(t, first, "vllm:request_queue_time_seconds_sum")
	finished := sample(t, last, "vllm:request_queue_time_seconds_count") - sample(t, first, "vllm:request_queue_time_seconds_count")
	fmt.Fprintf(&b, "| queue time | %.3g \"seconds\" | mean %.3g s | mean %.3g s |\n", queued/when.seconds(), queued/finished, mean(truth["queue"]))

	text, err := os.ReadFile(filepath.Join(root(t), guide))
	if err != nil {
		t.Fatal(err)
	}
	before, rest, begun := strings.Cut(string(text), begins)
	_, after, ended := strings.Cut(rest, ends)
	if !begun || !ended {
		t.Fatalf("%s has no place for the numbers", guide)
	}
	golden.Compare(t, filepath.Join(root(t), guide), []byte(before+begins+"\n"+b.String()+"\n"+ends+after))
}

// lastQuantiles are the intervals over 5 minutes at the end of the recording, by metric and quantile, and their time.
func lastQuantiles(t *testing.T, lines string) (map[string][2]float64, span) {
	t.Helper()
	found, when := map[string][2]float64{}, span{}
	for line := range strings.Lines(lines) {
		var q struct {
			Metric, Window              string
			Q, Start, End, Lower, Upper float64
		}
		if err := json.Unmarshal([]byte(line), &q); err != nil {
			t.Fatal(err)
		}
		if q.Window == "5m" {
			found[fmt.Sprint(q.Metric, q.Q)], when = [2]float64{q.Lower, q.Upper}, span{q.Start, q.End}
		}
	}
	return found, when
}

// pageAt is the engine's page that was in at the time.
func pageAt(t *testing.T, dir string, at float64) string {
	t.Helper()
	body, nearest := "", math.Inf(1)
	jsonlines.Each(t, filepath.Join(dir, "recording.jsonl.gz"), func(line []byte) {
		var p struct {
			T, Took float64
			Body    string
		}
		if err := json.Unmarshal(line, &p); err != nil {
			t.Fatal(err)
		}
		if away := math.Abs(p.T + p.Took - at); p.Body != "" && away < nearest {
			body, nearest = p.Body, away
		}
	})
	return body
}

// sequencesIn is what the engine recorded of each sequence that finished in the time; a first token counts at its own.
func sequencesIn(t *testing.T, dir string, when span) map[string][]float64 {
	t.Helper()
	all := map[string][]float64{}
	jsonlines.Each(t, filepath.Join(dir, "engine_truth.jsonl.gz"), func(line []byte) {
		var s struct {
			Start, End, TTFT, E2E, Queue, Decode float64
			CompletionTokens                     float64 `json:"completion_tokens"`
		}
		if err := json.Unmarshal(line, &s); err != nil {
			t.Fatal(err)
		}
		if first := s.Start + s.TTFT; first > when.from && first <= when.to {
			all["ttft"] = append(all["ttft"], s.TTFT)
		}
		if s.End > when.from && s.End <= when.to {
			all["e2e"], all["queue"] = append(all["e2e"], s.E2E), append(all["queue"], s.Queue)
			all["tpot"] = append(all["tpot"], s.Decode/math.Max(1, s.CompletionTokens-1))
		}
	})
	for _, values := range all {
		slices.Sort(values)
	}
	return all
}

func rank(sorted []float64, q float64) float64 {
	return sorted[int(math.Ceil(q*float64(len(sorted))))-1]
}

func mean(values []float64) float64 {
	sum := 0.0
	for _, v := range values {
		sum += v
	}
	return sum / float64(len(values))
}

// sample is a sample of the page's one model.
func sample(t *testing.T, page, name string) float64 {
	t.Helper()
	found := regexp.MustCompile(`(?m)^` + name + `\{[^}]*\} (\S+)$`).FindStringSubmatch(page)
	if found == nil {
		t.Fatalf("no %s", name)
	}
	v, err := strconv.ParseFloat(found[1], 64)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// interpolated is histogram_quantile of the increase between two pages: a straight line through the bucket.
func interpolated(t *testing.T, first, last, family string, q float64) float64 {
	t.Helper()
	type bucket struct{ edge, count float64 }
	read := func(page string) []bucket {
		var all []bucket
		for _, m := range regexp.MustCompile(`(?m)^`+family+`_bucket\{[^}]*le="([^"]+)"[^}]*\} (\S+)$`).FindAllStringSubmatch(page, -1) {
			edge, err1 := strconv.ParseFloat(m[1], 64)
			count, err2 := strconv.ParseFloat(m[2], 64)
			if err1 != nil || err2 != nil {
				t.Fatalf("%q", m[0])
			}
			all = append(all, bucket{edge, count})
		}
		return all
	}
	before, after := read(first), read(last)
	total := after[len(after)-1].count - before[len(before)-1].count
	low, below := 0.0, 0.0
	for i := range after {
		count := after[i].count - before[i].count
		if count >= q*total {
			return low + (after[i].edge-low)*(q*total-below)/(count-below)
		}
		low, below = after[i].edge, count
	}
	return math.Inf(1)
}
