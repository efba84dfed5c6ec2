package kubernetes

import (
	"strconv"
	"strings"
	"time"
)

// Labels and annotations of the controllers that make groups of pods.
const (
	templateHash    = "pod-template-hash"                        // of a Deployment, at the end of its ReplicaSets' names
	lwsName         = "leaderworkerset.sigs.k8s.io/name"         // of the LeaderWorkerSet
	lwsWorkerIndex  = "leaderworkerset.sigs.k8s.io/worker-index" // 0 is the leader of a group
	lwsSize         = "leaderworkerset.sigs.k8s.io/size"         // an annotation: pods of a group
	rayNodeType     = "ray.io/node-type"                         // head or worker
	rayCluster      = "ray.io/cluster"
	maxGroup        = 10_000
	startedSameTime = time.Second // times of the API are whole seconds
)

// identity is the labels of a pod's engine. Each value is in the form of a name of the API, so that nobody's text becomes a label.
func (p *pod) identity(c *container) map[string]string {
	m := &p.Metadata
	labels := map[string]string{"pod_name": m.Name, "pod_namespace": m.Namespace, "container": c.Name}
	if labelValue(m.UID) && m.UID != "" {
		labels["pod_uid"] = m.UID
	}
	if o := p.owner(); o != "" {
		labels["owner"] = o
	}
	// A rank that answers for itself has its GPUs to itself.
	if n, err := strconv.Atoi(m.Annotations[lwsSize]); err == nil && n > 1 && n <= maxGroup && p.worker() == "" {
		labels["lws_size"] = strconv.Itoa(n)
	}
	if name := m.Labels[rayCluster]; name != "" && labelValue(name) {
		labels["ray_cluster"] = name
	}
	return labels
}

// owner is what a person deployed, as "Deployment/acme"; "" for a pod of its own.
func (p *pod) owner() string {
	if name := p.Metadata.Labels[lwsName]; dnsName(name) {
		return "LeaderWorkerSet/" + name
	}
	for _, o := range p.Metadata.Owners {
		if !o.Controller || !labelValue(o.Kind) || o.Kind == "" || !dnsName(o.Name) {
			continue
		}
		if hash := p.Metadata.Labels[templateHash]; o.Kind == "ReplicaSet" && hash != "" {
			if name, cut := strings.CutSuffix(o.Name, "-"+hash); cut && name != "" {
				return "Deployment/" + name
			}
		}
		return o.Kind + "/" + o.Name
	}
	return ""
}

// worker says which rank of a group a pod is, if it is one that need not answer; "" for any other pod.
func (p *pod) worker() string {
	if rank := p.Metadata.Labels[lwsWorkerIndex]; rank != "" && rank != "0" {
		return "it is a worker of a LeaderWorkerSet's group"
	}
	if p.Metadata.Labels[rayNodeType] == "worker" {
		return "it is a worker of a Ray cluster"
	}
	return ""
}

// wereReady notes which containers are or have been ready, of those that run.
func (p *pod) wereReady(before *verdict) map[string]time.Time {
	var all map[string]time.Time
	for _, st := range p.Status.Containers {
		if st.State.Running == nil {
			continue
		}
		started := st.State.Running.Started.Time
		known := before != nil && before.uid == p.Metadata.UID
		if known {
			was, ok := before.ready[st.Name]
			known = ok && was.Equal(started)
		}
		if st.Ready || known {
			if all == nil {
				all = map[string]time.Time{}
			}
			all[st.Name] = started
		}
	}
	return all
}

// starting reports whether a container has not become ready since it was started. What is not ready now may have been: then
// the pod's condition has changed since, or we have seen it.
func (p *pod) starting(name string, st containerStatus, ready map[string]time.Time) bool {
	if st.Ready {
		return false
	}
	if st.State.Running == nil {
		return st.Restarts == 0 && p.condition("Ready").Status != "True"
	}
	if _, was := ready[name]; was {
		return false
	}
	c := p.condition("Ready")
	return c.Status != "True" && !c.Since.After(st.State.Running.Started.Add(startedSameTime))
}
