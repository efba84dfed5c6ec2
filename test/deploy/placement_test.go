package deploy

import (
	"maps"
	"strings"

	corev1 "k8s.io/api/core/v1"
	v1 "k8s.io/component-helpers/scheduling/corev1"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"
	"k8s.io/klog/v2"
)

// nodes are some that there are, and whether a pod of the DaemonSet is to be there (DEP-01).
var nodes = []struct {
	what   string
	labels map[string]string
	taints []corev1.Taint
	want   bool
}{
	{"GPU Operator, tainted", map[string]string{"nvidia.com/gpu.present": "true"}, []corev1.Taint{{Key: "nvidia.com/gpu", Value: "true", Effect: "NoSchedule"}}, true},
	{"GPU Operator, tainted with present", map[string]string{"nvidia.com/gpu.present": "true"}, []corev1.Taint{{Key: "nvidia.com/gpu", Value: "present", Effect: "NoSchedule"}}, true},
	{"GPU Operator, tainted against what runs", map[string]string{"nvidia.com/gpu.present": "true"}, []corev1.Taint{{Key: "nvidia.com/gpu", Effect: "NoExecute"}}, true},
	{"GPU Operator, no taint", map[string]string{"nvidia.com/gpu.present": "true"}, nil, true},
	{"feature discovery by vendor", map[string]string{"feature.node.kubernetes.io/pci-10de.present": "true"}, nil, true},
	{"feature discovery by class and vendor", map[string]string{"feature.node.kubernetes.io/pci-0302_10de.present": "true"}, nil, true},
	{"feature discovery, a display controller", map[string]string{"feature.node.kubernetes.io/pci-0300_10de.present": "true"}, nil, true},
	{"GKE with GB200", map[string]string{"cloud.google.com/gke-accelerator": "nvidia-gb200"},
		[]corev1.Taint{{Key: "nvidia.com/gpu", Value: "present", Effect: "NoSchedule"}, {Key: "kubernetes.io/arch", Value: "arm64", Effect: "NoSchedule"}}, true},
	{"a label of our own", map[string]string{"goodput-exporter/node": "true"}, nil, true},
	{"no GPU", map[string]string{"node-role.kubernetes.io/worker": ""}, nil, false},
	{"a GPU that the operator says is not there", map[string]string{"nvidia.com/gpu.present": "false"}, nil, false},
	{"another vendor's card", map[string]string{"feature.node.kubernetes.io/pci-1002.present": "true"}, nil, false},
	{"control plane", map[string]string{"nvidia.com/gpu.present": "true"}, []corev1.Taint{{Key: "node-role.kubernetes.io/control-plane", Effect: "NoSchedule"}}, false},
	{"Windows", map[string]string{"nvidia.com/gpu.present": "true", "kubernetes.io/os": "windows"}, nil, false},
	{"set aside for others", map[string]string{"nvidia.com/gpu.present": "true"}, []corev1.Taint{{Key: "team", Value: "other", Effect: "NoSchedule"}}, false},
}

// misplaced finds nodes that get a pod and should not, and the reverse, with the scheduler's own code.
func misplaced(w *world) (found complain) {
	for _, wl := range w.workloads() {
		if wl.kind != "DaemonSet" {
			continue
		}
		tried := nodes
		if key, value, is := strings.Cut(w.tolerated, "="); is {
			node := nodes[0]
			node.what, node.taints = "set aside for engines", append([]corev1.Taint{{Key: key, Value: value, Effect: "NoSchedule"}}, node.taints...)
			tried = append(tried[:len(tried):len(tried)], node)
		}
		pod := &corev1.Pod{Spec: wl.template.Spec}
		for _, n := range tried {
			node := &corev1.Node{Spec: corev1.NodeSpec{Taints: n.taints}}
			node.Labels = map[string]string{"kubernetes.io/os": "linux"}
			// Whoever asks for a label of his own has nodes with it.
			maps.Copy(node.Labels, wl.template.Spec.NodeSelector)
			node.Labels["kubernetes.io/os"] = "linux"
			maps.Copy(node.Labels, n.labels)
			fits, err := nodeaffinity.GetRequiredNodeAffinity(pod).Match(node)
			_, repelled := v1.FindMatchingUntoleratedTaint(klog.Background(), n.taints, pod.Spec.Tolerations, nil, true)
			if got := fits && !repelled; err != nil || got != n.want {
				found.f("%s on a node with %s: %t, want %t (label %t, taint %t, %v)", wl, n.what, got, n.want, fits, !repelled, err)
			}
		}
		if fits, _ := nodeaffinity.GetRequiredNodeAffinity(pod).Match(&corev1.Node{}); fits {
			found.f("%s goes to nodes without an operating system", wl)
		}
	}
	return found
}
