package web

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/goodput-exporter/goodput-exporter/exporter/fact"
	"github.com/goodput-exporter/goodput-exporter/exporter/fold"
)

var polledPods = []fold.Tally{{Name: "polled", Count: 1}}

// at is some seconds after the instant of the fixtures.
func at(seconds float64) time.Time { return time.UnixMicro(int64((now + seconds) * 1e6)) }

// lookedFor is a view of engines that are looked for among pods.
func lookedFor(d Discovery, engines ...fold.Engine) View {
	v := viewOf(engines...)
	d.Source, d.Where = "kubernetes", "node gpu-1"
	v.Inputs.Discovery = &d
	return v
}

// discovered is a node with an engine that answers, one that loads its model, and pods that are not polled.
func discovered() View {
	loads := fold.Engine{ID: "ml.acme-1:8000", Phase: fold.PhaseStarting, Target: fact.Target{ID: "ml.acme-1:8000", URL: "http://10.0.0.8:8000/metrics", Starting: true}}
	v := lookedFor(Discovery{
		Up: true, Since: at(-1800), Synced: at(-4), Others: 14,
		Pods: []fold.Tally{{Name: "polled", Count: 1}, {Name: "starting", Count: 1}, {Name: "no_endpoint", Count: 1}, {Name: "refused", Count: 1}},
		Skipped: []SkippedPod{
			{"ml/acme-0-1", "no_endpoint", "it is worker 1 of its group: the leader alone has a page"},
			{"tenant/<b>", "refused", "prometheus.io/port 22 is none of engines.kubernetes.ports"},
		},
	}, engine("ml.acme-0:8000", "llama-3", 0, steady, chat()), loads)
	v.Down = map[string]fact.Poll{loads.ID: {Reason: fact.ReasonRefused, Detail: "nothing listens"}}
	return v
}

// crowded is a node with more pods that are not polled than the page shows, of which the log says nothing.
func crowded() View {
	d := Discovery{Up: true, Synced: at(-1), Pods: []fold.Tally{{Name: "pending", Count: mostSkipped + 3}}}
	for i := range mostSkipped + 3 {
		d.Skipped = append(d.Skipped, SkippedPod{fmt.Sprintf("ml/p-%d", i), "pending", "it has no address yet"})
	}
	return lookedFor(d)
}

func TestDiscoveryIsSaid(t *testing.T) {
	starting := discovered()
	starting.Snapshot.Engines = starting.Snapshot.Engines[1:]
	for name, c := range map[string]struct {
		view View
		want []string
		not  []string
	}{
		"pods are followed":                                   {discovered(), []string{"1 polled, 1 starting, 1 no endpoint and 1 refused", "2 pods with engines on node gpu-1, synced 4 s ago", "starting", "its pod has not become ready"}, []string{"not every engine answers", "is down"}},
		"all engines are starting":                            {starting, []string{"1 engine is starting"}, []string{"no promise to judge"}},
		"a pod is refused, with why":                          {discovered(), []string{"Pod tenant/&lt;b&gt;", "none of engines.kubernetes.ports"}, nil},
		"the API server is away":                              {lookedFor(Discovery{Since: at(-600), Synced: at(-600), Detail: "connection refused", Pods: polledPods}), []string{"Kubernetes is not followed since", "the engines found last are polled on", "connection refused"}, nil},
		"it was never there":                                  {lookedFor(Discovery{Since: at(-600), Detail: "connection refused"}), []string{"Kubernetes has not said yet which pods there are", "connection refused"}, []string{"0 engines"}},
		"why it was never there is said once":                 {lookedFor(Discovery{Since: at(-600), Detail: "is refused"}), []string{"(is refused).", "why is at the top of this page"}, nil},
		"a namespace is not known":                            {lookedFor(Discovery{Since: at(-600), Synced: at(-1), Unknown: []string{"b"}, Detail: "forbidden", Pods: polledPods}, engine("a", "m", 0, steady, chat())), []string{"has not said yet which pods there are in namespace b; engines of other namespaces are polled (forbidden).", "1 pod with engines on node gpu-1", "why is at the top"}, []string{"not synced yet"}},
		"namespaces are not known, and others hold no engine": {lookedFor(Discovery{Synced: at(-1), Unknown: []string{"b", "c", "d", "e", "f", "g"}, Detail: "forbidden", Others: 2}), []string{"0 engines: of 2 pods", "Of the namespaces b, c, d, e, f and 1 more nothing is known yet"}, []string{"Discovery has not"}},
		"no pod fits":                                         {lookedFor(Discovery{Up: true, Synced: at(-1), Others: 5}), []string{"0 engines: of 5 pods on node gpu-1 none fits engines.kubernetes.selectors"}, nil},
		"no pod fits, and others are unknown":                 {lookedFor(Discovery{Up: true, Synced: at(-1), Others: -1}), []string{"0 engines: no pod on node gpu-1 fits engines.kubernetes.selectors"}, nil},
		"pods fit, and none is polled":                        {lookedFor(Discovery{Up: true, Synced: at(-1), Pods: []fold.Tally{{Name: "pending", Count: 2}}}), []string{"none of them is polled: 2 pending"}, nil},
		"a pod was found since the round":                     {lookedFor(Discovery{Up: true, Synced: at(-1), Pods: polledPods}), []string{"Engines were found on node gpu-1: the next round polls them."}, []string{"none of them"}},
		"more are not polled than are shown":                  {crowded(), []string{"Pod ml/p-7", "Further pods that are not polled", "goodput-exporter check lists them"}, []string{"Pod ml/p-8", "the log says why"}},
		"nothing is looked for":                               {viewOf(), []string{"Add one under engines.targets"}, []string{"Kubernetes"}},
	} {
		t.Run(name, func(t *testing.T) {
			html := strings.ReplaceAll(render(t, "overview", maker(c.view, chat()).overview()), nbsp, " ")
			for _, want := range c.want {
				if !strings.Contains(html, want) {
					t.Errorf("%q is not on the page", want)
				}
			}
			if d := c.view.Inputs.Discovery; d != nil && d.Detail != "" && strings.Count(html, d.Detail) != 1 {
				t.Errorf("%q is on the page %d times", d.Detail, strings.Count(html, d.Detail))
			}
			for _, not := range c.not {
				if strings.Contains(html, not) {
					t.Errorf("%q is on the page", not)
				}
			}
		})
	}
}
