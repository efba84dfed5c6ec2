package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/goodput-exporter/goodput-exporter/collectors/recording"
	"github.com/goodput-exporter/goodput-exporter/exporter/config"
	"github.com/goodput-exporter/goodput-exporter/exporter/sim"
)

// TestSimulatedMessagesAreInOrder: pages and messages come in the order of their times, and no message is lost or told twice.
func TestSimulatedMessagesAreInOrder(t *testing.T) {
	s, _ := sim.ScenarioNamed("fleet")
	c := s.Config(3, simStart)
	box, sent := &mail{}, []sim.Message{}
	c.Spans = func(m sim.Message) {
		sent = append(sent, m)
		box.put(m)
	}
	world, err := sim.New(c)
	if err != nil {
		t.Fatal(err)
	}
	source := newSimulated(world, simStart, 2*time.Second, func(at float64) bool { return at < simStart+120 })
	source.mail = box
	var got []*recording.Message
	pages, last := 0, 0.0
	for {
		e, err := source.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if e.T() < last {
			t.Fatalf("%.3f comes after %.3f", e.T()-simStart, last-simStart)
		}
		if last = e.T(); e.Page != nil {
			pages++
			continue
		}
		got = append(got, e.Message)
	}
	if pages != 240 || len(got) != len(sent) || len(sent) < 60 {
		t.Fatalf("%d pages, %d of %d messages", pages, len(got), len(sent))
	}
	for i, m := range got {
		if m.T != sent[i].At || m.Peer != "127.0.0.1" || !bytes.Equal(m.Body, sent[i].Body) {
			t.Fatalf("message %d is another", i)
		}
	}
	if _, err := source.Next(); !errors.Is(err, io.EOF) {
		t.Errorf("after the end: %v", err)
	}
}

// TestDemoRecordingHoldsSpans: what --write-recording writes are the pages and the messages of the world.
func TestDemoRecordingHoldsSpans(t *testing.T) {
	computes(t)
	file := filepath.Join(t.TempDir(), "r.jsonl.gz")
	var out, notes bytes.Buffer
	if status := run(t.Context(), []string{"demo", "--hours=0.05", "--write-recording=" + file}, &out, &notes); status != 0 {
		t.Fatalf("status %d: %s", status, notes.String())
	}
	recorded, err := openRecordings([]string{file})
	if err != nil {
		t.Fatal(err)
	}
	defer recorded.Close()
	pages, messages := 0, 0
	for {
		e, err := recorded.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		switch {
		case e.Page != nil:
			pages++
		case e.Message != nil:
			messages++
		}
	}
	if want := "360 pages of 4 engines, 36 of their GPUs and " + count(messages, "message") + " with spans"; pages != 360 || messages < 80 || !strings.Contains(out.String(), want) {
		t.Errorf("%d pages and %d messages; it says %q", pages, messages, out.String())
	}
}

// TestSpansAreSentOverHTTP: in real time, a world's spans go through a socket to the receiver that serve has.
func TestSpansAreSentOverHTTP(t *testing.T) {
	s, _ := sim.ScenarioNamed("steady")
	s.Engines = slices.Clone(s.Engines)
	s.Engines[0].Tracing = &sim.Tracing{Delay: 0.2, Foreign: true}
	c := s.Config(1, unix(time.Now()))
	box, finished := &mail{}, 0
	c.Spans, c.Truth.Sequence = box.put, func(sim.Sequence) { finished++ }
	world, err := sim.New(c)
	if err != nil {
		t.Fatal(err)
	}
	f, err := newFleet(world)
	if err != nil {
		t.Fatal(err)
	}
	defer f.close()
	f.mail = box
	cfg := config.Default()
	cfg.Spans.Listen = "127.0.0.1:0"
	taken, err := takeSpans(&cfg, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	defer taken.shut()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 2)
	go func() { ended <- f.run(ctx) }()
	go func() { ended <- f.sendSpans(ctx, spansURL(taken), slog.New(slog.DiscardHandler)) }()
	came := 0
	for deadline := time.Now().Add(time.Minute); came < 20 && time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
		for _, s := range taken.Drain() {
			if came++; s.Origin.Peer != "127.0.0.1" || !strings.HasPrefix(s.Call, "chatcmpl-r") || s.E2E <= 0 || s.OutputTokens < 1 {
				t.Errorf("span %+v", s)
			}
		}
	}
	cancel()
	if err := errors.Join(<-ended, <-ended); err != nil {
		t.Error(err)
	}
	if came < 20 || came > finished {
		t.Errorf("%d spans of %d finished sequences", came, finished)
	}
}

// TestTakeSpansTakesAnotherPort: a port in use is no reason not to start.
func TestTakeSpansTakesAnotherPort(t *testing.T) {
	used, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer used.Close()
	cfg := config.Default()
	cfg.Spans.Listen = used.Addr().String()
	taken, err := takeSpans(&cfg, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	defer taken.shut()
	if url := spansURL(taken); url == "http://"+used.Addr().String()+"/v1/traces" || !strings.HasPrefix(url, "http://127.0.0.1:") {
		t.Errorf("spans go to %s", url)
	}
}

// answers is a receiver that answers one status after the other, and then 200.
type answers struct {
	statuses []int // 0: no answer at all
	asked    int
}

func (a *answers) RoundTrip(r *http.Request) (*http.Response, error) {
	status := http.StatusOK
	if a.asked < len(a.statuses) {
		status = a.statuses[a.asked]
	}
	a.asked++
	if status == 0 {
		return nil, errors.New("connection reset")
	}
	return &http.Response{StatusCode: status, Status: http.StatusText(status), Body: http.NoBody, Request: r}, nil
}

// TestSendingAgain: what has no room or no answer is sent again, what is refused is not.
func TestSendingAgain(t *testing.T) {
	for name, test := range map[string]struct {
		statuses []int
		asked    int
		lost     bool
	}{
		"taken at once":             {nil, 1, false},
		"no room at first":          {[]int{429}, 2, false},
		"no answer, and then busy":  {[]int{0, 503}, 3, false},
		"never any room":            {[]int{429, 429, 429, 429}, 3, true},
		"refused for what it holds": {[]int{400}, 1, true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				a := &answers{statuses: test.statuses}
				begun := time.Now()
				err := send(t.Context(), &http.Client{Transport: a}, "http://receiver/v1/traces", []byte("spans"))
				if a.asked != test.asked || (err != nil) != test.lost || time.Since(begun) != time.Duration(test.asked-1)*sendPause {
					t.Errorf("asked %d times in %v: %v", a.asked, time.Since(begun), err)
				}
			})
		})
	}
}
