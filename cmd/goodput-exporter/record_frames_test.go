package main

import (
	"bytes"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/goodput-exporter/goodput-exporter/collectors/gpu"
	"github.com/goodput-exporter/goodput-exporter/collectors/gpu/frame"
	"github.com/goodput-exporter/goodput-exporter/exporter/config"
)

// TestRecordHoldsFrames: what goodput-dcgm wrote is recorded frame by frame, and a replay counts the errors of all of them.
func TestRecordHoldsFrames(t *testing.T) {
	const uuid = "GPU-11111111-0000-0000-0000-000000000001"
	now := time.Now()
	var pipe bytes.Buffer
	for i := range 3 {
		us := now.UnixMicro() + int64(i)
		f := &frame.Frame{At: float64(us) / 1e6, Interval: 1, Library: "4.6.1", Entities: []frame.Entity{{Kind: frame.Card, Values: []frame.Value{
			frame.String(frame.FieldUUID, 0, us, uuid), frame.Real(frame.FieldPower, 0, us, 300+float64(i)),
		}}}, Events: []frame.Event{{Kind: frame.Card, Field: frame.FieldXID, Time: us, Int: 31}}}
		if err := frame.Write(&pipe, f); err != nil {
			t.Fatal(err)
		}
	}
	frames := writeFile(t, "frames", pipe.String())
	command := filepath.Join(filepath.Dir(frames), "goodput-dcgm")
	if err := os.WriteFile(command, []byte(fmt.Sprintf("#!/bin/sh\ncat %s\nexec sleep 60\n", frames)), 0o700); err != nil {
		t.Fatal(err)
	}
	engine := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.Write([]byte("vllm:num_requests_running 0\n")) }))
	defer engine.Close()
	file := filepath.Join(t.TempDir(), "r.jsonl.gz")
	cfg := writeFile(t, "goodput.yaml", fmt.Sprintf("poll: {interval: 1s, timeout: 800ms}\n%sengines: {targets: [{id: a, url: %q}]}\ngpu: {source: dcgm, interval: 1s, dcgm: {command: %q}}\n", chatConfig, engine.URL, command))
	var says bytes.Buffer
	if err := runRecord(t.Context(), recordOptions{ConfigFile: cfg, Output: file, For: 2500 * time.Millisecond, Flush: time.Second, Log: slog.New(slog.DiscardHandler)}, &says); err != nil {
		t.Fatalf("%v\n%s", err, says.String())
	}
	had := 0
	for _, g := range readGPUs(t, file) {
		if g.Err == "" {
			if had++; g.Source != gpu.NameChild || g.ContentType != gpu.TypeFrame || g.First != (had == 1) || g.Status != 0 {
				t.Errorf("frame %d is %+v", had, g)
			}
		}
	}
	if had != 3 || !strings.Contains(says.String(), "3 readings of GPUs") {
		t.Errorf("%d frames; it says %s", had, says.String())
	}
	loaded, err := config.Load(cfg)
	if err != nil {
		t.Fatal(err)
	}
	replayed := newReplayedGPUs(loaded)
	for _, g := range readGPUs(t, file) {
		if g.Err == "" {
			replayed.take(&g)
		}
	}
	r := replayed.rest()
	if r == nil || len(r.GPUs) != 1 || r.GPUs[0].Power.V != 302 || len(r.GPUs[0].XIDs) != 1 || r.GPUs[0].XIDs[0].Count != 3 {
		t.Errorf("replayed as %+v", r)
	}
}
