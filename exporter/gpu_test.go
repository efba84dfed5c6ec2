package exporter

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/common/expfmt"

	"github.com/goodput-exporter/goodput-exporter/exporter/catalog"
	"github.com/goodput-exporter/goodput-exporter/exporter/fact"
	"github.com/goodput-exporter/goodput-exporter/exporter/fold"
)

const (
	cardA = "GPU-aaaaaaaa-0000-0000-0000-000000000001"
	cardB = "GPU-bbbbbbbb-0000-0000-0000-000000000002"
	cardC = "GPU-cccccccc-0000-0000-0000-000000000003"
	migD  = "MIG-dddddddd-0000-0000-0000-000000000004"
)

// giveGPUs puts GPUs into a snapshot: one that is an engine's own, with all that can be told; one that two share; one that
// is lost; and a MIG instance that nobody is known to hold.
func giveGPUs(s *fold.Snapshot) {
	s.GPUSource = fold.GPUSource{
		Name: "dcgm", Up: true, At: startedAt + 598, Driver: "570.124.06", Version: "libdcgm 4.6.0, engine 4.6.0",
		Dropped: []fold.Tally{{Name: "blank", Count: 7}, {Name: "energy", Count: 3}, {Name: "of tomorrow", Count: 1}, {Name: "throttle", Count: 2}},
		Claims:  fold.ClaimSource{Asked: true, Up: true, At: startedAt + 590, Unresolved: tally(fact.UnresolvedDRA, 1), Conflicts: 2},
	}
	whole := fact.GPU{
		UUID: cardA, Model: "NVIDIA H100 80GB HBM3", XIDsCounted: true,
		Busy: fact.Known(1), SMActive: fact.Known(0.75), Occupancy: fact.Known(0.25), Tensor: fact.Known(0.5), DRAM: fact.Known(0.625), Engine: fact.Known(0.875),
		MemoryUsed: fact.Known(6e10), MemoryFree: fact.Known(2e10), MemoryTotal: fact.Known(8.5e10), MemoryReserved: fact.Known(5e9),
		Power: fact.Known(512.5), PowerLimit: fact.Known(700), Temperature: fact.Known(64), MemoryTemperature: fact.Known(80),
		SMClock: fact.Known(1.98e9), MemoryClock: fact.Known(2.619e9), PCIeTx: fact.Known(1e6), PCIeRx: fact.Known(2e6), NVLinkTx: fact.Known(3e9), NVLinkRx: fact.Known(4e9),
		ECCDouble: fact.Known(1), RemapFailed: fact.Known(0), PCIeReplays: fact.Known(3),
	}
	s.GPUs = []fold.GPU{
		{GPU: whole, Up: true, Since: startedAt + 1, Engines: []string{"a"}, Join: fold.JoinUUID, Joules: fact.Known(300_000),
			Errors:    []fact.XIDCount{{XID: -4, Count: 1}, {XID: 31, Count: 2}, {XID: 4711, Count: 3}},
			Throttled: []fold.Throttled{{Reason: fact.ThrottleSWPower, Seconds: 12.5}, {Reason: fact.ThrottleThermal, Seconds: 4, Sampled: true}}},
		{GPU: fact.GPU{UUID: cardB, Busy: fact.Known(0.5), Power: fact.Known(math.NaN())}, Up: true, Since: startedAt + 1, Engines: []string{"b", "f"}, Join: fold.JoinPod, Shared: true},
		{GPU: fact.GPU{UUID: cardC, Lost: true, Busy: fact.Known(0.5)}, Since: startedAt + 1, Join: fold.JoinUnmatched, Errors: []fact.XIDCount{{XID: 79, Count: 1}}},
		{GPU: fact.GPU{UUID: migD, Card: cardC, Instance: "3", Profile: "1g.10gb", Engine: fact.Known(0.5)}, Up: true, Since: startedAt + 1, Join: fold.JoinAmbiguous},
	}
	s.Engines[0].GPUs = fold.EngineGPUs{Join: fold.JoinUUID, Since: startedAt + 1, UUIDs: []string{cardA}, Joules: fact.Known(250_000), Cost: fact.Known(0.43)}
	s.Engines[1].GPUs = fold.EngineGPUs{Join: fold.JoinPod, Since: startedAt + 1, UUIDs: []string{cardB}, Shared: true, Partial: "it runs on 2 nodes"}
	s.Engines[2].GPUs = fold.EngineGPUs{Join: fold.JoinUnmatched, Since: startedAt + 1, Why: "no claim is its pod's"}
}

// gpuSeries are the series of a page about GPUs, without their values.
func gpuSeries(t *testing.T, s *fold.Snapshot) []string {
	t.Helper()
	return slices.DeleteFunc(series(encode(t, gather(t, snapshotCollector(s)), expfmt.NewFormat(expfmt.TypeTextPlain))), func(line string) bool {
		return !strings.Contains(line, "_gpu") && !strings.HasPrefix(line, catalog.EngineEnergy) && !strings.HasPrefix(line, catalog.EngineCost)
	})
}

func TestGPUSeriesAreAbsentWithTheirCause(t *testing.T) {
	const price = "goodput_gpu_hour_price"
	is := func(line, name string) bool { return strings.HasPrefix(line, name) }
	for name, c := range map[string]struct {
		spoil func(*fold.Snapshot)
		want  func(line string) bool // what may be there of the fixture; nil: nothing but prices
	}{
		"no source is asked": {spoil: func(s *fold.Snapshot) { s.GPUSource, s.GPUs = fold.GPUSource{}, nil }},
		"auto has never found one": {spoil: func(s *fold.Snapshot) {
			s.GPUSource, s.GPUs = fold.GPUSource{Name: "none", Reason: fact.ReasonNoSource, Detail: "nothing there"}, nil
		}},
		"auto has lost it": {
			spoil: func(s *fold.Snapshot) {
				s.GPUSource, s.GPUs = fold.GPUSource{Name: "none", Reason: fact.ReasonNoSource, At: startedAt + 9}, nil
			},
			want: func(line string) bool { return is(line, "goodput_gpu_source_") },
		},
		"the source is down": {
			spoil: func(s *fold.Snapshot) { s.GPUSource.Up, s.GPUSource.Reason, s.GPUs = false, fact.ReasonExited, nil },
			want: func(line string) bool {
				return is(line, "goodput_gpu_source_") || is(line, "goodput_gpu_claim") || is(line, "goodput_gpu_values_dropped")
			},
		},
		"a source that is down has left GPUs behind": {
			spoil: func(s *fold.Snapshot) { s.GPUSource.Up = false },
			want: func(line string) bool {
				return is(line, "goodput_gpu_source_") || is(line, "goodput_gpu_claim") || is(line, "goodput_gpu_values_dropped")
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := fixture()
			c.spoil(s)
			for i := range s.Engines {
				s.Engines[i].GPUs.Joules, s.Engines[i].GPUs.Cost = fact.Number{}, fact.Number{} // as fold has them then
			}
			var got int
			for _, line := range gpuSeries(t, s) {
				if is(line, price) {
					continue
				}
				got++
				if c.want == nil || !c.want(line) {
					t.Errorf("there is %s", line)
				}
			}
			if (got > 0) != (c.want != nil) {
				t.Errorf("%d series", got)
			}
		})
	}
}

// TestALostGPUSaysOnlyThatAndWhy: values of the past are no values of now.
func TestALostGPUSaysOnlyThatAndWhy(t *testing.T) {
	want := []string{
		`goodput_gpu_errors_total{gpu="` + cardC + `"}`,
		`goodput_gpu_info{gpu="` + cardC + `",join="unmatched"}`,
		`goodput_gpu_up{gpu="` + cardC + `"}`,
		`goodput_gpu_xid_errors_total{gpu="` + cardC + `",xid="79"}`,
	}
	got := slices.DeleteFunc(gpuSeries(t, fixture()), func(line string) bool { return !strings.Contains(line, `gpu="`+cardC+`"`) })
	slices.Sort(got)
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestAGPUThatNothingJoinsIsUnmatched: a label without a value would cost the series.
func TestAGPUThatNothingJoinsIsUnmatched(t *testing.T) {
	s := fixture()
	s.GPUs[3].Join = ""
	want := `goodput_gpu_info{card="` + cardC + `",gpu="` + migD + `",join="unmatched",profile="1g.10gb"}`
	if !slices.Contains(gpuSeries(t, s), want) {
		t.Errorf("%s is not on the page", want)
	}
}

// TestUnknownErrorsBecomeOneWord: numbers that no catalogue has must not grow the label.
func TestUnknownErrorsBecomeOneWord(t *testing.T) {
	s := fixture()
	s.GPUs[0].Errors = nil
	for i := range 500 {
		s.GPUs[0].Errors = append(s.GPUs[0].Errors, fact.XIDCount{XID: 1000 + i, Count: 1})
	}
	n := 0
	for _, line := range gpuSeries(t, s) {
		if strings.HasPrefix(line, catalog.GPUXIDErrors) && strings.Contains(line, cardA) {
			n++
		}
	}
	if n != 1 {
		t.Errorf("%d series, want 1", n)
	}
}
