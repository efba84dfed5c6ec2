package gpu

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/goodput-exporter/goodput-exporter/exporter/fact"
)

// TestAutoWaitsForAPageThatHasToBeFound: where pods say which page it is, they are not known in the first moment.
func TestAutoWaitsForAPageThatHasToBeFound(t *testing.T) {
	for name, c := range map[string]struct {
		installed bool
		found     time.Duration // after the beginning; 0: never
		after     time.Duration
		source    string
		reason    fact.Reason
	}{
		"it is found at once":                              {true, time.Nanosecond, 0, NamePage, ""},
		"it is found after two seconds":                    {true, 2 * time.Second, 3 * time.Second, NamePage, ""},
		"it is found after two seconds, and nothing else":  {false, 2 * time.Second, 3 * time.Second, NamePage, ""},
		"it is not found yet":                              {true, 0, 10 * time.Second, NameNone, fact.ReasonNoSource},
		"it is not found":                                  {true, 0, 16 * time.Second, NameChild, ""},
		"it is not found, and nothing else is there":       {false, 0, time.Hour, NameNone, fact.ReasonNoSource},
		"it is found after half an hour, and nothing else": {false, 30 * time.Minute, 30*time.Minute + time.Second, NamePage, ""},
		"it is found when a child has been chosen":         {true, 20 * time.Second, 30 * time.Second, NameChild, ""},
		"it has been there for long beside a child's GPUs": {true, 20 * time.Second, 12 * time.Minute, NamePage, ""},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				a := newAuto(t)
				a.installed = c.installed
				begun := time.Now()
				known := func() bool { return c.found > 0 && time.Since(begun)+time.Nanosecond >= c.found }
				a.cfg.Page.Locate = func() (string, string) {
					if known() {
						return "http://10.0.0.7:9400/metrics", "pod gpu-operator/dcgm"
					}
					return "", "the pods of the node are not known yet"
				}
				a.Auto.page = &scripted{name: NamePage, brings: func() fact.Reason {
					if known() {
						return ""
					}
					return fact.ReasonNoSource
				}}
				says := ""
				if c.reason != "" {
					says = "no GPUs from"
				}
				a.read(c.after, c.source, c.reason, says)
			})
		})
	}
}
