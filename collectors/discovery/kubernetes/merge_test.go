package kubernetes

import (
	"fmt"
	"testing"

	"github.com/goodput-exporter/goodput-exporter/internal/kube/kubetest"
)

// TestTooMany: a selector that fits everything does not have everything polled; who was there first stays.
func TestTooMany(t *testing.T) {
	var pods []kubetest.Object
	for i := range 300 {
		pods = append(pods, podWith(t, named(fmt.Sprintf("p%03d", 299-i), fmt.Sprintf("10.0.%d.%d", i/250, i%250)).and(edits{"status|startTime": fmt.Sprintf(`"2026-01-05T10:%02d:%02dZ"`, i/60, i%60)})))
	}
	m := join(t, Config{}, pods...)
	if len(m.list) != maxOfNode || m.pods[Refused] != 44 || m.list[len(m.list)-1].ID != "serving.p299:8000" {
		t.Errorf("%d targets of %v, the last %s", len(m.list), m.pods, m.list[len(m.list)-1].ID)
	}
	if s := m.skip("serving/p000"); len(m.skipped) != 44 || s.Why != "there are 256 targets before it, and 256 is the most: make the selectors fit engines only" {
		t.Errorf("skipped %+v", s)
	}
}

// TestManySkips: what is said of pods that are not polled has an end; how many they are is counted all the same.
func TestManySkips(t *testing.T) {
	var pods []kubetest.Object
	for i := range 150 {
		pods = append(pods, podWith(t, named(fmt.Sprintf("p%03d", i), "127.0.0.1")))
	}
	if m := join(t, Config{}, pods...); len(m.skipped) != maxSkips || m.pods[Refused] != 150 || m.skipped[0].Pod != "serving/p000" {
		t.Errorf("%d are named of %v", len(m.skipped), m.pods)
	}
}
