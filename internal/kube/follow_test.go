package kube

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/goodput-exporter/goodput-exporter/internal/kube/kubetest"
)

func TestFollow(t *testing.T) {
	for name, test := range map[string]func(w *world){
		"what is there is listed, and what changes is heard": func(w *world) {
			w.Put(object("a", "red"))
			w.after(time.Minute)
			w.holds(true, "a=red")
			w.Put(object("b", "blue"))
			w.Put(object("a", "green"))
			w.holds(true, "a=green b=blue")
			w.Delete("serving", "a")
			w.holds(true, "b=blue")
			if w.box.replaced != 1 {
				w.Errorf("listed %d times", w.box.replaced)
			}
			w.said(1, "the Kubernetes API is followed")
		},
		"a long list is read page by page": func(w *world) {
			for i := range 2345 {
				w.Put(object(fmt.Sprintf("p%04d", i), "red"))
			}
			w.after(time.Minute)
			lists, _, _ := w.Asked()
			if len(w.box.have) != 2345 || lists < 5 {
				w.Errorf("%d objects of %d pages", len(w.box.have), lists)
			}
		},
		"a bookmark moves the version on, so that what came before may be forgotten": func(w *world) {
			w.after(time.Second)
			w.Bookmark()
			w.after(time.Second)
			w.Compact()
			w.Break()
			w.after(5 * time.Second)
			w.Put(object("a", "red"))
			w.holds(true, "a=red")
			if w.box.replaced != 1 {
				w.Errorf("listed %d times", w.box.replaced)
			}
		},
		"a connection that breaks within an event is taken up again where it was": func(w *world) {
			w.Put(object("a", "red"))
			w.after(time.Second)
			w.Break()
			w.Put(object("b", "blue"))
			w.Delete("serving", "a")
			w.after(10 * time.Second)
			w.holds(true, "b=blue")
			if w.box.replaced != 1 {
				w.Errorf("listed %d times", w.box.replaced)
			}
			w.said(0, "is not followed")
		},
		"an answer 410 to a watch has all listed again": func(w *world) {
			w.Put(object("a", "red"))
			w.after(time.Second)
			w.wire.cut(true)
			w.Break()
			w.after(time.Minute)
			w.holds(false, "a=red")
			w.Delete("serving", "a")
			w.Put(object("b", "blue"))
			w.Forget()
			w.wire.cut(false)
			w.after(3 * time.Minute)
			w.holds(true, "b=blue")
			if w.box.replaced != 2 {
				w.Errorf("listed %d times", w.box.replaced)
			}
			w.said(1, "is not followed")
			w.said(2, "the Kubernetes API is followed")
		},
		"an event 410 has all listed again": func(w *world) {
			w.Put(object("a", "red"))
			w.after(time.Second)
			w.Say("ERROR", kubetest.Status(410, "Expired", "too old resource version"))
			w.after(0)
			w.Forget()
			w.after(10 * time.Second)
			w.holds(true, "a=red")
			if w.box.replaced != 2 {
				w.Errorf("listed %d times", w.box.replaced)
			}
			w.said(0, "is not followed")
		},
		"an event of an unknown type is passed over": func(w *world) {
			w.after(time.Second)
			w.Say("SOMETHING", kubetest.Object{"metadata": map[string]any{}})
			w.Put(object("a", "red"))
			w.holds(true, "a=red")
			if _, watches, _ := w.Asked(); watches != 1 {
				w.Errorf("%d watches", watches)
			}
		},
		"a server that is away loses nothing, and is said to be away once": func(w *world) {
			w.Put(object("a", "red"))
			w.after(time.Second)
			w.wire.cut(true)
			w.Break()
			w.after(time.Hour)
			w.holds(false, "a=red")
			if s := w.box.state(); !strings.Contains(s.Problem, "127.0.0.1:6443: connection refused") || time.Since(s.Heard) < time.Hour {
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
			if w.box.replaced != 1 {
				w.Errorf("listed %d times", w.box.replaced)
			}
		},
		"a watch goes on as long as there are words": func(w *world) {
			for range 30 {
				w.after(time.Minute)
				w.Bookmark()
			}
			if _, watches, _ := w.Asked(); watches != 1 {
				w.Errorf("%d watches in half an hour", watches)
			}
			if age := time.Since(w.box.state().Heard); w.box.words < 30 {
				w.Errorf("%d words, the last %v ago", w.box.words, age)
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
		"a list grows old: what no event told is found": func(w *world) {
			w.Put(object("a", "red"))
			w.after(time.Second)
			w.Lose("serving", "a")
			w.after(relistEvery)
			w.holds(true, "a=red")
			w.after(relistEvery)
			w.holds(true, "")
			w.said(1, "the Kubernetes API is followed")
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

// TestAnswers: what a server may answer to a list, and for how long it is then left alone.
func TestAnswers(t *testing.T) {
	for name, c := range map[string]struct {
		code   int
		header string // Retry-After
		want   string
		most   int // requests within ten minutes
	}{
		"too many requests":       {429, "30", "answers 429 to list of pods", 21},
		"an error of the server":  {500, "", "answers 500 to list of pods", 120},
		"unavailable":             {503, "60", "answers 503 to list of pods", 11},
		"forbidden":               {403, "", "get, list and watch on pods with a ClusterRole", 120},
		"unauthorized":            {401, "", "the token is not this cluster's, or has expired", 120},
		"somewhere else":          {302, "", "an API server does not redirect", 120},
		"a version that is ahead": {504, "", "Too large resource version", 240},
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, func(w *world) {
				w.Fail(func(rw http.ResponseWriter, r *http.Request) bool {
					if c.header != "" {
						rw.Header().Set("Retry-After", c.header)
					}
					rw.Header().Set("Location", "http://elsewhere/")
					kubetest.Refuse(rw, c.code, "Because", "Too large resource version: 7")
					return true
				})
				w.after(10 * time.Minute)
				if s := w.box.state(); s.Up || s.Code != c.code || !strings.Contains(s.Problem, c.want) {
					w.Errorf("state %+v", s)
				}
				if lists, _, _ := w.Asked(); lists < 3 || lists > c.most {
					w.Errorf("%d requests in ten minutes, at most %d", lists, c.most)
				}
				w.said(1, "is not followed")
			})
		})
	}
}

// TestTooLargeForOneAnswer: a cache that gives all at once is left for the database, page by page.
func TestTooLargeForOneAnswer(t *testing.T) {
	inWorld(t, func(w *world) {
		w.Put(object("a", "red"))
		w.Fail(func(rw http.ResponseWriter, r *http.Request) bool {
			if r.URL.Query().Get("resourceVersion") != "0" {
				return false
			}
			fmt.Fprint(rw, `{"metadata":{"resourceVersion":"7"},"items":[`)
			filler := `{"metadata":{"name":"x"},"spec":{"colour":"` + strings.Repeat("x", 1<<15) + `"}},`
			for range small.page>>15 + 1 {
				fmt.Fprint(rw, filler)
			}
			return true
		})
		w.after(time.Second)
		w.holds(true, "a=red")
	})
}

// TestAPageExpires: a list whose next page has been forgotten is begun anew.
func TestAPageExpires(t *testing.T) {
	inWorld(t, func(w *world) {
		for _, name := range []string{"a", "b", "c"} {
			w.Put(object(name, "red"))
		}
		w.Page(2)
		once := true
		w.Fail(func(rw http.ResponseWriter, r *http.Request) bool {
			if r.URL.Query().Get("continue") == "" || !once {
				return false
			}
			once = false
			kubetest.Refuse(rw, 410, "Expired", "the provided continue parameter is too old")
			return true
		})
		w.after(time.Second)
		w.holds(true, "a=red b=red c=red")
		w.said(0, "is not followed")
	})
}
