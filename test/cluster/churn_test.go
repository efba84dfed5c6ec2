package cluster

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"
	"time"
)

// TestChurn has a thousand pods come, change and go in random order, beside those of another node.
func TestChurn(t *testing.T) {
	c := newCluster(t)
	c.open()
	f := newFront(t, c)
	w := watch(t, c, f, nil)
	w.up(soon, true)
	before := runtime.NumGoroutine()

	random := rand.New(rand.NewPCG(9, 1))
	var alive []pod
	made, events := 0, 0
	begun := time.Now()
	for made < 1000 || len(alive) > 5 {
		events++
		if made < 1000 && (len(alive) == 0 || len(alive) < 40 && random.IntN(2) == 0) {
			p := engine("serving", fmt.Sprintf("pod-%d", made), address(made))
			if made%5 == 0 {
				p.node = "node-b"
			}
			c.add(p, random.IntN(2) == 0)
			alive, made = append(alive, p), made+1
			continue
		}
		n := random.IntN(len(alive))
		switch random.IntN(3) {
		case 0:
			c.must(c.runs(alive[n], true))
		case 1:
			c.remove(alive[n])
			fallthrough
		case 2:
			c.gone(alive[n])
			alive = slices.Delete(alive, n, n+1)
		}
	}
	took := time.Since(begun)
	w.becomes(soon, c.expected()...)
	if lists := f.requests(0, "pods", false); len(lists) != 1 {
		t.Errorf("the pods were listed %d times, want once", len(lists))
	}
	until(t, soon, "no goroutine is left over", func() error {
		if now := runtime.NumGoroutine(); now > before+5 {
			return fmt.Errorf("%d, before %d", now, before)
		}
		return nil
	})
	t.Logf("%d steps with %d pods in %v", events, made, took.Round(time.Millisecond))
	onlyReads(t, c)
}

// TestDelay measures how long it takes from the server's word that a pod runs, or is to go, until it is known.
func TestDelay(t *testing.T) {
	c := newCluster(t)
	c.open()
	w := watch(t, c, newFront(t, c), nil)
	w.up(soon, true)
	var came, went []time.Duration
	// since waits until a number of engines are known, and returns how long that took.
	since := func(begun time.Time, n int) time.Duration {
		for len(w.ids()) != n {
			if time.Since(begun) > soon {
				t.Fatalf("%d engines are known after %v, want %d", len(w.ids()), soon, n)
			}
			time.Sleep(200 * time.Microsecond)
		}
		return time.Since(begun)
	}
	for i := range 100 {
		p := engine("serving", fmt.Sprintf("pod-%d", i), address(i))
		c.must(c.create(p.path(), p.object()))
		c.must(c.runs(p, true))
		came = append(came, since(time.Now(), 1))
		c.remove(p)
		went = append(went, since(time.Now(), 0))
		c.gone(p)
	}
	for what, all := range map[string][]time.Duration{"known": came, "out": went} {
		slices.Sort(all)
		t.Logf("%s after %v at the median, %v at most", what, all[len(all)/2].Round(100*time.Microsecond), all[len(all)-1].Round(100*time.Microsecond))
	}
}

// expected are the engines that the API server's own list has, worked out without the exporter's code.
func (c *cluster) expected() (ids []string) {
	c.t.Helper()
	all, err := c.get("/api/v1/pods")
	c.must(err)
	items, _ := all["items"].([]any)
	for _, p := range items {
		if text(p, "spec", "nodeName") == node && text(p, "metadata", "deletionTimestamp") == "" && text(p, "status", "phase") == "Running" {
			ids = append(ids, text(p, "metadata", "namespace")+"."+text(p, "metadata", "name")+":8000")
		}
	}
	slices.Sort(ids)
	return ids
}

// TestManyPods lists more pods than a page of a list has, from a server that answers from its cache and from one that asks etcd.
func TestManyPods(t *testing.T) {
	for name, c := range map[string]struct {
		flags []string
		pages int
	}{
		"a server with a cache, which gives all at once": {nil, 1},
		"a server without one, which gives pages":        {[]string{"--watch-cache=false"}, 3},
	} {
		t.Run(name, func(t *testing.T) { manyPods(t, newCluster(t, c.flags...), c.pages) })
	}
}

func manyPods(t *testing.T, c *cluster, pages int) {
	c.open()
	for i := range 1100 {
		p := engine("serving", fmt.Sprintf("pod-%04d", i), address(i))
		if i%20 != 0 {
			p.labels = object{"app": "other"}
		}
		c.must(c.create(p.path(), p.object()))
		if i%20 == 0 {
			c.must(c.runs(p, true))
		}
	}
	f := newFront(t, c)
	w := watch(t, c, f, nil)
	w.up(10*time.Second, true)
	w.becomes(soon, c.expected()...)
	if n := len(w.ids()); n != 55 {
		t.Errorf("%d engines, want 55", n)
	}
	if lists := f.requests(0, "pods", false); len(lists) != pages {
		t.Errorf("the list came in %d pages, want %d", len(lists), pages)
	}
}
