package cluster

import (
	"fmt"
	"net/http"
	"time"
)

// node is the node whose pods are looked for.
const node = "node-a"

// pod is one that the tests make.
type pod struct {
	namespace, name, node, ip string
	labels                    object
	ports                     []int // of the only container; none: 8000, called http
	owner                     object
}

func (p pod) path() string { return "/api/v1/namespaces/" + p.namespace + "/pods" }

func (p pod) self() string { return p.path() + "/" + p.name }

// engine is a pod that the default selectors find, and that is not ready yet.
func engine(namespace, name, ip string) pod {
	return pod{namespace: namespace, name: name, node: node, ip: ip, labels: object{"goodput-exporter/engine": "true"}}
}

func (p pod) object() object {
	ports := []any{}
	for _, n := range p.ports {
		ports = append(ports, object{"containerPort": n})
	}
	if len(ports) == 0 {
		ports = append(ports, object{"name": "http", "containerPort": 8000})
	}
	meta := object{"name": p.name, "namespace": p.namespace, "labels": p.labels}
	if p.owner != nil {
		meta["ownerReferences"] = []any{p.owner}
	}
	return object{
		"metadata": meta,
		"spec": object{
			"nodeName": p.node, "terminationGracePeriodSeconds": 30,
			"containers": []any{object{"name": "vllm", "image": "vllm", "ports": ports, "env": []any{object{"name": "TOKEN", "value": "very-secret"}}}},
		},
	}
}

// add creates a pod, as the scheduler and the kubelet together would, and returns its uid.
func (c *cluster) add(p pod, ready bool) (uid string) {
	c.t.Helper()
	var made object
	c.must(c.do(http.MethodPost, p.path(), p.object(), &made))
	c.must(c.runs(p, ready))
	return text(made, "metadata", "uid")
}

// runs gives a pod the status of one whose container runs.
func (c *cluster) runs(p pod, ready bool) error {
	is, now := "False", time.Now().UTC().Format(time.RFC3339)
	if ready {
		is = "True"
	}
	return c.patch(p.self()+"/status", object{"status": object{
		"phase": "Running", "podIP": p.ip, "podIPs": []any{object{"ip": p.ip}}, "startTime": now,
		"conditions": []any{
			object{"type": "Ready", "status": is, "lastTransitionTime": now}, object{"type": "ContainersReady", "status": is, "lastTransitionTime": now},
		},
		"containerStatuses": []any{object{
			"name": "vllm", "image": "vllm", "imageID": "", "restartCount": 0, "ready": ready, "started": true,
			"state": object{"running": object{"startedAt": now}},
		}},
	}})
}

// phase gives a pod a phase alone.
func (c *cluster) phase(p pod, phase string) {
	c.t.Helper()
	c.must(c.patch(p.self()+"/status", object{"status": object{"phase": phase}}))
}

// remove ends a pod as somebody who deletes it: it stays until the kubelet is done with it.
func (c *cluster) remove(p pod) {
	c.t.Helper()
	c.must(c.do(http.MethodDelete, p.self(), nil, nil))
}

// gone ends a pod as the kubelet does.
func (c *cluster) gone(p pod) {
	c.t.Helper()
	c.must(c.do(http.MethodDelete, p.self()+"?gracePeriodSeconds=0", nil, nil))
}

func (c *cluster) namespace(name string) {
	c.t.Helper()
	c.must(c.create("/api/v1/namespaces", object{"metadata": object{"name": name}}))
	c.must(c.create("/api/v1/namespaces/"+name+"/serviceaccounts", object{"metadata": object{"name": "default"}}))
}

// address is the nth address of pods, which nobody serves.
func address(n int) string { return fmt.Sprintf("10.%d.%d.%d", 64+n/62500, n/250%250, n%250+1) }
