package kube

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/goodput-exporter/goodput-exporter/internal/kube/kubetest"
)

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
