package config

import (
	"testing"
	"time"

	"github.com/prometheus/common/model"
)

var durations = []string{
	"0", "0s", "1ms", "1500ms", "1s500ms", "2s", "90s", "1h30m", "5m", "30d", "1w", "1y", "1y2w3d4h5m6s7ms", "12w6d", "007s", "292y",
	"", "1", "s", "-1s", "1.5s", "1s1m", "1s1s", "1m30", "1us", "1S", " 1s", "1s ", "1 s", "+1s", "1ms1s", "293y", "106751991167300d",
	"9223372036855ms", "9223372036854ms", "99999999999999999999s", "0y0w0s", "1e3s", "1_0s", "١s", "1d1w",
}

// agree checks that a text means here what it means to Prometheus.
func agree(t *testing.T, text string) {
	t.Helper()
	want, wantErr := model.ParseDuration(text)
	got, err := parseDuration(text)
	if (err == nil) != (wantErr == nil) {
		t.Fatalf("%q: error %v, Prometheus says %v", text, err, wantErr)
	}
	if err != nil {
		return
	}
	if got != time.Duration(want) {
		t.Fatalf("%q: %v, Prometheus says %v", text, got, want)
	}
	again, err := parseDuration(formatDuration(got))
	if err != nil || again != got {
		t.Errorf("%q is written as %q, which reads as %v (%v)", text, formatDuration(got), again, err)
	}
}

func TestDurationsAreThoseOfPrometheus(t *testing.T) {
	for _, text := range durations {
		agree(t, text)
	}
}

func FuzzDuration(f *testing.F) {
	for _, text := range durations {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) { agree(t, text) })
}

func TestDurationsAreWrittenAsPeopleWould(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0: "0s", 250 * time.Millisecond: "250ms", 1500 * time.Millisecond: "1500ms", time.Minute: "1m", 90 * time.Minute: "1h30m",
		30 * 24 * time.Hour: "30d", 14 * 24 * time.Hour: "2w", 61*time.Second + time.Millisecond: "1m1s1ms", 365 * 24 * time.Hour: "1y",
	} {
		if got := formatDuration(d); got != want {
			t.Errorf("%v: %s, want %s", d, got, want)
		}
	}
}

// TestSecondsAreTheFloatOfTheDecimal compares with what strconv makes of a page's le label.
func TestSecondsAreTheFloatOfTheDecimal(t *testing.T) {
	for d, want := range map[time.Duration]float64{
		250 * time.Millisecond: 0.25, 25 * time.Millisecond: 0.025, 4350 * time.Millisecond: 4.35, 7 * time.Millisecond: 0.007,
		8*time.Second + 300*time.Millisecond: 8.3, 2560 * time.Second: 2560,
	} {
		if got := seconds(d); got != want {
			t.Errorf("%v: %v, want %v", d, got, want)
		}
	}
}
