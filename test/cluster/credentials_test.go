package cluster

import (
	"fmt"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/goodput-exporter/goodput-exporter/collectors/discovery/kubernetes"
)

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
	c.open()
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
