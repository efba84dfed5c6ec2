package kubernetes

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/goodput-exporter/goodput-exporter/internal/kube/kubetest"
)

// life is a pod of the oracle: what a node's kubelet and the API server know of it.
type life struct {
	name, ip string
	born     int // order in which pods were started
	phase    string
	leaving  bool // deletionTimestamp
	labelled bool
	ready    bool
}

func (l life) object(t testing.TB) kubetest.Object {
	e := named(l.name, l.ip).and(edits{
		"metadata|uid":             fmt.Sprintf(`"u-%d"`, l.born),
		"status|startTime":         fmt.Sprintf(`"2026-01-05T%02d:%02d:%02dZ"`, 10+l.born/3600, l.born/60%60, l.born%60),
		"status|phase":             fmt.Sprintf("%q", l.phase),
		"status|containerStatuses": `[{"name": "vllm", "ready": ` + fmt.Sprint(l.ready) + `, "state": {"waiting": {}}}]`,
	})
	if l.phase == "Running" {
		e["status|containerStatuses"] = `[{"name": "vllm", "ready": ` + fmt.Sprint(l.ready) + `, "state": {"running": {"startedAt": "2026-01-06T10:00:00Z"}}}]`
	}
	if l.leaving {
		e["metadata|deletionTimestamp"] = `"2026-01-06T10:00:00Z"`
	}
	if !l.labelled {
		e["metadata|labels"] = `{}`
	}
	return podWith(t, e)
}

// oracle says from first principles who is polled: of those that run, are not leaving and have the label, at each address the one
// that was started last.
func oracle(pods map[string]*life) string {
	at := map[string]*life{}
	for _, l := range pods {
		if l.phase != "Running" || l.leaving || !l.labelled {
			continue
		}
		if other := at[l.ip]; other == nil || other.born < l.born {
			at[l.ip] = l
		}
	}
	var all []string
	for _, l := range at {
		all = append(all, "serving."+l.name+":8000 http://"+l.ip+":8000/metrics")
	}
	slices.Sort(all)
	return strings.Join(all, "; ")
}

// TestRandomLives has pods come, run, fall, lose and change their labels and their addresses, leave, and come back under their old names, over a
// connection that breaks, is forgotten, and is refused. Whatever happened, in the end exactly those are polled that the oracle
// names, and none at any time that the oracle has not named.
func TestRandomLives(t *testing.T) {
	for seed := range uint64(6) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			r := rand.New(rand.NewPCG(seed, 9))
			k := newCluster(t, Config{})
			k.run()
			k.until(func() bool { return k.Status().Up }, never)
			pods, born := map[string]*life{}, 0
			ever := map[string]bool{}
			right := func() {
				for _, s := range strings.Split(oracle(pods), "; ") {
					ever[s] = true
				}
			}
			for range 400 {
				name := fmt.Sprintf("p%d", r.IntN(12))
				l := pods[name]
				switch act := r.IntN(10); {
				case l == nil:
					born++
					l = &life{name: name, ip: fmt.Sprintf("10.0.0.%d", r.IntN(6)+1), born: born, phase: "Pending", labelled: r.IntN(5) > 0, ready: true}
				case act < 4 && l.phase == "Pending":
					l.phase = "Running"
				case act == 4 && l.phase == "Running":
					l.phase = []string{"Failed", "Succeeded"}[r.IntN(2)]
				case act == 5:
					l.labelled = !l.labelled
				case act == 6:
					l.leaving = true
				case act == 7 && l.leaving:
					delete(pods, name)
					right()
					k.Delete("serving", name)
					continue
				case act == 8 && l.phase == "Pending":
					l.ip = fmt.Sprintf("10.0.0.%d", r.IntN(6)+1)
				}
				pods[name] = l
				right()
				k.Put(l.object(t))
				switch r.IntN(60) {
				case 0:
					k.Break()
				case 1:
					k.Break()
					k.Forget()
				case 2:
					k.Bookmark()
				}
				for _, f := range k.List() {
					if s := f.ID + " " + f.URL; !ever[s] {
						t.Fatalf("%s was polled, and never right", s)
					}
				}
			}
			k.comes(oracle(pods))
			k.until(func() bool { return k.Status().Seen == len(pods) }, func() string {
				return fmt.Sprintf("%d pods in sight of %v", k.Status().Seen, slices.Sorted(maps.Keys(pods)))
			})
			k.comes(oracle(pods))
		})
	}
}
