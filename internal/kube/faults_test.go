package kube

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/goodput-exporter/goodput-exporter/internal/kube/kubetest"
)

// TestFaults: each way in which a server is known to fail. What was known last is kept.
func TestFaults(t *testing.T) {
	for name, test := range map[string]func(w *world){
		"a server that is away loses nothing, and is said to be away once": func(w *world) {
			w.Put(object("a", "red"))
			w.after(time.Second)
			w.wire.cut(true)
			w.Break()
			w.after(time.Hour)
			w.holds(false, "a=red")
			if s := w.box.state(); !strings.Contains(s.Problem, "127.0.0.1:6443 cannot be reached: connection refused; ") || time.Since(s.Heard) < time.Hour {
				w.Errorf("state %+v", s)
			}
			w.said(1, "is not followed")
			w.wire.cut(false)
			w.after(2 * time.Minute)
			w.holds(true, "a=red")
			w.said(1, "is not followed")
		},
		"a watch that says nothing is begun anew, and what was missed is heard": func(w *world) {
			w.Put(object("a", "red"))
			w.after(time.Second)
			w.Break()
			w.Fail(func(rw http.ResponseWriter, r *http.Request) bool {
				rw.(http.Flusher).Flush()
				<-r.Context().Done()
				return true
			})
			w.after(time.Minute)
			w.Put(object("b", "blue"))
			w.holds(true, "a=red")
			w.Fail(nil)
			w.after(idleLimit + time.Minute)
			w.holds(true, "a=red b=blue")
			if lists, _ := w.box.told(); lists != 1 {
				w.Errorf("listed %d times", lists)
			}
		},
		"a watch that is taken and not answered is given up": func(w *world) {
			w.Put(object("a", "red"))
			w.Fail(func(_ http.ResponseWriter, r *http.Request) bool {
				if r.URL.Query().Get("watch") != "" {
					<-r.Context().Done()
				}
				return r.URL.Query().Get("watch") != ""
			})
			w.after(openTimeout + time.Second)
			w.holds(false, "a=red")
			if p := w.box.state().Problem; p != errOpenTimeout.Error() {
				w.Errorf("problem %q", p)
			}
		},
		"a server that is behind is asked for what it has": func(w *world) {
			w.Put(object("a", "red"))
			w.Fail(func(rw http.ResponseWriter, r *http.Request) bool {
				if r.URL.Query().Get("resourceVersion") == "" || r.URL.Query().Get("watch") != "" {
					return false
				}
				kubetest.Refuse(rw, 504, "Timeout", "Too large resource version: 7000, current: 1001")
				return true
			})
			w.after(time.Second)
			w.holds(true, "a=red")
		},
		"a server that takes the request and does not answer is away": func(w *world) {
			w.Fail(func(_ http.ResponseWriter, r *http.Request) bool { <-r.Context().Done(); return true })
			w.after(listTimeout + time.Minute)
			w.holds(false, "")
			if p := w.box.state().Problem; p != errListTimeout.Error() {
				w.Errorf("problem %q", p)
			}
			w.Fail(nil)
			w.Put(object("a", "red"))
			w.after(3 * time.Minute)
			w.holds(true, "a=red")
		},
		"a list that drips is given up, and a watch whose event drips is begun anew": func(w *world) {
			w.Put(object("a", "red"))
			w.Fail(func(rw http.ResponseWriter, r *http.Request) bool {
				for r.Context().Err() == nil {
					_, _ = rw.Write([]byte(" "))
					rw.(http.Flusher).Flush()
					time.Sleep(time.Second)
				}
				return true
			})
			w.after(listTimeout + 5*time.Second)
			if p := w.box.state().Problem; !strings.Contains(p, errListTimeout.Error()) {
				w.Errorf("problem %q", p)
			}
			w.Fail(func(rw http.ResponseWriter, r *http.Request) bool {
				if r.URL.Query().Get("watch") == "" {
					return false
				}
				_, watches, _ := w.Asked()
				if watches > 1 {
					return false
				}
				for r.Context().Err() == nil {
					_, _ = rw.Write([]byte(" "))
					rw.(http.Flusher).Flush()
					time.Sleep(time.Second)
				}
				return true
			})
			w.after(2 * time.Minute)
			w.Put(object("b", "blue"))
			w.holds(true, "a=red")
			w.after(idleLimit)
			w.holds(true, "a=red b=blue")
		},
		"what is no list is said, and kept out": func(w *world) {
			w.Fail(func(rw http.ResponseWriter, r *http.Request) bool { fmt.Fprint(rw, "<html>welcome"); return true })
			w.after(time.Minute)
			if s := w.box.state(); s.Up || !strings.Contains(s.Problem, "list of pods: invalid character '<'") {
				w.Errorf("state %+v", s)
			}
		},
		"an object that is too large is said": func(w *world) {
			w.after(time.Second)
			w.Put(object("a", strings.Repeat("x", int(small.object))))
			w.after(time.Hour)
			if s := w.box.state(); s.Up || !strings.Contains(s.Problem, errObjectTooLarge.Error()) {
				w.Errorf("state %+v", s)
			}
			w.said(1, "is not followed")
			w.Delete("serving", "a")
			w.Put(object("b", "blue"))
			w.after(idleLimit + 2*time.Minute)
			w.holds(true, "b=blue")
		},
		"a server that ends each watch at once is not asked without end": func(w *world) {
			w.Put(object("a", "red"))
			w.Fail(func(_ http.ResponseWriter, r *http.Request) bool { return r.URL.Query().Get("watch") != "" })
			w.after(time.Hour)
			if lists, watches, _ := w.Asked(); lists+watches > 600 {
				w.Errorf("%d lists and %d watches in an hour", lists, watches)
			}
			if s := w.box.state(); s.Up || s.Problem != errTooSoon.Error() {
				w.Errorf("state %+v", s)
			}
			w.Fail(nil)
			w.Put(object("b", "blue"))
			w.after(idleLimit + 2*time.Minute)
			w.holds(true, "a=red b=blue")
		},
		"a server that forgets at once is not asked without end": func(w *world) {
			w.Put(object("a", "red"))
			w.Fail(func(rw http.ResponseWriter, r *http.Request) bool {
				if r.URL.Query().Get("watch") != "" {
					kubetest.Refuse(rw, 410, "Expired", "too old resource version")
				}
				return r.URL.Query().Get("watch") != ""
			})
			w.after(time.Hour)
			w.holds(false, "a=red")
			if lists, watches, _ := w.Asked(); lists+watches > 600 {
				w.Errorf("%d lists and %d watches in an hour", lists, watches)
			}
			w.said(1, "has forgotten what came before")
			w.Fail(nil)
			w.after(2 * time.Minute)
			w.holds(true, "a=red")
		},
		"a watch may be forbidden where a list is not": func(w *world) {
			w.Put(object("a", "red"))
			w.Fail(func(rw http.ResponseWriter, r *http.Request) bool {
				if r.URL.Query().Get("watch") == "" {
					return false
				}
				kubetest.Refuse(rw, 403, "Forbidden", `User "system:serviceaccount:x:y" cannot watch resource "pods"`)
				return true
			})
			w.after(time.Hour)
			w.holds(false, "a=red")
			if s := w.box.state(); s.Code != 403 || !strings.Contains(s.Problem, "403 to watch of pods: User") || !strings.Contains(s.Problem, "ClusterRole") {
				w.Errorf("state %+v", s)
			}
			w.said(1, "is not followed")
		},
	} {
		t.Run(name, func(t *testing.T) { inWorld(t, test) })
	}
}
