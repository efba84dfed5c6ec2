package kubernetes

import (
	"fmt"
	"strings"
	"testing"
)

const ranks = `{"containerPort": 8000}, {"containerPort": 8001}, {"containerPort": 8002}`

func TestJudge(t *testing.T) {
	const page = "serving.acme-0:8000 http://10.0.0.7:8000/metrics"
	notReady := edits{
		"status|conditions":        `[{"type": "Ready", "status": "False", "lastTransitionTime": "2026-01-05T10:00:01Z"}]`,
		"status|containerStatuses": `[{"name": "vllm", "ready": false, "state": {"running": {"startedAt": "2026-01-05T10:00:02Z"}}}]`,
	}
	loading := page + " *"
	annotated := func(key, value string) edits {
		return edits{"metadata|annotations|prometheus.io/" + key: `"` + value + `"`}
	}
	listens := Config{Annotations: true}
	lws := func(index string) edits {
		return edits{"metadata|labels|leaderworkerset.sigs.k8s.io/worker-index": `"` + index + `"`, "metadata|annotations|leaderworkerset.sigs.k8s.io/size": `"4"`}
	}
	probed := edits{"spec|containers": `[{"name": "vllm", "ports": [{"name": "http", "containerPort": 8000}], "readinessProbe": {"httpGet": {"port": "http"}}}]`}
	for name, c := range map[string]struct {
		config Config
		edits  edits
		state  State // "" is a pod that is not selected
		want   string
	}{
		"an engine that is ready":                            {Config{}, nil, Polled, page},
		"no selector matches":                                {Config{}, edits{"metadata|labels": `{"app": "nginx"}`}, "", ""},
		"its label says that it is none":                     {Config{}, edits{"metadata|labels|goodput-exporter/engine": `"false"`}, "", ""},
		"its label says that it is one":                      {Config{}, edits{"metadata|labels": `{"goodput-exporter/engine": "true"}`}, Polled, page},
		"a path and a scheme of one's own":                   {Config{Path: "/x/metrics", Scheme: "https"}, nil, Polled, "serving.acme-0:8000 https://10.0.0.7:8000/x/metrics"},
		"an IPv6 address stands in brackets":                 {Config{}, edits{"status|podIP": `"fd00::7"`}, Polled, "serving.acme-0:8000 http://[fd00::7]:8000/metrics"},
		"an IPv4 address in the form of IPv6 is one of IPv4": {Config{}, edits{"status|podIP": `"::ffff:10.0.0.7"`}, Polled, page},
		"of two addresses the first is taken":                {Config{}, edits{"status|podIPs": `[{"ip": "10.0.0.7"}, {"ip": "fd00::7"}]`}, Polled, page},
		"it has succeeded":                                   {Config{}, edits{"status|phase": `"Succeeded"`}, Ended, ""},
		"it has failed":                                      {Config{}, edits{"status|phase": `"Failed"`}, Ended, ""},
		"it is being deleted":                                {Config{}, edits{"metadata|deletionTimestamp": `"2026-01-05T11:00:00Z"`}, Terminating, ""},
		"it has no address yet":                              {Config{}, edits{"status|podIP": "", "status|phase": `"Pending"`}, Pending, "it has no address yet"},
		"nothing of it runs yet":                             {Config{}, edits{"status|phase": `"Pending"`, "status|containerStatuses": ""}, Pending, "its container vllm does not run yet (the pod is in phase Pending)"},
		"its container runs though the pod is pending":       {Config{}, edits{"status|phase": `"Pending"`}, Polled, page},
		"it loads its model":                                 {Config{}, notReady, Starting, loading},
		"it was ready, and is not now":                       {Config{}, notReady.and(edits{"status|conditions": `[{"type": "Ready", "status": "False", "lastTransitionTime": "2026-01-05T10:30:00Z"}]`}), Polled, page},
		"it was started again, and loads":                    {Config{}, edits{"status|conditions": `[{"type": "Ready", "status": "False", "lastTransitionTime": "2026-01-05T10:30:00Z"}]`, "status|containerStatuses": `[{"name": "vllm", "ready": false, "restartCount": 1, "state": {"running": {"startedAt": "2026-01-05T10:30:05Z"}}}]`}, Starting, loading},
		"it has crashed, and waits":                          {Config{}, notReady.and(edits{"status|containerStatuses": `[{"name": "vllm", "ready": false, "restartCount": 3, "state": {"waiting": {}}}]`}), Polled, page},
		"it waits to run for the first time":                 {Config{}, notReady.and(edits{"status|containerStatuses": `[{"name": "vllm", "ready": false, "restartCount": 0, "state": {"waiting": {}}}]`}), Starting, loading},
		"its container has ended for good, a sidecar not":    {Config{}, edits{"spec|restartPolicy": `"Never"`, "status|containerStatuses": `[{"name": "vllm", "state": {"terminated": {"exitCode": 1}}}]`}, Ended, ""},
		"its job is done, a sidecar's not":                   {Config{}, edits{"spec|restartPolicy": `"OnFailure"`, "status|containerStatuses": `[{"name": "vllm", "state": {"terminated": {"exitCode": 0}}}]`}, Ended, ""},
		"it has fallen, and will be started again":           {Config{}, edits{"spec|restartPolicy": `"OnFailure"`, "status|containerStatuses": `[{"name": "vllm", "restartCount": 1, "state": {"terminated": {"exitCode": 1}}}]`}, Polled, page},
		"it is on the node's network":                        {Config{}, edits{"spec|hostNetwork": `true`, "status|podIP": `"192.168.1.4"`}, Polled, "serving.acme-0:8000 http://192.168.1.4:8000/metrics"},
		"a port by its number":                               {Config{}, edits{"spec|containers": containers(`{"containerPort": 8000}`)}, Polled, page},
		"a port of UDP is none":                              {Config{}, edits{"spec|containers": containers(`{"name": "http", "containerPort": 8000, "protocol": "UDP"}`)}, NoEndpoint, "it declares 8000 (http)"},
		"none of its ports fits":                             {Config{}, edits{"spec|containers": containers(`{"name": "nixl", "containerPort": 5557}`)}, NoEndpoint, "none of its ports is polled: it declares 5557 (nixl); name one of them in ports, or say in a label that it is no engine: goodput-exporter/engine=false"},
		"it declares no port: the first number is tried":     {Config{}, edits{"spec|containers": containers("")}, Polled, page},
		"what is named metrics goes before http":             {Config{}, edits{"spec|containers": containers(`{"name": "http", "containerPort": 8080}, {"name": "metrics", "containerPort": 8200}`)}, Polled, "serving.acme-0:8200 http://10.0.0.7:8200/metrics"},
		"a worker of Dynamo has its page at system":          {Config{}, edits{"metadata|labels": `{"nvidia.com/dynamo-component-type": "worker"}`, "spec|containers": `[{"name": "main", "ports": [{"name": "system", "containerPort": 9090}, {"name": "nixl", "containerPort": 19090}]}]`, "status|containerStatuses": ""}, Polled, "serving.acme-0:9090 http://10.0.0.7:9090/metrics"},
		"a frontend of Dynamo is no engine":                  {Config{}, edits{"metadata|labels": `{"nvidia.com/dynamo-component-type": "frontend"}`}, "", ""},
		"an engine of the production stack":                  {Config{}, edits{"metadata|labels": `{"model": "m", "helm-release-name": "r", "environment": "test"}`, "spec|containers": containers(`{"name": "container-port", "containerPort": 8000}, {"name": "zmq-port", "containerPort": 55555}`)}, Polled, page},
		"its router is none":                                 {Config{}, edits{"metadata|labels": `{"environment": "router", "release": "router"}`}, "", ""},
		"a decode pod of llm-d, whose proxy starts first":    {Config{}, edits{"metadata|labels": `{"llm-d.ai/inference-serving": "true", "llm-d.ai/role": "decode"}`, "spec|initContainers": `[{"name": "routing-proxy", "restartPolicy": "Always", "ports": [{"containerPort": 8000}]}]`, "spec|containers": containers(`{"name": "metrics", "containerPort": 8200}`)}, Polled, "serving.acme-0:8200 http://10.0.0.7:8200/metrics"},
		"a proxy beside the engine is not polled":            {Config{}, edits{"spec|containers": `[{"name": "istio-proxy", "ports": [{"name": "http", "containerPort": 15020}]}, {"name": "vllm", "ports": [{"containerPort": 8000}]}]`}, Polled, page},
		"each declared number is a rank":                     {Config{Ports: []string{"8000", "8001", "8002"}}, edits{"spec|containers": containers(ranks)}, Polled, page + "; serving.acme-0:8001 http://10.0.0.7:8001/metrics; serving.acme-0:8002 http://10.0.0.7:8002/metrics"},
		"the leader of a group":                              {Config{}, lws("0"), Polled, page},
		"a worker of a group":                                {Config{}, lws("1"), NoEndpoint, "it is a worker of a LeaderWorkerSet's group, and no probe asks it over HTTP: its leader answers for it"},
		"a worker that the kubelet asks over HTTP":           {Config{}, lws("1").and(probed), Polled, page},
		"a worker that the kubelet asks otherwise":           {Config{}, lws("1").and(edits{"spec|containers": `[{"name": "vllm", "ports": [{"name": "http", "containerPort": 8000}], "readinessProbe": {"exec": {}}}]`}), NoEndpoint, "and no probe asks it over HTTP"},
		"a worker of a Ray cluster":                          {Config{}, edits{"metadata|labels|ray.io/node-type": `"worker"`}, NoEndpoint, "it is a worker of a Ray cluster, and no probe asks it over HTTP: its leader answers for it"},
		"annotations are not listened to by default":         {Config{}, annotated("port", "9999"), Polled, page},
		"annotations choose a declared port":                 {listens, annotated("port", "8001").and(edits{"spec|containers": containers(ranks)}), Polled, "serving.acme-0:8001 http://10.0.0.7:8001/metrics"},
		"annotations choose a configured port":               {Config{Annotations: true, Ports: []string{"8000-8003"}}, annotated("port", "8003"), Polled, "serving.acme-0:8003 http://10.0.0.7:8003/metrics"},
		"annotations turn a pod off":                         {listens, annotated("scrape", "false"), NoEndpoint, "its annotation prometheus.io/scrape is false"},
		"annotations choose TLS":                             {listens, annotated("scheme", "https"), Polled, "serving.acme-0:8000 https://10.0.0.7:8000/metrics"},
		"annotations choose the custom path":                 {Config{Annotations: true, Path: "/x"}, annotated("path", "/metrics"), Polled, page},
		"an address that is none":                            {Config{}, edits{"status|podIP": `"acme.example"`}, Refused, "its address is none"},
		"a zone of a machine":                                {Config{}, edits{"status|podIP": `"fd00::7%eth0"`}, Refused, "its address is none"},
		"a container that no kubelet would start":            {Config{}, edits{"spec|containers": `[{"name": "a/b", "ports": [{"containerPort": 8000}]}]`}, Refused, "a container of it has a name or a port that none may have"},
		"a name that no API server would take":               {Config{}, edits{"metadata|name": `"a/b"`}, Refused, "its name is none that a pod may have"},
		"times that are none lose nothing but what they say": {Config{}, edits{"metadata|creationTimestamp": `7`, "status|startTime": `"yesterday"`}, Polled, page},
	} {
		t.Run(name, func(t *testing.T) {
			r := rulesOf(t, c.config)
			v, selected := r.judge(decoded(t, podWith(t, c.edits)), nil)
			if !selected {
				if c.state != "" {
					t.Fatalf("it is not selected")
				}
				return
			}
			if v.state != c.state {
				t.Fatalf("it is %s, want %s (%s)", v.state, c.state, v.why)
			}
			if got := text(v.targets); v.state == Polled || v.state == Starting {
				if got != c.want || v.why != "" {
					t.Errorf("targets %q, want %q; %s", got, c.want, v.why)
				}
				return
			}
			if len(v.targets) > 0 || !strings.Contains(v.why, c.want) || c.want == "" && v.why != "" {
				t.Errorf("targets %q, why %q; want %q", text(v.targets), v.why, c.want)
			}
		})
	}
}

// TestRemembersReady: a container that has been ready since it was started is not starting when it no longer is, though the pod's condition, that
// of another container, does not tell.
func TestRemembersReady(t *testing.T) {
	r := rulesOf(t, Config{})
	never := edits{"status|conditions": `[{"type": "Ready", "status": "False", "lastTransitionTime": "2026-01-05T10:00:01Z"}]`}
	ready, _ := r.judge(decoded(t, podWith(t, never)), nil)
	not := never.and(edits{"status|containerStatuses": `[{"name": "vllm", "ready": false, "state": {"running": {"startedAt": "2026-01-05T10:00:02Z"}}}]`})
	if v, _ := r.judge(decoded(t, podWith(t, not)), nil); v.state != Starting {
		t.Errorf("without a memory it is %s", v.state)
	}
	v, _ := r.judge(decoded(t, podWith(t, not)), ready)
	if v.state != Polled {
		t.Errorf("it was ready and is %s", v.state)
	}
	if v, _ = r.judge(decoded(t, podWith(t, not)), v); v.state != Polled {
		t.Errorf("at the next look it is %s", v.state)
	}
	again := never.and(edits{"status|containerStatuses": `[{"name": "vllm", "ready": false, "restartCount": 1, "state": {"running": {"startedAt": "2026-01-05T10:20:02Z"}}}]`})
	if v, _ := r.judge(decoded(t, podWith(t, again)), v); v.state != Starting {
		t.Errorf("started again it is %s", v.state)
	}
	other := not.and(edits{"metadata|uid": `"u-2"`})
	if v, _ := r.judge(decoded(t, podWith(t, other)), ready); v.state != Starting {
		t.Errorf("another pod of its name is %s", v.state)
	}
}

func TestIdentity(t *testing.T) {
	for name, c := range map[string]struct {
		edits edits
		want  map[string]string // beside those of every pod
	}{
		"of a Deployment":  {nil, map[string]string{"owner": "Deployment/acme"}},
		"of a ReplicaSet":  {edits{"metadata|labels": `{"app": "vllm"}`}, map[string]string{"owner": "ReplicaSet/acme-6c7d"}},
		"of a StatefulSet": {edits{"metadata|ownerReferences": `[{"kind": "Node", "name": "n"}, {"kind": "StatefulSet", "name": "acme", "controller": true}]`}, map[string]string{"owner": "StatefulSet/acme"}},
		"of a Job":         {edits{"metadata|ownerReferences": `[{"kind": "Job", "name": "bench-1", "controller": true}]`}, map[string]string{"owner": "Job/bench-1"}},
		"of nobody":        {edits{"metadata|ownerReferences": ""}, nil},
		"the leader of a LeaderWorkerSet's group": {edits{"metadata|labels|leaderworkerset.sigs.k8s.io/name": `"big"`, "metadata|labels|leaderworkerset.sigs.k8s.io/worker-index": `"0"`, "metadata|annotations|leaderworkerset.sigs.k8s.io/size": `"4"`},
			map[string]string{"owner": "LeaderWorkerSet/big", "lws_size": "4"}},
		"a worker that answers for itself": {edits{"metadata|labels|leaderworkerset.sigs.k8s.io/name": `"big"`, "metadata|labels|leaderworkerset.sigs.k8s.io/worker-index": `"2"`, "metadata|annotations|leaderworkerset.sigs.k8s.io/size": `"4"`,
			"spec|containers": `[{"name": "vllm", "ports": [{"containerPort": 8000}], "startupProbe": {"httpGet": {"port": 8000}}}]`}, map[string]string{"owner": "LeaderWorkerSet/big"}},
		"the head of a Ray cluster":                {edits{"metadata|labels|ray.io/cluster": `"big"`, "metadata|labels|ray.io/node-type": `"head"`}, map[string]string{"owner": "Deployment/acme", "ray_cluster": "big"}},
		"an owner that a pod's author has made up": {edits{"metadata|ownerReferences": `[{"kind": "<script>", "name": "x", "controller": true}]`}, nil},
		"a size that is none":                      {edits{"metadata|annotations|leaderworkerset.sigs.k8s.io/size": `"many"`}, map[string]string{"owner": "Deployment/acme"}},
		"a size without bounds":                    {edits{"metadata|annotations|leaderworkerset.sigs.k8s.io/size": `"99999999999"`}, map[string]string{"owner": "Deployment/acme"}},
	} {
		t.Run(name, func(t *testing.T) {
			r := rulesOf(t, Config{})
			v, _ := r.judge(decoded(t, podWith(t, c.edits)), nil)
			want := map[string]string{"pod_name": "acme-0", "pod_namespace": "serving", "pod_uid": "u-1", "container": "vllm"}
			for k, s := range c.want {
				want[k] = s
			}
			got := v.targets[0].Labels
			for k := range got {
				if got[k] != want[k] {
					t.Errorf("%s is %q, want %q", k, got[k], want[k])
				}
			}
			if len(got) != len(want) {
				t.Errorf("labels %v, want %v", got, want)
			}
			if from := v.targets[0].From; from != "pod serving/acme-0" {
				t.Errorf("from %q", from)
			}
		})
	}
}

// TestKeepsLittle: of what stands in a pod nothing is kept that is not read.
func TestKeepsLittle(t *testing.T) {
	p := decoded(t, podWith(t, edits{"metadata|annotations": `{"kubectl.kubernetes.io/last-applied-configuration": "hunter2", "prometheus.io/port": "8000"}`}))
	if len(p.Metadata.Annotations) != 1 || p.Metadata.Annotations[portAnnotation] != "8000" {
		t.Errorf("annotations %v", p.Metadata.Annotations)
	}
	if text := fmt.Sprintf("%+v", *p); strings.Contains(text, "hunter2") {
		t.Errorf("kept is %s", text)
	}
}
