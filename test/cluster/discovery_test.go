package cluster

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/goodput-exporter/goodput-exporter/collectors/discovery/kubernetes"
)

const soon = 5 * time.Second

// TestPodsOfANode walks through what happens to the pods of a node, as a real API server tells it.
func TestPodsOfANode(t *testing.T) {
	c := newCluster(t)
	c.newAccount()
	c.allow()
	c.tokenFile("")
	c.namespace("serving")
	first := engine("serving", "first", address(1))
	uid := c.add(first, true)
	elsewhere := engine("serving", "elsewhere", address(2))
	elsewhere.node = "node-b"
	c.add(elsewhere, true)
	stranger := engine("serving", "stranger", address(3))
	stranger.labels = object{"app": "stranger"}
	c.add(stranger, true)

	f := newFront(t, c)
	w := watch(t, c, f, nil)
	w.becomes(soon, "serving.first:8000")
	found := w.List()[0].Target
	for name, want := range map[string]string{"pod_name": "first", "pod_namespace": "serving", "pod_uid": uid, "container": "vllm"} {
		if got := found.Labels[name]; got != want {
			t.Errorf("the label %s is %q, want %q", name, got, want)
		}
	}
	if want := "http://" + first.ip + ":8000/metrics"; found.URL != want {
		t.Errorf("the page is at %s, want %s", found.URL, want)
	}

	second := engine("serving", "second", "")
	second.owner = object{"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "acme-7d4b9c6f5", "uid": "u", "controller": true}
	second.labels["pod-template-hash"] = "7d4b9c6f5"
	c.must(c.create(second.path(), second.object()))
	w.stays(300*time.Millisecond, "serving.first:8000") // it has no address yet
	second.ip = address(4)
	c.must(c.runs(second, false))
	w.becomes(soon, "serving.first:8000", "serving.second:8000")
	if got := w.List()[1].Target; !got.Starting || got.Labels["owner"] != "Deployment/acme" {
		t.Errorf("a pod that is not ready yet is %+v", got)
	}
	c.must(c.runs(second, true))
	until(t, soon, "it is not starting any more", func() error {
		if w.List()[1].Target.Starting {
			return errNotYet
		}
		return nil
	})

	c.must(c.patch(stranger.self(), object{"metadata": object{"labels": object{"goodput-exporter/engine": "true"}}}))
	w.becomes(soon, "serving.first:8000", "serving.second:8000", "serving.stranger:8000")
	c.must(c.patch(stranger.self(), object{"metadata": object{"labels": object{"goodput-exporter/engine": nil}}}))
	w.becomes(soon, "serving.first:8000", "serving.second:8000")

	// A deletion lasts as long as the pod is given to end, and it is out from the first moment.
	c.remove(first)
	w.becomes(soon, "serving.second:8000")
	if o, err := c.get(first.self()); err != nil || text(o, "metadata", "deletionTimestamp") == "" {
		t.Errorf("the pod that is being deleted should still be there: %v, %v", o, err)
	}
	c.gone(first)
	w.stays(300*time.Millisecond, "serving.second:8000")

	// DSC-01: a pod that has failed keeps its address in the API, and another one is given it.
	c.phase(second, "Failed")
	w.becomes(soon)
	heir := engine("serving", "heir", second.ip)
	c.add(heir, true)
	w.becomes(soon, "serving.heir:8000")

	// The same while the one before is being deleted, which takes as long as it is given.
	c.remove(heir)
	w.becomes(soon)
	last := engine("serving", "last", heir.ip)
	c.add(last, true)
	w.becomes(soon, "serving.last:8000")
	c.must(c.runs(heir, true)) // the kubelet goes on reporting of it
	w.stays(300*time.Millisecond, "serving.last:8000")
	c.gone(heir)
	w.stays(300*time.Millisecond, "serving.last:8000")
	if lists := f.requests(0, "pods", false); len(lists) != 1 {
		t.Errorf("the pods were listed %d times, want once: %+v", len(lists), lists)
	}
	if strings.Contains(w.log.String(), "very-secret") {
		t.Error("the log tells the environment of a pod")
	}
	onlyReads(t, c)
}

// onlyReads holds what the API server wrote down of the exporter's account: that it only ever listed and watched pods.
func onlyReads(t *testing.T, c *cluster) {
	t.Helper()
	for _, e := range c.audit() {
		if verb := text(e, "verb"); verb != "list" && verb != "watch" || text(e, "objectRef", "resource") != "pods" {
			t.Errorf("the exporter's account asked for %s of %s", verb, text(e, "requestURI"))
		}
	}
}

// TestChurn has a thousand pods come, change and go in random order, beside those of another node.
func TestChurn(t *testing.T) {
	c := newCluster(t)
	c.newAccount()
	c.allow()
	c.tokenFile("")
	c.namespace("serving")
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
	c.newAccount()
	c.allow()
	c.tokenFile("")
	c.namespace("serving")
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
	c.newAccount()
	c.allow()
	c.tokenFile("")
	c.namespace("serving")
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

// TestARoleOfANamespace: with a list of namespaces, a Role in each does, and nothing is asked of others.
func TestARoleOfANamespace(t *testing.T) {
	c := newCluster(t)
	c.newAccount()
	c.tokenFile("")
	for i, name := range []string{"serving", "gpu-operator", "private"} {
		c.namespace(name)
		c.add(engine(name, "acme", address(i)), true)
	}
	c.allowIn("serving")
	f := newFront(t, c)
	w := watch(t, c, f, func(cfg *kubernetes.Config) { cfg.Namespaces = []string{"serving", "gpu-operator"} })
	w.tells(soon, "gpu-operator", "pods", "list", "RoleBinding")
	w.becomes(soon, "serving.acme:8000") // what may be read is not held up by what may not
	if w.Status().Up {
		t.Error("it says that it is up while a namespace may not be read")
	}
	c.allowIn("gpu-operator")
	w.up(90*time.Second, true)
	w.becomes(soon, "gpu-operator.acme:8000", "serving.acme:8000")
	for _, e := range c.audit() {
		if in := text(e, "objectRef", "namespace"); in != "serving" && in != "gpu-operator" {
			t.Errorf("it asked for %s", text(e, "requestURI"))
		}
	}
}

// TestForbidden: without the binding the status says what is missing, and the engines come when it is there.
func TestForbidden(t *testing.T) {
	c := newCluster(t)
	c.newAccount()
	c.tokenFile("")
	c.namespace("serving")
	c.add(engine("serving", "acme", address(1)), true)
	f := newFront(t, c)
	w := watch(t, c, f, nil)
	w.tells(soon, "pods", "list", "ClusterRole")
	if s := w.Status(); s.Up || !s.Synced.IsZero() {
		t.Errorf("it says that it is up, or was once: %+v", s)
	}
	if n := strings.Count(w.log.String(), "level=WARN") + strings.Count(w.log.String(), "level=ERROR"); n != 1 {
		t.Errorf("the log tells it %d times, want once:\n%s", n, w.log)
	}
	c.allow()
	w.becomes(90*time.Second, "serving.acme:8000")

	// Permission that is taken away later: what is known stays, and it is said why.
	c.must(c.do(http.MethodDelete, rbac+"/clusterrolebindings/"+account, nil, nil))
	until(t, soon, "the server has noticed", func() error {
		asExporter := *c.client
		token, err := os.ReadFile(c.dir + "/token")
		if err != nil {
			t.Fatal(err)
		}
		asExporter.token = string(token)
		if _, err := asExporter.get("/api/v1/pods"); err == nil {
			return errNotYet
		}
		return nil
	})
	f.cut()
	w.tells(30*time.Second, "pods", "ClusterRole")
	w.stays(time.Second, "serving.acme:8000")
}

// TestTokens: a token that was rotated in time is used at once, and one that was not is told until it is.
func TestTokens(t *testing.T) {
	c := newCluster(t)
	uid := c.newAccount()
	c.allow()
	c.namespace("serving")
	c.add(engine("serving", "acme", address(1)), true)
	path := c.keep(c.pki.token(home, account, uid, 15*time.Second))
	expires := time.Now().Add(15 * time.Second)
	f := newFront(t, c)
	w := watch(t, c, f, nil)
	w.becomes(soon, "serving.acme:8000")

	// A watch that is open outlives its token; the next request does not. The server remembers tokens for 10 s.
	time.Sleep(time.Until(expires.Add(11 * time.Second)))
	f.cut()
	w.tells(30*time.Second, "401")
	w.stays(time.Second, "serving.acme:8000")
	if text, _ := os.ReadFile(path); strings.Contains(w.log.String()+w.Status().Detail, string(text)) {
		t.Error("the token is told")
	}
	c.tokenFile("")
	w.up(70*time.Second, true)
	c.add(engine("serving", "beta", address(2)), true)
	w.becomes(soon, "serving.acme:8000", "serving.beta:8000")

	// Rotated before it ends, as the kubelet does: nobody notices.
	c.tokenFile("rotated")
	since, log := f.count(), w.log.String()
	f.cut()
	until(t, 10*time.Second, "it watches again", func() error {
		if again := f.requests(since, "pods", true); len(again) == 0 || again[len(again)-1].status != http.StatusOK {
			return fmt.Errorf("%+v", again)
		}
		return nil
	})
	if news := strings.TrimPrefix(w.log.String(), log); strings.Contains(news, "401") {
		t.Errorf("the log tells of a rotation: %s", news)
	}

	// A token that is taken back before its time.
	c.must(c.do(http.MethodDelete, "/api/v1/namespaces/"+home+"/secrets/rotated", nil, nil))
	time.Sleep(11 * time.Second)
	f.cut()
	w.tells(30*time.Second, "401")
	w.stays(time.Second, "serving.acme:8000", "serving.beta:8000")
}

// TestAuthorityChanges: the cluster gets certificates from another authority, and tokens signed with another key, while the
// exporter runs.
func TestAuthorityChanges(t *testing.T) {
	c := newCluster(t)
	c.newAccount()
	c.allow()
	c.tokenFile("")
	c.namespace("serving")
	c.add(engine("serving", "acme", address(1)), true)
	w := watch(t, c, newFront(t, c), func(cfg *kubernetes.Config) { cfg.API.Server = c.base })
	w.becomes(soon, "serving.acme:8000")

	c.server.kill()
	w.up(10*time.Second, false)
	old, err := os.ReadFile(c.ca())
	c.must(err)
	c.pki = newAuthority(t, c.dir)
	c.http = c.pki.client()
	renewed, err := os.ReadFile(c.ca())
	c.must(err)
	write(t, c.ca(), string(old)) // the kubelet brings the new one later
	c.startServer()
	w.tells(90*time.Second, "certificate")
	w.stays(time.Second, "serving.acme:8000")
	write(t, c.ca(), string(renewed))
	c.tokenFile("")
	w.up(90*time.Second, true)
	c.add(engine("serving", "beta", address(2)), true)
	w.becomes(soon, "serving.acme:8000", "serving.beta:8000")
}
