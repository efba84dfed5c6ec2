package main

import (
	"context"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

const recordFast = "poll: {interval: 100ms, allow_fast: true}\n"

// TestRecordFollowsPods: one that comes while it records is recorded too.
func TestRecordFollowsPods(t *testing.T) {
	c := newCluster(t)
	c.serve("10.0.0.7:8000", simulatedEngine(t))
	c.serve("10.0.0.8:8000", simulatedEngine(t))
	c.put(testPod{namespace: "ml", name: "acme-0", ip: "10.0.0.7"})
	output := filepath.Join(t.TempDir(), "r.jsonl.gz")
	cfg := writeFile(t, "goodput.yaml", recordFast+kubeSLO+c.config(""))
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	out := newLockedBuffer()
	status := make(chan int, 1)
	go func() {
		status <- run(ctx, []string{"record", "--config.file=" + cfg, "--output=" + output, "--flush=50ms"}, out, out)
	}()
	has := func(id string) bool {
		pages, _ := readRecording(t, output) // what has been handed to the file until now
		for _, p := range pages {
			if p.Target == id && p.Status == 200 {
				return true
			}
		}
		return false
	}
	for _, id := range []string{"ml.acme-0:8000", "ml.acme-1:8000"} {
		deadline := time.Now().Add(20 * time.Second)
		for !has(id) {
			if time.Now().After(deadline) {
				stop()
				<-status
				t.Fatalf("no page of %s is recorded: %s", id, out)
			}
			<-time.After(50 * time.Millisecond)
		}
		c.put(testPod{namespace: "ml", name: "acme-1", ip: "10.0.0.8"})
	}
	stop()
	if s := <-status; s != 0 {
		t.Errorf("status %d: %s", s, out)
	}
}

// TestRecordWithoutEngines says why it found none.
func TestRecordWithoutEngines(t *testing.T) {
	for name, c := range map[string]struct {
		prepare func(*cluster)
		want    string
	}{
		"no pod fits":        {func(*cluster) {}, "no page was recorded: no engine was found on node gpu-1: no pod there fits engines.kubernetes.selectors"},
		"one that has ended": {func(k *cluster) { k.put(testPod{namespace: "ml", name: "acme-0", ip: "10.0.0.7", phase: "Failed"}) }, "node gpu-1: the pods there hold none that can be polled"},
		"no API server":      {func(k *cluster) { k.setDown(true) }, "no engine was found on node gpu-1: "},
		"nobody who answers": {func(k *cluster) { k.put(testPod{namespace: "ml", name: "acme-0", ip: "10.0.0.7"}) }, "no page was recorded: every poll failed"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			k := newCluster(t)
			c.prepare(k)
			cfg := writeFile(t, "goodput.yaml", recordFast+kubeSLO+k.config(""))
			out := newLockedBuffer()
			status := run(context.Background(), []string{"record", "--config.file=" + cfg, "--output=" + filepath.Join(t.TempDir(), "r.jsonl.gz"), "--for=1s"}, out, out)
			if status != 1 || !strings.Contains(out.String(), c.want) {
				t.Errorf("status %d, %q is not in: %s", status, c.want, out)
			}
			if name == "no API server" && !strings.Contains(out.String(), "500") {
				t.Errorf("it does not say what the API server answered: %s", out)
			}
		})
	}
}
