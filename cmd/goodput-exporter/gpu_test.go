package main

import (
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/goodput-exporter/goodput-exporter/collectors/gpu"
	"github.com/goodput-exporter/goodput-exporter/exporter/config"
	"github.com/goodput-exporter/goodput-exporter/exporter/fact"
	"github.com/goodput-exporter/goodput-exporter/exporter/fold"
)

// configuredGPUs is a configuration with a section about GPUs.
func configuredGPUs(t *testing.T, section string) *config.Config {
	t.Helper()
	cfg, err := config.Load(writeFile(t, "goodput.yaml", "slos: [{name: chat, clauses: {ttft: 250ms}, objective: 0.95}]\nengines: {targets: [{id: a, url: \"http://127.0.0.1:8000\"}]}\n"+section))
	if err != nil {
		t.Fatal(err)
	}
	return cfg
}

func TestEachSourceOfGPUsIsOpened(t *testing.T) {
	for section, c := range map[string]struct {
		name   string // of the source; "" for none
		claims bool
	}{
		"":                             {gpu.NameNone, true}, // auto, before it was read
		"gpu: {source: none}":          {"", false},
		"gpu: {source: dcgm-exporter}": {gpu.NamePage, true},
		"gpu: {source: dcgm, dcgm: {command: /nowhere/goodput-dcgm}, pod_resources: {enabled: false}}": {gpu.NameChild, false},
		"gpu: {pod_resources: {enabled: true}}":                                                        {gpu.NameNone, true},
	} {
		t.Run(section, func(t *testing.T) {
			var running sync.WaitGroup
			cfg := configuredGPUs(t, section)
			g, err := newGPUSources(cfg, nil, &running, slog.New(slog.DiscardHandler))
			if err != nil {
				t.Fatal(err)
			}
			s := g.settings(cfg)
			if (s.Source != nil) != (c.name != "") || (s.Claims != nil) != c.claims {
				t.Errorf("source %v, claims %v", s.Source, s.Claims)
			}
			if g.source != nil && g.source.Name() != c.name {
				t.Errorf("source %s, want %s", g.source.Name(), c.name)
			}
			g.release()
			running.Wait()
			if g.hold() {
				t.Error("sources that were closed can be held")
			}
		})
	}
}

func TestAReloadKeepsTheSourcesThatAreAskedForAgain(t *testing.T) {
	const first = "gpu: {source: dcgm-exporter, url: \"http://127.0.0.1:1/metrics\"}\n"
	for name, c := range map[string]struct {
		section string
		same    bool
	}{
		"the same":       {first, true},
		"another page":   {strings.Replace(first, ":1/", ":2/", 1), false},
		"another query":  {strings.Replace(first, "metrics", "metrics?a=b", 1), false},
		"another source": {"gpu: {source: none}\n", false},
		"another clock":  {strings.Replace(first, "}", ", interval: 7s}", 1), false},
		"other prices and engines, which no source knows": {strings.Replace(first, "}", ", cost: {currency: EUR, per_kwh: 0.3}, engines: {a: [GPU-604ac76c-d9cf-fef3-62e9-d92044ab6e52]}}", 1), true},
	} {
		t.Run(name, func(t *testing.T) {
			var running sync.WaitGroup
			cfg, log := configuredGPUs(t, first), slog.New(slog.DiscardHandler)
			before, err := newGPUSources(cfg, nil, &running, log)
			if err != nil {
				t.Fatal(err)
			}
			// The file that is read again is the same one.
			if err := os.WriteFile(filepath.Join(cfg.Path("."), "goodput.yaml"), []byte("slos: [{name: chat, clauses: {ttft: 250ms}, objective: 0.95}]\nengines: {targets: [{id: a, url: \"http://127.0.0.1:8000\"}]}\n"+c.section), 0o600); err != nil {
				t.Fatal(err)
			}
			next, err := config.Load(filepath.Join(cfg.Path("."), "goodput.yaml"))
			if err != nil {
				t.Fatal(err)
			}
			after, err := newGPUSources(next, before, &running, log)
			if err != nil {
				t.Fatal(err)
			}
			if (after == before) != c.same {
				t.Errorf("the same: %v, want %v", after == before, c.same)
			}
			before.release()
			running.Wait()
			if open := before.hold(); open != c.same {
				t.Errorf("what was before is open: %v", open)
			}
		})
	}
}

// TestEmbeddedHostEnginesDoNotOverlap: the one that a reload begins waits for the one that it ends.
func TestEmbeddedHostEnginesDoNotOverlap(t *testing.T) {
	told := filepath.Join(t.TempDir(), "told")
	command := filepath.Join(filepath.Dir(told), "goodput-dcgm")
	// It takes its time to end, as a host engine does.
	script := fmt.Sprintf("#!/bin/sh\ntrap 'sleep 0.3; echo ended >>%[1]s; exit 0' TERM\necho began >>%[1]s\nwhile :; do sleep 0.05; done\n", told)
	if err := os.WriteFile(command, []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	lines := func(want string) {
		t.Helper()
		var text []byte
		for deadline := time.Now().Add(20 * time.Second); time.Now().Before(deadline); <-time.After(10 * time.Millisecond) {
			if text, _ = os.ReadFile(told); strings.Join(strings.Fields(string(text)), " ") == want {
				return
			}
		}
		t.Fatalf("got %q, want %q", text, want)
	}
	var running sync.WaitGroup
	log := slog.New(slog.DiscardHandler)
	opened := func(interval string, before *gpuSources) *gpuSources {
		t.Helper()
		g, err := newGPUSources(configuredGPUs(t, fmt.Sprintf("gpu: {source: dcgm, interval: %s, dcgm: {command: %q, embedded: true}}\n", interval, command)), before, &running, log)
		if err != nil {
			t.Fatal(err)
		}
		return g
	}
	first := opened("5s", nil)
	lines("began")
	second := opened("7s", first)
	first.release()
	lines("began ended began")
	second.release()
	running.Wait()
	lines("began ended began ended")
}

// TestAKubeletThatIsNotThereIsNoFault: auto asks where there is a socket, and an explicit wish is told what is wrong.
func TestAKubeletThatIsNotThereIsNoFault(t *testing.T) {
	dir := t.TempDir()
	socket := filepath.Join(dir, "kubelet.sock")
	read := func(enabled string) fact.Reason {
		var running sync.WaitGroup
		cfg := configuredGPUs(t, fmt.Sprintf("gpu: {source: dcgm-exporter, pod_resources: {enabled: %s, socket: %q}}\n", enabled, socket))
		g, err := newGPUSources(cfg, nil, &running, slog.New(slog.DiscardHandler))
		if err != nil {
			t.Fatal(err)
		}
		defer running.Wait()
		defer g.release()
		return g.Read(t.Context()).Reason
	}
	if got := read("auto"); got != fact.ReasonNoSource {
		t.Errorf("auto: %s", got)
	}
	if got := read("true"); got != fact.ReasonConnect {
		t.Errorf("true: %s", got)
	}
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	l.Close() // which removes it
	if err := os.WriteFile(socket, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if got := read("auto"); got == fact.ReasonNoSource || got == "" {
		t.Errorf("auto, with something there: %q", got)
	}
}

func TestTheReducerIsToldOfGPUs(t *testing.T) {
	section := "poll: {interval: 10s}\ngpu: {%sengines: {a: [GPU-604ac76c-d9cf-fef3-62e9-d92044ab6e52]}, cost: {currency: EUR, per_gpu_hour: 2, per_kwh: 0.3}}\n"
	cfg := configuredGPUs(t, fmt.Sprintf(section, ""))
	o := withGPUs(foldOptions(cfg, 1), cfg)
	if o.GPUStale != 30 || len(o.EngineGPUs["a"]) != 1 || o.Cost != (fold.Cost{Currency: "EUR", PerGPUHour: 2, PerKWhour: 0.3}) {
		t.Errorf("got %v, %v, %v", o.GPUStale, o.EngineGPUs, o.Cost)
	}
	cfg = configuredGPUs(t, fmt.Sprintf(section, "source: none, "))
	if o := withGPUs(foldOptions(cfg, 1), cfg); o.GPUStale != 0 || o.EngineGPUs != nil {
		t.Errorf("with none: %v, %v", o.GPUStale, o.EngineGPUs)
	}
}

func TestCheckSaysThatTheChildIsMissing(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	for section, want := range map[string]string{
		"":                             "",
		"gpu: {source: dcgm-exporter}": "",
		"gpu: {source: dcgm}":          "# gpu.source: goodput-dcgm is neither beside this program nor on the PATH of this machine; install it where the exporter runs, or name it under gpu.dcgm.command\n",
		"gpu: {source: dcgm, dcgm: {command: /nowhere/goodput-dcgm}}": "# gpu.dcgm.command: /nowhere/goodput-dcgm cannot be run on this machine; see that it is there and executable where the exporter runs\n",
	} {
		var out strings.Builder
		if checkGPUs(configuredGPUs(t, section), &out); out.String() != want {
			t.Errorf("%q: got %q, want %q", section, out.String(), want)
		}
	}
}

// TestACardThatIsCalledByItsFileIsKnown: a claim of a device plugin that says nvidia0 is of the card that the newest reading has
// under that file, and of nobody known while there is no reading.
func TestACardThatIsCalledByItsFileIsKnown(t *testing.T) {
	var up atomic.Bool
	up.Store(true)
	page := servedPage(t, "../../collectors/gpu/testdata/samples/dcgm-exporter-4.8.prom", &up)
	socket := kubeletOf(t, "serving", "acme-0", "nvidia0")
	var running sync.WaitGroup
	g, err := newGPUSources(configuredGPUs(t, fmt.Sprintf("gpu: {source: dcgm-exporter, url: %q, pod_resources: {enabled: true, socket: %q}}\n", page, socket)), nil, &running, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	defer running.Wait()
	defer g.release()
	for _, step := range []struct {
		sentence string
		up, read bool
		want     string
	}{
		{"before anything was read", true, false, "nvidia0 name"},
		{"by the newest reading", true, true, "GPU-11111111-2222-3333-4444-555555555555 "},
		{"after a reading that failed", false, true, "nvidia0 name"},
	} {
		if up.Store(step.up); step.read {
			g.source.Read(t.Context())
		}
		r := g.Read(t.Context())
		if len(r.Claims) != 1 || r.Claims[0].Device+" "+r.Claims[0].Unresolved != step.want {
			t.Errorf("%s: %+v, want %q", step.sentence, r, step.want)
		}
	}
}
