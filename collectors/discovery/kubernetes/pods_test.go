package kubernetes

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/goodput-exporter/goodput-exporter/collectors/discovery"
	"github.com/goodput-exporter/goodput-exporter/internal/kube/kubetest"
)

// engine is a pod as a Deployment of vLLM makes it, ready since a while.
const engine = `{
	"metadata": {"namespace": "serving", "name": "acme-0", "uid": "u-1", "creationTimestamp": "2026-01-05T10:00:00Z",
		"labels": {"app": "vllm", "pod-template-hash": "6c7d"},
		"ownerReferences": [{"kind": "ReplicaSet", "name": "acme-6c7d", "controller": true}]},
	"spec": {"nodeName": "node-a", "restartPolicy": "Always", "containers": [
		{"name": "vllm", "ports": [{"name": "http", "containerPort": 8000, "protocol": "TCP"}], "env": [{"name": "HF_TOKEN", "value": "hunter2"}]}]},
	"status": {"phase": "Running", "podIP": "10.0.0.7", "startTime": "2026-01-05T10:00:01Z",
		"conditions": [{"type": "Ready", "status": "True", "lastTransitionTime": "2026-01-05T10:05:00Z"}],
		"containerStatuses": [{"name": "vllm", "ready": true, "restartCount": 0, "state": {"running": {"startedAt": "2026-01-05T10:00:02Z"}}}]}
}`

// edits are fields of a pod and what they are to be, as JSON; "" removes one.
type edits map[string]string

// and is both.
func (e edits) and(more edits) edits {
	all := maps.Clone(e)
	maps.Copy(all, more)
	return all
}

// podWith is the engine with some of its fields changed.
func podWith(t testing.TB, e edits) kubetest.Object {
	t.Helper()
	var o kubetest.Object
	if err := json.Unmarshal([]byte(engine), &o); err != nil {
		t.Fatal(err)
	}
	for _, path := range slices.Sorted(maps.Keys(e)) {
		at := map[string]any(o)
		keys := strings.Split(path, "|")
		for _, k := range keys[:len(keys)-1] {
			next, _ := at[k].(map[string]any)
			if next == nil {
				next = map[string]any{}
				at[k] = next
			}
			at = next
		}
		last := keys[len(keys)-1]
		if e[path] == "" {
			delete(at, last)
			continue
		}
		var v any
		if err := json.Unmarshal([]byte(e[path]), &v); err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		at[last] = v
	}
	return o
}

// decoded is a pod as the watcher sees it.
func decoded(t testing.TB, o kubetest.Object) *pod {
	t.Helper()
	text, err := json.Marshal(o)
	if err != nil {
		t.Fatal(err)
	}
	var p pod
	if err := json.Unmarshal(text, &p); err != nil {
		t.Fatal(err)
	}
	return &p
}

// named gives a pod another name, address and UID.
func named(name, ip string) edits {
	return edits{"metadata|name": fmt.Sprintf("%q", name), "metadata|uid": fmt.Sprintf("%q", "u-"+name), "status|podIP": fmt.Sprintf("%q", ip)}
}

// containers is a pod's only container with these ports, as JSON.
func containers(ports string) string {
	return `[{"name": "vllm", "ports": [` + ports + `]}]`
}

// rulesOf are those of a configuration that is right.
func rulesOf(t testing.TB, c Config) rules {
	t.Helper()
	if c.Node == "" {
		c.Node = "node-a"
	}
	_, r, _, err := c.settled()
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// text is targets by id and page; a star marks those that are starting.
func text(list []discovery.Found) string {
	var all []string
	for _, f := range list {
		s := f.ID + " " + f.URL
		if f.Starting {
			s += " *"
		}
		all = append(all, s)
	}
	return strings.Join(all, "; ")
}
