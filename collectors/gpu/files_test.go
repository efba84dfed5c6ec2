package gpu

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/goodput-exporter/goodput-exporter/collectors/gpu/frame"
	"github.com/goodput-exporter/goodput-exporter/exporter/fact"
)

// given is a source that brings what a test says.
type given struct{ r fact.GPUReading }

func (g *given) Name() string                         { return NamePage }
func (g *given) Close() error                         { return nil }
func (g *given) Read(context.Context) fact.GPUReading { return g.r }

func TestWhoseADeviceFileIs(t *testing.T) {
	card := func(uuid, file string) fact.GPU { return fact.GPU{UUID: uuid, File: file} }
	part := func(card, id, file string) fact.GPU {
		return fact.GPU{UUID: card + "/" + id, Card: card, Instance: id, File: file}
	}
	lost := card("GPU-b", "nvidia1")
	lost.Lost = true
	for sentence, c := range map[string]struct {
		gpus []fact.GPU
		want string // of nvidia0, nvidia1 and nvidia1/2
	}{
		"two cards":                        {[]fact.GPU{card("GPU-a", "nvidia0"), card("GPU-b", "nvidia1")}, "GPU-a GPU-b -"},
		"the other way round":              {[]fact.GPU{card("GPU-a", "nvidia1"), card("GPU-b", "nvidia0")}, "GPU-b GPU-a -"},
		"an instance":                      {[]fact.GPU{card("GPU-a", "nvidia0"), card("GPU-b", "nvidia1"), part("GPU-b", "2", "nvidia1")}, "GPU-a GPU-b GPU-b/2"},
		"after MIG was set up anew":        {[]fact.GPU{card("GPU-b", "nvidia1"), part("GPU-b", "7", "nvidia1")}, "- GPU-b -"},
		"a card that is lost":              {[]fact.GPU{card("GPU-a", "nvidia0"), lost, part("GPU-b", "2", "nvidia1")}, "GPU-a - -"},
		"a source that does not tell":      {[]fact.GPU{card("GPU-a", ""), card("GPU-b", "")}, "- - -"},
		"two that say that it is theirs":   {[]fact.GPU{card("GPU-a", "nvidia1"), card("GPU-b", "nvidia1"), part("GPU-b", "2", "nvidia1")}, "- - -"},
		"three that say that it is theirs": {[]fact.GPU{card("GPU-a", "nvidia1"), card("GPU-b", "nvidia1"), card("GPU-c", "nvidia1")}, "- - -"},
		"a reading that failed":            {nil, "- - -"},
	} {
		f := NewFiles(&given{fact.GPUReading{GPUs: c.gpus}}, time.Minute)
		if uuid, ok := f.Card(0, ""); ok || uuid != "" {
			t.Errorf("%s: known before anything was read: %s", sentence, uuid)
		}
		f.Read(t.Context())
		if got := whose(f); got != c.want {
			t.Errorf("%s: got %q, want %q", sentence, got, c.want)
		}
	}
}

func whose(f *Files) string {
	var got []string
	for _, x := range []struct {
		number   int
		instance string
	}{{0, ""}, {1, ""}, {1, "2"}} {
		uuid, ok := f.Card(x.number, x.instance)
		if !ok {
			uuid = "-"
		}
		got = append(got, uuid)
	}
	return strings.Join(got, " ")
}

func TestWhoseADeviceFileWasIsForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &given{fact.GPUReading{GPUs: []fact.GPU{{UUID: "GPU-a", File: "nvidia0"}}}}
		f := NewFiles(s, time.Minute)
		f.Read(t.Context())
		for _, step := range []struct {
			sentence string
			wait     time.Duration
			want     bool
		}{{"a young reading", 50 * time.Second, true}, {"an old one", 20 * time.Second, false}} {
			time.Sleep(step.wait)
			if _, ok := f.Card(0, ""); ok != step.want {
				t.Errorf("%s: known %v", step.sentence, ok)
			}
		}
		f.Read(t.Context())
		s.r = fact.GPUReading{Reason: fact.ReasonRefused}
		f.Read(t.Context())
		if uuid, ok := f.Card(0, ""); ok {
			t.Errorf("after a reading that failed it is still %s", uuid)
		}
	})
}

func TestDeviceFilesOnAPage(t *testing.T) {
	page := func(device string) string {
		return "DCGM_FI_DEV_GPU_TEMP{gpu=\"3\",UUID=\"GPU-a\",device=\"" + device + "\"} 61\n" +
			"DCGM_FI_DEV_FB_USED{gpu=\"3\",UUID=\"GPU-a\",device=\"" + device + "\",GPU_I_ID=\"2\"} 5\n"
	}
	for device, want := range map[string]string{
		"nvidia7": "nvidia7", "nvidia0": "nvidia0", "": "", "nvidia": "", "nvidia01": "", "nvidia-1": "", "nvidia+1": "", "nvidia1000": "", "nvidia99999999999999999999": "", "nvidia1 ": "", "mlx5_0": "",
	} {
		for _, g := range decodePage([]byte(page(device)), "").GPUs {
			if g.File != want {
				t.Errorf("%q: %s has the file %q, want %q", device, g.UUID, g.File, want)
			}
		}
	}
}

func TestDeviceFilesOfDCGM(t *testing.T) {
	j := newJudge("")
	minor := func(kind frame.Value) string {
		return only(t, j.reading(tick(h100(0, kind)))).File
	}
	for _, step := range []struct {
		sentence string
		value    frame.Value
		want     string
	}{
		{"before it was told", frame.Integer(frame.FieldMinor, -3, 0, 7), ""},
		{"its number, which is told once", frame.Integer(frame.FieldMinor, 0, nowUS-3600e6, 7), "nvidia7"},
		{"blank for a moment", frame.Integer(frame.FieldMinor, 0, 0, 0x7fffffff0), "nvidia7"},
		{"another", frame.Integer(frame.FieldMinor, 0, nowUS, 0), "nvidia0"},
	} {
		if got := minor(step.value); got != step.want {
			t.Errorf("%s: got %q, want %q", step.sentence, got, step.want)
		}
	}
}
