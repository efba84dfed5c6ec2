package deploy

import (
	"bytes"
	"slices"
	"strings"
	"testing"
)

// mutant is a mistake that somebody could make, and the check that has to see it. "decode" is the decoder.
type mutant struct {
	what     string
	old, new string // in the text; all of old
	check    string
}

// mutants of kustomize's base with every component.
var mutants = []mutant{
	{"a field with a typo", "terminationGracePeriodSeconds", "terminationGracePeriodSecond", "decode"},
	{"a field in another case", "hostPath:", "hostpath:", "decode"},
	{"a number as text", "containerPort: 9810", "containerPort: metrics", "decode"},
	{"a quantity that is none", "memory: 384Mi", "memory: 384MB", "decode"},
	{"a kind with a typo", "kind: PodMonitor", "kind: PodMonitors", "decode"},
	{"a version of long ago", "apiVersion: networking.k8s.io/v1", "apiVersion: extensions/v1beta1", "decode"},
	{"a field of the operator with a typo", "jobLabel:", "joblabel:", "decode"},

	{"a name with a capital", "name: goodput-exporter-otlp", "name: Goodput-exporter-otlp", "names"},
	{"an object without a namespace", "  name: goodput-exporter-otlp\n  namespace: goodput-system", "  name: goodput-exporter-otlp", "names"},
	{"a namespace where there is none", "kind: PriorityClass\nmetadata:", "kind: PriorityClass\nmetadata:\n  namespace: a", "names"},
	{"two objects of one name", "name: goodput-exporter-board-gpu", "name: goodput-exporter-board-engine", "names"},
	{"a key that no file can have", "  engine.json: |", "  boards/engine.json: |", "names"},
	{"a label with a space", "app.kubernetes.io/component: node\n    app.kubernetes.io/name: goodput-exporter\n    app.kubernetes.io/part-of: goodput-exporter\n  name: goodput-exporter-otlp", "app.kubernetes.io/component: a node\n  name: goodput-exporter-otlp", "labels"},
	{"an object that says not whose it is", "app.kubernetes.io/part-of: goodput-exporter", "app.kubernetes.io/part-of: exporter", "labels"},
	{"an interval that Prometheus does not read", "interval: 15s", "interval: 15x", "durations"},
	{"a wait that Prometheus does not read", "for: 10m", "for: ten minutes", "durations"},
	{"a rule that is called nothing", "- alert: GoodputEngineDown", "- alert: \"\"", "durations"},
	{"a board that kubectl apply refuses", "  gpu.json: |", "  pad: " + strings.Repeat("a", 200<<10) + "\n  gpu.json: |", "size"},

	{"a mount of what is not there", "- mountPath: /libdcgm\n          name: libdcgm\n          readOnly", "- mountPath: /libdcgm\n          name: libdcg\n          readOnly", "volumes"},
	{"two mounts in one place", "mountPath: " + podResources, "mountPath: /libdcgm/", "volumes"},
	{"a directory of the node to write in", "- mountPath: " + podResources + "\n          name: pod-resources\n          readOnly: true", "- mountPath: " + podResources + "\n          name: pod-resources", "volumes"},
	{"a volume for nobody", "      volumes:\n", "      volumes:\n      - emptyDir: {}\n        name: tmp\n", "volumes"},
	{"an account that is not there", "serviceAccountName: goodput-exporter", "serviceAccountName: default", "references"},
	{"a class of priority that is not there", "priorityClassName: goodput-exporter", "priorityClassName: goodput", "references"},
	{"a configuration that is not there", "configMap:\n          name: goodput-exporter-", "configMap:\n          name: goodput-exporter", "references"},
	{"a binding to another role", "kind: ClusterRole\n  name: goodput-exporter-dra", "kind: ClusterRole\n  name: goodput-exporter-slices", "references"},
	{"a binding of an account of another namespace", "- kind: ServiceAccount\n  name: goodput-exporter\n  namespace: goodput-system", "- kind: ServiceAccount\n  name: goodput-exporter\n  namespace: default", "references"},

	{"a monitor with two selectors", "  podMetricsEndpoints:", "  selector:\n    matchLabels:\n      app: goodput-exporter\n  podMetricsEndpoints:", "decode"},
	{"a monitor of pods that are called otherwise", "  selector:\n    matchLabels:\n      app.kubernetes.io/name: goodput-exporter\n---\napiVersion: monitoring.coreos.com/v1", "  selector:\n    matchLabels:\n      app.kubernetes.io/name: goodput\n---\napiVersion: monitoring.coreos.com/v1", "selectors"},
	{"a Service for the other workload", "  selector:\n    app.kubernetes.io/component: node", "  selector:\n    app.kubernetes.io/component: central", "selectors"},
	{"a policy for pods of another label", "  podSelector:\n    matchLabels:\n      app.kubernetes.io/name: goodput-exporter", "  podSelector:\n    matchLabels:\n      app.kubernetes.io/component: exporter", "selectors"},
	{"a policy for every pod", "  podSelector:\n    matchLabels:\n      app.kubernetes.io/name: goodput-exporter\n  policyTypes", "  podSelector: {}\n  policyTypes", "selectors"},
	{"pods that their workload does not know", "    metadata:\n      annotations:\n        kubectl.kubernetes.io/default-container: goodput-exporter\n      labels:\n        app.kubernetes.io/component: node", "    metadata:\n      annotations:\n        kubectl.kubernetes.io/default-container: goodput-exporter\n      labels:\n        app.kubernetes.io/component: pod", "selectors"},
	{"another label in the workload's selector", "    matchLabels:\n      app.kubernetes.io/component: node\n      app.kubernetes.io/name: goodput-exporter", "    matchLabels:\n      app.kubernetes.io/name: goodput-exporter\n      app.kubernetes.io/part-of: goodput-exporter", "selectors"},

	{"a port that is called otherwise", "name: metrics\n          protocol", "name: http-metrics\n          protocol", "ports"},
	{"a monitor of another port", "port: metrics\n    relabelings", "port: http\n    relabelings", "ports"},
	{"a Service to a port that is not there", "targetPort: otlp-http", "targetPort: otlp", "ports"},
	{"a probe of a port that is not there", "path: /-/healthy\n            port: metrics", "path: /-/healthy\n            port: http", "ports"},
	{"a policy about a port that is not there", "  ingress:\n  - from:\n    - namespaceSelector: {}\n      podSelector:\n        matchLabels:\n          app.kubernetes.io/name: prometheus\n    ports:\n    - port: metrics", "  ingress:\n  - from:\n    - namespaceSelector: {}\n      podSelector:\n        matchLabels:\n          app.kubernetes.io/name: prometheus\n    ports:\n    - port: http", "ports"},
	{"a page at another path", "path: /metrics\n    port: metrics", "path: /metric\n    port: metrics", "ports"},
	{"two ports with one number", "containerPort: 4317", "containerPort: 4318", "ports"},
	{"a name of a port that is too long", "otlp-grpc", "otlp-over-grpc-and-more", "ports"},
	{"a job by a label that is not there", "jobLabel: app.kubernetes.io/name", "jobLabel: app", "job"},
	{"a job of another name", "jobLabel: app.kubernetes.io/name", "jobLabel: app.kubernetes.io/component", "job"},
	{"targets without their nodes", "targetLabel: node", "targetLabel: host", "job"},

	{"no name of the node", "fieldPath: spec.nodeName", "fieldPath: metadata.name", "pod"},
	{"a variable twice", "        - name: LD_LIBRARY_PATH", "        - name: GOMEMLIMIT", "pod"},
	{"variables for all Services", "enableServiceLinks: false", "enableServiceLinks: true", "pod"},
	{"no probe of life", "livenessProbe:", "startupProbe:", "pod"},
	{"a limit of Go at the limit", "value: 200MiB", "value: 384MiB", "memory"},
	{"a limit of Go that leaves DCGM nothing", "value: 200MiB", "value: 310MiB", "memory"},
	{"a limit of Go that Go does not read", "value: 200MiB", "value: 200Mi", "memory"},
	{"a limit that is too small", "memory: 384Mi", "memory: 128Mi", "memory"},
	{"no limit", "            memory: 384Mi", "            nvidia.com/gpu: 1", "memory"},
	{"a request above the limit", "memory: 192Mi", "memory: 512Mi", "memory"},

	{"a port of the node", "containerPort: 9810", "containerPort: 9810\n          hostPort: 9810", "security"},
	{"the network of the node", "      serviceAccountName:", "      hostNetwork: true\n      serviceAccountName:", "security"},
	{"privileges", "readOnlyRootFilesystem: true", "readOnlyRootFilesystem: true\n          privileged: true", "security"},
	{"a way to privileges", "allowPrivilegeEscalation: false", "allowPrivilegeEscalation: true", "security"},
	{"a capability", "          capabilities:\n", "          capabilities:\n            add: [SYS_ADMIN]\n", "security"},
	{"a disk to write on", "readOnlyRootFilesystem: true", "readOnlyRootFilesystem: false", "security"},
	{"no seccomp profile", "type: RuntimeDefault", "type: Unconfined", "security"},
	{"a socket in place of its directory", "path: " + podResources + "\n          type: Directory", "path: " + podResources + "/kubelet.sock\n          type: Socket", "security"},
	{"the whole disk of the node", "path: " + podResources + "\n          type", "path: /\n          type", "security"},
	{"a namespace that does not admit the pods", "pod-security.kubernetes.io/enforce: privileged", "pod-security.kubernetes.io/enforce: restricted", "admission"},

	{"a verb too many", "  - pods\n  verbs:\n", "  - pods\n  verbs:\n  - delete\n", "permissions"},
	{"a verb too few", "  - pods\n  verbs:\n  - get\n  - list\n  - watch", "  - pods\n  verbs:\n  - get\n  - list", "permissions"},
	{"Secrets", "  resources:\n  - pods\n", "  resources:\n  - pods\n  - secrets\n", "permissions"},
	{"everything", "  resources:\n  - pods\n", "  resources:\n  - '*'\n", "permissions"},
	{"another group", "  - resource.k8s.io\n  resources", "  - resources.k8s.io\n  resources", "permissions"},
	{"no token", "automountServiceAccountToken: true", "automountServiceAccountToken: false", "permissions"},
	{"a token for every pod of the account", "automountServiceAccountToken: false", "automountServiceAccountToken: true", "permissions"},

	{"no toleration of the operator's taint", "key: nvidia.com/gpu\n", "key: nvidia.com/mig\n", "placement"},
	{"a toleration of one value", "key: nvidia.com/gpu\n        operator: Exists", "key: nvidia.com/gpu\n        operator: Equal\n        value: present", "placement"},
	{"no toleration of GKE's taint", "key: kubernetes.io/arch", "key: kubernetes.io/architecture", "placement"},
	{"a toleration of everything", "      - key: nvidia.com/gpu\n        operator: Exists", "      - operator: Exists", "placement"},
	{"a label that no node has", "key: nvidia.com/gpu.present", "key: nvidia.com/gpus.present", "placement"},
	{"nodes of any system", "      nodeSelector:\n        kubernetes.io/os: linux\n", "", "placement"},
	{"two of a node at a time", "maxUnavailable: 10%", "maxUnavailable: 0\n      maxSurge: 1", "once"},

	{"a policy that keeps Prometheus out", "app.kubernetes.io/name: prometheus", "app.kubernetes.io/name: prom", "network"},
	{"a policy for Prometheus of its own namespace", "    - namespaceSelector: {}\n      podSelector:\n        matchLabels:\n          app.kubernetes.io/name: prometheus", "    - podSelector:\n        matchLabels:\n          app.kubernetes.io/name: prometheus", "network"},
	{"a policy that lets everybody scrape", "      podSelector:\n        matchLabels:\n          app.kubernetes.io/name: prometheus\n", "", "network"},
	{"a policy without DNS", "port: 53\n", "port: 54\n", "network"},
	{"a policy without the API server", "port: 443\n", "port: 444\n", "network"},
	{"a policy without engines", "  - to:\n    - namespaceSelector: {}\n", "", "network"},
	{"a policy that lets out everything", "  egress:\n", "  egress:\n  - {}\n", "network"},
	{"a policy without engines on their node's network", "    - endPort: 8007\n      port: 8000\n      protocol: TCP\n", "", "network"},
	{"a policy without spans", "port: 4318\n      protocol", "port: 4319\n      protocol", "network"},

	{"a probe of a path that is not served", "/-/ready", "/ready", "probes"},
	{"a flag with a typo", "--web.listen-address", "--web.listen-adress", "arguments"},
	{"a port that nobody listens at", "listen-address=:9810", "listen-address=:9811", "arguments"},
	{"another command", "        - serve\n", "        - run\n", "arguments"},
	{"a limit of Go that ends the process", "value: 200MiB", "value: 200 MiB", "arguments"},
	{"a configuration elsewhere", "config.file=/etc/goodput-exporter/", "config.file=/etc/goodput/", "configuration"},
	{"a key of the configuration with a typo", "    slos:\n", "    slo:\n", "configuration"},
	{"a threshold that is none", "ttft: 500ms", "ttft: fast", "configuration"},
	{"spans at another port", `listen: ":4318"`, `listen: ":4400"`, "configuration"},
}

// TestMutants makes every mistake and sees that the check which is there for it complains.
func TestMutants(t *testing.T) {
	b := builds[slices.IndexFunc(builds, func(b build) bool { return b.name == "base with all" })]
	fsys := copied(t)
	// The component otlp asks for this line of the configuration.
	config, err := fsys.ReadFile("/base/goodput.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if err := fsys.WriteFile("/base/goodput.yaml", append(config, "spans: {listen: \":4318\", grpc_listen: \":4317\"}\n"...)); err != nil {
		t.Fatal(err)
	}
	text, err := kustomized(fsys, b)
	if err != nil {
		t.Fatal(err)
	}
	sound, err := decoded(b.expect, text)
	if err != nil {
		t.Fatal(err)
	}
	if c := complaints(sound); len(c) > 0 {
		t.Fatalf("without a mistake: %q", c)
	}
	killed := map[string]int{}
	for _, m := range mutants {
		t.Run(m.what, func(t *testing.T) {
			if !bytes.Contains(text, []byte(m.old)) {
				t.Fatalf("there is no %q to make the mistake in", m.old)
			}
			w, err := decoded(b.expect, bytes.ReplaceAll(text, []byte(m.old), []byte(m.new)))
			if m.check == "decode" {
				if err == nil {
					t.Error("it is decoded without a word")
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			i := slices.IndexFunc(checks, func(c check) bool { return c.name == m.check })
			if found := checks[i].find(w); len(found) == 0 {
				t.Errorf("check %s finds nothing; all that is found: %q", m.check, complaints(w))
			}
			killed[m.check]++
		})
	}
	for _, c := range checks {
		if killed[c.name] == 0 && !t.Failed() {
			t.Errorf("no mutant is for check %s", c.name)
		}
	}
}
