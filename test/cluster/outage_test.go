package cluster

import (
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"
)

// TestServerIsKilled: an API server that dies takes no engine with it, and what happened meanwhile is known soon after.
func TestServerIsKilled(t *testing.T) {
	c := newCluster(t)
	c.open()
	acme, beta := engine("serving", "acme", address(1)), engine("serving", "beta", address(2))
	c.add(acme, true)
	c.add(beta, true)
	f := newFront(t, c)
	w := watch(t, c, f, nil)
	w.becomes(soon, "serving.acme:8000", "serving.beta:8000")

	c.server.kill()
	w.up(10*time.Second, false)
	w.stays(5*time.Second, "serving.acme:8000", "serving.beta:8000")
	if s := w.Status(); s.Detail == "" || s.Synced.IsZero() {
		t.Errorf("it does not say what is wrong, or when it last was not: %+v", s)
	}

	// The pods change before the exporter is let in again.
	f.hold()
	c.startServer()
	c.gone(beta)
	c.add(engine("serving", "gamma", address(3)), true)
	f.letGo()
	begun := time.Now()
	w.becomes(90*time.Second, "serving.acme:8000", "serving.gamma:8000")
	w.up(soon, true)
	t.Logf("known %v after the server was there", time.Since(begun).Round(100*time.Millisecond))
}

// TestAnotherServer: of several API servers over one etcd, one takes over where another has died, with nothing listed anew.
func TestAnotherServer(t *testing.T) {
	c := newCluster(t)
	c.open()
	acme := engine("serving", "acme", address(1))
	c.add(acme, true)
	f := newFront(t, c)
	w := watch(t, c, f, nil)
	w.becomes(soon, "serving.acme:8000")
	port := freePort(t)
	c.apiServer(port)
	c.add(engine("serving", "beta", address(2)), true)
	w.becomes(soon, "serving.acme:8000", "serving.beta:8000")

	f.lead(port)
	c.server.kill()
	c.base = fmt.Sprintf("https://127.0.0.1:%d", port)
	c.gone(acme)
	w.becomes(30*time.Second, "serving.beta:8000")
	w.up(soon, true)
	if lists := f.requests(0, "pods", false); len(lists) != 1 {
		t.Errorf("the pods were listed %d times, want once", len(lists))
	}
}

// TestServerHangs: a server that takes a request and says nothing is not waited for, for ever.
func TestServerHangs(t *testing.T) {
	c := newCluster(t)
	c.open()
	acme := engine("serving", "acme", address(1))
	c.add(acme, true)
	f := newFront(t, c)
	w := watch(t, c, f, nil)
	w.becomes(soon, "serving.acme:8000")
	f.hold()
	f.cut()
	w.stays(5*time.Second, "serving.acme:8000")
	c.gone(acme)
	begun := time.Now()
	until(t, 2*time.Minute, "it says that nothing is heard", func() error {
		if s := w.Status(); s.Up || s.Detail == "" {
			return errNotYet
		}
		return nil
	})
	t.Logf("told after %v: %s", time.Since(begun).Round(100*time.Millisecond), w.Status().Detail)
	w.stays(time.Second, "serving.acme:8000")
	f.letGo()
	w.becomes(90 * time.Second)
}

// TestCompaction: history that etcd has compacted is gone (410), and the pods are listed anew.
func TestCompaction(t *testing.T) {
	for name, flags := range map[string][]string{
		"a server that keeps the newest events itself": nil,
		"a server that asks etcd for each watch anew":  {"--watch-cache=false"},
	} {
		t.Run(name, func(t *testing.T) {
			c := newCluster(t, flags...)
			c.open()
			acme, beta := engine("serving", "acme", address(1)), engine("serving", "beta", address(2))
			c.add(acme, true)
			c.add(beta, true)
			f := newFront(t, c)
			w := watch(t, c, f, nil)
			w.becomes(soon, "serving.acme:8000", "serving.beta:8000")

			from := f.requests(0, "pods", true)[0].query.Get("resourceVersion")
			f.hold()
			f.cut()
			c.gone(acme)
			for i := range 200 {
				c.must(c.patch(beta.self(), object{"metadata": object{"annotations": object{"n": strconv.Itoa(i)}}}))
			}
			c.compact()
			if flags == nil { // what it kept itself goes with it
				c.server.kill()
				c.startServer()
			}
			if said := c.history(from); !strings.Contains(said, `"code":410`) {
				t.Fatalf("the history is still there: %.300s", said)
			}
			since := f.count()
			f.letGo()
			w.becomes(90*time.Second, "serving.beta:8000")
			w.up(soon, true)
			lists, watches := f.requests(since, "pods", false), f.requests(since, "pods", true)
			if len(lists) == 0 {
				t.Errorf("the pods were not listed anew, so that the history was not gone; watches: %+v", watches)
			}
			t.Logf("%d watches and %d lists until it knew", len(watches), len(lists))
		})
	}
}

// history is what the server says to a watch from a version, within a second.
func (c *cluster) history(from string) string {
	c.t.Helper()
	resp, err := c.ask(http.MethodGet, "/api/v1/pods?watch=true&timeoutSeconds=1&resourceVersion="+from, "", nil)
	c.must(err)
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	c.must(err)
	return string(text)
}

// TestBookmarks: while nothing happens on the node, the place in history goes on with the cluster's, so that a watch can go
// on from there for as long as the server remembers.
func TestBookmarks(t *testing.T) {
	c := newCluster(t)
	c.open()
	c.add(engine("serving", "acme", address(1)), true)
	f := newFront(t, c)
	w := watch(t, c, f, nil)
	w.becomes(soon, "serving.acme:8000")
	from := version(t, f.requests(0, "pods", true)[0])

	elsewhere := engine("serving", "elsewhere", address(2))
	elsewhere.node = "node-b"
	c.add(elsewhere, true)
	for i := range 300 {
		c.must(c.patch(elsewhere.self(), object{"metadata": object{"annotations": object{"n": strconv.Itoa(i)}}}))
	}
	time.Sleep(75 * time.Second) // the server sends a bookmark a minute
	since := f.count()
	f.cut()
	until(t, 10*time.Second, "it watches again", func() error {
		if again := f.requests(since, "pods", true); len(again) == 0 || again[0].status != http.StatusOK {
			return fmt.Errorf("%+v", again)
		}
		return nil
	})
	if to := version(t, f.requests(since, "pods", true)[0]); to < from+300 {
		t.Errorf("the watch goes on from %d, having begun at %d: no bookmark was taken", to, from)
	}
	if lists := f.requests(0, "pods", false); len(lists) != 1 {
		t.Errorf("the pods were listed %d times, want once", len(lists))
	}
}

func version(t *testing.T, a ask) int {
	t.Helper()
	n, err := strconv.Atoi(a.query.Get("resourceVersion"))
	if err != nil {
		t.Fatalf("the resource version of %v: %v", a.query, err)
	}
	return n
}
