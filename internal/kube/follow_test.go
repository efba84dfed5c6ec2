package kube

import (
	"fmt"
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
			if lists, _ := w.box.told(); lists != 1 {
				w.Errorf("listed %d times", lists)
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
			if lists, _ := w.box.told(); lists != 1 {
				w.Errorf("listed %d times", lists)
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
			if lists, _ := w.box.told(); lists != 1 {
				w.Errorf("listed %d times", lists)
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
			if lists, _ := w.box.told(); lists != 2 {
				w.Errorf("listed %d times", lists)
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
			if lists, _ := w.box.told(); lists != 2 {
				w.Errorf("listed %d times", lists)
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
		"a watch goes on as long as there are words": func(w *world) {
			for range 30 {
				w.after(time.Minute)
				w.Bookmark()
			}
			if _, watches, _ := w.Asked(); watches != 1 {
				w.Errorf("%d watches in half an hour", watches)
			}
			if _, words := w.box.told(); words < 30 {
				w.Errorf("%d words", words)
			}
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
	} {
		t.Run(name, func(t *testing.T) { inWorld(t, test) })
	}
}
