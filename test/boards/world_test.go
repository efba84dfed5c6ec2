package boards

import (
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"
)

// scrape is the interval at which the shipped Prometheus scrapes, in seconds.
const scrape = 15

// A world is engines that were recorded or simulated, as an exporter saw them.
type world struct {
	name      string
	recording string // in testdata, where it has another name
	spans     bool   // the recording's spans are taken in, and the objective has classes
	scenario  string // of the demo; "" for a recording
	hours     string
	page      bool // no recording, and asked for GPUs only: the exporter's page, with GPUs, or a simulated node
	coarse    int  // the world before, but with the samples of every so many seconds; 0 for one of its own
}

// onceAMinute is the name of the world that is scraped once a minute.
const onceAMinute = "fleet, scraped once a minute"

// worlds are what the boards are tried on: both supported ends of vLLM, data parallelism, the Rust front end, a restart,
// buckets that cannot answer the objective; with spans and without; and simulated, since no real engine was driven there, a fleet, an admission
// limit, and errors that make an interval of the ledger.
var worlds = []world{
	{name: "vllm-0.32-day"},
	{name: "vllm-0.11-day"},
	{name: "vllm-0.32-dp2"},
	{name: "vllm-0.32-rust"},
	{name: "vllm-0.32-restart"},
	{name: "vllm-0.32-buckets"},
	{name: "vllm-0.32-day, with spans", recording: "vllm-0.32-day", spans: true},
	{name: "vllm-0.11-day, with spans", recording: "vllm-0.11-day", spans: true},
	{name: "vllm-0.32-dp2, with spans", recording: "vllm-0.32-dp2", spans: true},
	{name: "rejections", scenario: "rejections", hours: "0.2"},
	{name: "errors", scenario: "errors", hours: "0.2"},
	{name: "fleet", scenario: "fleet", hours: "0.4"},
	{name: onceAMinute, coarse: 60},
	{name: onePage, page: true},
	{name: simulatedNode, page: true},
}

// chat is the objective that the recorded engines were driven under.
const chat = "slos:\n  - {name: chat, clauses: {ttft: 250ms, tpot: 25ms}, objective: 0.95}\n"

// split is the same objective with classes, and spans to tell them by.
const split = "slos:\n  - {name: chat, clauses: {ttft: 250ms, tpot: 25ms}, objective: 0.95, " +
	"classes: {by: prompt_tokens, list: [{name: short, at_most: 250}, {name: long, clauses: {ttft: 1s, e2e: 30s}}]}}\n" +
	"spans: {listen: \"127.0.0.1:4318\"}\n"

// replayed is a world in a Prometheus, in a time of its own.
type replayed struct {
	world
	*server
	when   span    // between the first and the last sample
	later  float64 // by how much its times were moved
	config string
	pages  string // the recording
	text   []byte // the exposition, moved
	node   *node  // of a simulated node
}

// slot is the time that each world has to itself: that of a block, so that none sees another's labels.
const slot, base = 7200, 250000 * 7200

// stage brings all worlds into one Prometheus, with what the recording rules make of them.
func stage(t *testing.T) []*replayed {
	t.Helper()
	begun := time.Now()
	blocks := t.TempDir()
	all := make([]*replayed, len(worlds))
	exporter(t)
	var wait sync.WaitGroup
	for i := range worlds {
		if all[i] = (&replayed{world: worlds[i]}); worlds[i].coarse == 0 {
			wait.Go(func() { all[i].replay(t) })
		}
	}
	wait.Wait()
	if t.Failed() {
		t.FailNow()
	}
	for i, r := range all {
		if r.coarse > 0 {
			*r = replayed{world: r.world, config: all[i-1].config, pages: all[i-1].pages, text: all[i-1].text}
		}
	}
	for i, r := range all {
		r.later = base + float64(i)*slot + 600 - extent(t, r.text).from
		r.text = rewrite(t, r.text, r.later, r.coarse)
		r.when = extent(t, r.text)
		makeBlocks(t, blocks, complete(r.text, r.when, max(scrape, float64(r.coarse))))
	}
	t.Logf("after %.1f s all worlds are replayed", time.Since(begun).Seconds())
	// A rule may rest on others, which have to be there before: the shares on the rates, the percentiles on the buckets.
	rules := recordingRules(t)
	for range 2 {
		s, stop := start(t, blocks, "global: {}\n")
		text := s.recorded(t, rules, all)
		stop()
		makeBlocks(t, blocks, text)
	}
	t.Logf("after %.1f s the rules are recorded", time.Since(begun).Seconds())
	s := serve(t, blocks)
	for _, r := range all {
		r.server = s
	}
	return all
}

func makeBlocks(t *testing.T, blocks string, text []byte) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "replay.om")
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	command(t, tool(t, "promtool"), "tsdb", "create-blocks-from", "openmetrics", "-q", file, blocks)
}

// replay finds the pages of a world, or makes them, and replays them.
func (r *replayed) replay(t *testing.T) {
	switch r.name {
	case onePage:
		r.text = pageOverTime(t)
		return
	case simulatedNode:
		r.node = newNode(t)
		r.node.watch(t)
		r.text = r.node.text.Bytes()
		return
	}
	if r.scenario == "" {
		r.config = filepath.Join(t.TempDir(), "goodput.yaml")
		config, recording := chat, r.name
		if r.spans {
			config, recording = split, r.recording
		}
		if err := os.WriteFile(r.config, []byte(config), 0o600); err != nil {
			t.Error(err)
		}
		r.pages = filepath.Join(root(t), "testdata/recordings", recording, "recording.jsonl.gz")
	} else {
		r.config = filepath.Join(root(t), "cmd/goodput-exporter/demo.yaml")
		r.pages = filepath.Join(t.TempDir(), "recording.jsonl.gz")
		command(t, exporter(t), "demo", "--scenario="+r.scenario, "--hours="+r.hours, "--write-recording="+r.pages)
	}
	r.text = command(t, exporter(t), "replay", "--config.file="+r.config, fmt.Sprintf("--step=%ds", scrape), r.pages)
}
