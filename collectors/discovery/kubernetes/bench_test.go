package kubernetes

import (
	"encoding/json"
	"fmt"
	"runtime"
	"testing"
)

// BenchmarkEvent is from the bytes of one event to the list, in a cluster of 1,000 engines: an event that changes nothing, as most do, and
// one by which an engine moves.
func BenchmarkEvent(b *testing.B) {
	for name, moves := range map[string]bool{"nothing-new": false, "moved": true} {
		b.Run(name, func(b *testing.B) {
			w, texts := filled(b, 1000)
			s := w.spaces[0]
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				var p pod
				if err := json.Unmarshal(texts[i%len(texts)], &p); err != nil {
					b.Fatal(err)
				}
				if moves {
					p.Status.IP = fmt.Sprintf("10.1.%d.%d", i/250%250, i%250+1)
				}
				s.Put(p)
				if len(w.List()) != 1000 {
					b.Fatal(len(w.List()))
				}
			}
		})
	}
}

// BenchmarkPods is what 1,000 pods take in memory, and how long it takes to take them in.
func BenchmarkPods(b *testing.B) {
	var before, after runtime.MemStats
	_, texts := filled(b, 1000)
	for b.Loop() {
		runtime.GC()
		runtime.ReadMemStats(&before)
		w, _ := filled(b, 0)
		for _, text := range texts {
			var p pod
			if err := json.Unmarshal(text, &p); err != nil {
				b.Fatal(err)
			}
			w.spaces[0].Put(p)
		}
		w.List()
		runtime.GC()
		runtime.ReadMemStats(&after)
		runtime.KeepAlive(w)
	}
	b.ReportMetric(float64(after.HeapAlloc-before.HeapAlloc)/1000, "bytes/pod")
}

// filled is a watcher that knows pods, and what they look like.
func filled(b *testing.B, n int) (*Watcher, [][]byte) {
	b.Helper()
	c := Config{Scope: ScopeCluster}
	c.API.Server = "https://127.0.0.1:1"
	w, err := New(c)
	if err != nil {
		b.Fatal(err)
	}
	var texts [][]byte
	for i := range n {
		o := podWith(b, named(fmt.Sprintf("acme-%04d", i), fmt.Sprintf("10.0.%d.%d", i/250, i%250+1)))
		text, err := json.Marshal(o)
		if err != nil {
			b.Fatal(err)
		}
		texts = append(texts, text)
		w.spaces[0].Put(*decoded(b, o))
	}
	return w, texts
}
