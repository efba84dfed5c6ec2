package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/goodput-exporter/goodput-exporter/collectors/engine"
)

// birth is what makes a page's age known: without it the engine was there before its exporter.
var birth = regexp.MustCompile(`(?m)^(process_start_time_seconds|\S+_created)[ {].*\n`)

// twoPages are pages of a real engine between which a few sequences finished, and how many.
func twoPages(t *testing.T) (before, after []byte, finished int) {
	t.Helper()
	pages, err := readRecording(t, recordingPath("vllm-0.32-day"))
	if err != nil {
		t.Fatal(err)
	}
	ended := func(i int) (n int) {
		sample, err := engine.NewDecoder().Decode(pages[i].Body, pages[i].ContentType)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range sample.Ranks[0].Finished {
			n += int(c.Count)
		}
		return n
	}
	const at = 20
	for k := at + 1; k < len(pages); k++ {
		if n := ended(k) - ended(at); n >= 10 {
			return birth.ReplaceAll(pages[at].Body, nil), birth.ReplaceAll(pages[k].Body, nil), n
		}
	}
	t.Fatal("nothing finishes in the recording")
	return nil, nil, 0
}

// steppedPage is an engine that goes on when it is told.
func steppedPage(t *testing.T, pages ...[]byte) (url string, polls *atomic.Int64, step func()) {
	t.Helper()
	polls = new(atomic.Int64)
	var at atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain; version=1.0.0; charset=utf-8")
		w.Write(pages[at.Load()]) //nolint:errcheck // the reader is the test
		polls.Add(1)
	}))
	t.Cleanup(server.Close)
	return server.URL, polls, func() { at.Add(1) }
}

// TestAReplayOfWhatWasRecordedSaysWhatServeSaid: the exporter and a recording watch one engine, which sends its spans to
// both; the replay of the recording judges as the exporter did.
func TestAReplayOfWhatWasRecordedSaysWhatServeSaid(t *testing.T) {
	before, after, finished := twoPages(t)
	url, polls, step := steppedPage(t, before, after)
	configured := func(address string) string {
		return writeFile(t, "goodput.yaml", fmt.Sprintf(`
poll: {interval: 100ms, allow_fast: true}
slos: [{name: chat, clauses: {ttft: 250ms, tpot: 25ms}, objective: 0.95, classes: {by: prompt_tokens, list: [{name: short, at_most: 50}]}}]
engines: {targets: [{id: a, url: %q}]}
spans: {listen: %q}
`, url, address))
	}
	live, taped := freeAddress(t), freeAddress(t)
	tapedConfig, file := configured(taped), filepath.Join(t.TempDir(), "r.jsonl.gz")

	s, err := newServed(configured(live), slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	served, recorded := make(chan error, 1), make(chan error, 1)
	go func() { served <- s.Run(ctx) }()
	var says bytes.Buffer
	go func() {
		recorded <- runRecord(ctx, recordOptions{ConfigFile: tapedConfig, Output: file, Flush: 50 * time.Millisecond, Log: slog.New(slog.DiscardHandler)}, &says)
	}()
	rounds := func() {
		t.Helper()
		for from, deadline := polls.Load(), time.Now().Add(20*time.Second); polls.Load() < from+50; {
			if time.Now().After(deadline) {
				t.Fatal("nobody polls")
			}
			<-time.After(10 * time.Millisecond)
		}
	}
	rounds()
	var spans []sentSpan
	for i := range finished {
		spans = append(spans, sentSpan{id: i, e2e: 0.25, also: map[string]any{"gen_ai.usage.prompt_tokens": 10 * i, "gen_ai.latency.time_in_model_decode": 0.1 * float64(i)}})
	}
	message := exportOf(t, map[string]string{"service.instance.id": "x"}, spans...)
	step()
	for _, address := range []string{live, taped} {
		if status := sendSpans(t, "http", address, message); status != 200 {
			t.Fatalf("status %d", status)
		}
	}
	rounds()
	stop()
	if err := <-served; err != nil {
		t.Error(err)
	}
	if err := <-recorded; err != nil {
		t.Error(err)
	}
	s.wait()
	if !strings.Contains(says.String(), "and 1 message with spans") || !strings.Contains(says.String(), "Spans are recorded that come to "+taped) {
		t.Errorf("record says: %s", says.String())
	}

	var want bytes.Buffer
	if err := (&windowSink{out: &want}).Take(s.state.Flush(unix(time.Now()))); err != nil {
		t.Fatal(err)
	}
	got := replayOutput(t, replayOptions{ConfigFile: tapedConfig, Format: "windows", Recordings: []string{file}})
	said, replayed := judgedOnly(t, want.String()), judgedOnly(t, got)
	if len(said) != 1 || !slices.Equal(said, replayed) {
		t.Errorf("the exporter said %s\nthe replay says %s", said, replayed)
	}
	for _, part := range []string{fmt.Sprintf(`"seen":%d`, finished), `"completeness":1`, `"evidence":"both"`, `"class":"short"`, `"tokens":{`} {
		if !strings.Contains(strings.Join(replayed, ""), part) {
			t.Errorf("%s is not in %s", part, replayed)
		}
	}
}

// judgedOnly keeps of window lines what does not depend on when the polls were.
func judgedOnly(t *testing.T, text string) (out []string) {
	t.Helper()
	for line := range strings.Lines(text) {
		if !strings.Contains(line, `"slo":`) {
			continue // a quantile
		}
		var w windowLine
		if err := json.Unmarshal([]byte(line), &w); err != nil {
			t.Fatal(err)
		}
		w.Start, w.End, w.Method, w.Note = 0, 0, "", ""
		again, err := json.Marshal(w)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, string(again))
	}
	return out
}

// TestRecordGoesOnWithoutSpans where an exporter of the same configuration has the port.
func TestRecordGoesOnWithoutSpans(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	before, _, _ := twoPages(t)
	url, _, _ := steppedPage(t, before)
	config := writeFile(t, "goodput.yaml", fmt.Sprintf("poll: {interval: 100ms, allow_fast: true}\nslos: [{name: chat, clauses: {ttft: 250ms}, objective: 0.95}]\nengines: {targets: [{id: a, url: %q}]}\nspans: {listen: %q}\n", url, taken.Addr()))
	file := filepath.Join(t.TempDir(), "r.jsonl.gz")
	var says bytes.Buffer
	if err := runRecord(t.Context(), recordOptions{ConfigFile: config, Output: file, For: 300 * time.Millisecond, Flush: time.Second, Log: slog.New(slog.DiscardHandler)}, &says); err != nil {
		t.Fatal(err)
	}
	pages, err := readRecording(t, file)
	if err != nil || len(pages) == 0 || !strings.Contains(says.String(), "Spans are not recorded: spans.listen: cannot listen at") {
		t.Errorf("%d pages, %v: %s", len(pages), err, says.String())
	}
}

// TestSpansAreReplayedWhereTheConfigurationTakesThem, and are named where it does not.
func TestSpansAreReplayedWhereTheConfigurationTakesThem(t *testing.T) {
	var notes bytes.Buffer
	with := replayOutput(t, replayOptions{ConfigFile: writeFile(t, "w.yaml", chatConfig+"spans: {grpc_listen: \"127.0.0.1:4317\"}\n"), Format: "windows", Recordings: []string{recordingPath("vllm-0.32-spec")}, Notes: &notes})
	without := replayOutput(t, replayOptions{Format: "windows", Recordings: []string{recordingPath("vllm-0.32-spec")}, Notes: &notes})
	if !strings.Contains(with, `"evidence":"both"`) || !strings.Contains(with, `"completeness":1`) {
		t.Errorf("with spans: %s", with)
	}
	if strings.Contains(without, `"evidence":"both"`) || strings.Contains(without, `"seen"`) {
		t.Errorf("without: %s", without)
	}
	if n := strings.Count(notes.String(), "16 messages with spans not used: with this configuration the exporter takes none in"); n != 1 {
		t.Errorf("noted %d times: %s", n, notes.String())
	}
}

// TestSpansOfSeveralEnginesNeedOrigins: what cannot be told is not guessed, and the notes say what to do.
func TestSpansOfSeveralEnginesNeedOrigins(t *testing.T) {
	config := writeFile(t, "w.yaml", chatConfig+"spans: {listen: \"127.0.0.1:4318\"}\n")
	var notes bytes.Buffer
	out := replayOutput(t, replayOptions{ConfigFile: config, Format: "windows", Recordings: []string{unmatchedRecording(t)}, Notes: &notes})
	if !strings.Contains(out, `"slo":"chat"`) || strings.Contains(out, `"seen"`) {
		t.Errorf("windows: %s", out)
	}
	for _, want := range []string{
		"2 spans matched to no engine, reason engine: its goodput.engine is the id of no target", "3 spans matched to no engine, reason nothing", "from 10.0.0.7, goodput.engine=gone",
		"1 message with spans could not be read; the first: line", "1 span refused, reason negative; the first: line",
	} {
		if !strings.Contains(notes.String(), want) {
			t.Errorf("%q is not in the notes:\n%s", want, notes.String())
		}
	}
}
