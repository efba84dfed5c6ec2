package kube

import (
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/goodput-exporter/goodput-exporter/internal/kube/kubetest"
)

// TestRequests: what is asked of the server's cache and what of its database is a cluster's matter.
func TestRequests(t *testing.T) {
	inWorld(t, func(w *world) {
		var mu sync.Mutex
		var asked []url.Values
		w.Fail(func(_ http.ResponseWriter, r *http.Request) bool {
			mu.Lock()
			defer mu.Unlock()
			asked = append(asked, r.URL.Query())
			return false
		})
		w.Put(object("a", "red")) // version 1001
		w.after(time.Second)
		w.Put(object("b", "blue")) // 1002
		w.after(time.Second)
		w.Say("ERROR", kubetest.Status(410, "Expired", "too old resource version"))
		w.after(5 * time.Second)
		mu.Lock()
		defer mu.Unlock()
		if len(asked) != 4 {
			t.Fatalf("asked %v", asked)
		}
		for i, want := range []map[string]string{
			{"resourceVersion": "0", "limit": "500", "resourceVersionMatch": "", "watch": ""},
			{"resourceVersion": "1001", "allowWatchBookmarks": "true", "watch": "true", "limit": ""},
			{"resourceVersion": "1002", "resourceVersionMatch": "NotOlderThan", "limit": "", "watch": ""},
			{"resourceVersion": "1003", "allowWatchBookmarks": "true", "watch": "true"},
		} {
			for key, value := range want {
				if got := asked[i].Get(key); got != value {
					t.Errorf("request %d: %s is %q, want %q", i, key, got, value)
				}
			}
			seconds, _ := strconv.Atoi(asked[i].Get("timeoutSeconds"))
			if watch := want["watch"] == "true"; watch && (seconds < 300 || seconds >= 600) || !watch && seconds != 0 {
				t.Errorf("request %d is to last %d s", i, seconds)
			}
		}
		if agent := w.Header().Get("User-Agent"); agent != "goodput-exporter" {
			t.Errorf("user agent %q", agent)
		}
	})
}

func TestQuery(t *testing.T) {
	for _, c := range []struct {
		q            Query
		path, params string
		text         string
	}{
		{Query{Version: "v1", Resource: "pods", Fields: "spec.nodeName=node-a"}, "/api/v1/pods", "fieldSelector=spec.nodeName%3Dnode-a", "pods"},
		{Query{Version: "v1", Resource: "pods", Namespace: "serving", Labels: "a in (b)"}, "/api/v1/namespaces/serving/pods", "labelSelector=a+in+%28b%29", "pods of namespace serving"},
		{Query{Group: "resource.k8s.io", Version: "v1", Resource: "resourceslices"}, "/apis/resource.k8s.io/v1/resourceslices", "", "resourceslices.resource.k8s.io"},
		{Query{Version: "v1", Resource: "pods", Namespace: "../.."}, "/api/v1/namespaces/..%2F../pods", "", "pods of namespace ../.."},
	} {
		if c.q.path() != c.path || c.q.params().Encode() != c.params || c.q.String() != c.text {
			t.Errorf("%+v: %s ? %s, %q", c.q, c.q.path(), c.q.params().Encode(), c.q)
		}
	}
}

// TestBackoff: waits grow to a minute and no further, and are short again after a success.
func TestBackoff(t *testing.T) {
	var b backoff
	var longest time.Duration
	for i := range 40 {
		wait := b.after(nil)
		most := min(lastWait, firstWait<<min(i, 10))
		if wait < 0 || wait >= most {
			t.Errorf("wait %d is %v, of %v at most", i, wait, most)
		}
		longest = max(longest, wait)
	}
	if longest < lastWait/2 {
		t.Errorf("the longest of 40 waits is %v", longest)
	}
	if wait := b.after(&StatusError{RetryAfter: 2 * time.Minute}); wait < 2*time.Minute || wait >= 3*time.Minute {
		t.Errorf("a server that wants two minutes gets %v", wait)
	}
	b.reset()
	if wait := b.after(nil); wait >= firstWait {
		t.Errorf("after a success %v", wait)
	}
}

// TestWhatAServerWritesIsCut: its words become one short line.
func TestWhatAServerWritesIsCut(t *testing.T) {
	e := status{Code: 500, Reason: strings.Repeat("r", 1000), Message: "a\nb\x1b[31m" + strings.Repeat("\u00e9", 5000)}.refused("list", things)
	if text := e.Error(); len([]rune(text)) > 400 || strings.ContainsAny(text, "\n\x1b") || len(e.Reason) > 70 {
		t.Errorf("%d characters: %s", len([]rune(text)), text)
	}
}
