package deploy

import (
	"strings"
	"testing"
)

// TestContradictions gives the chart values that its schema allows and that cannot work together. Each is refused by name,
// with what to do.
func TestContradictions(t *testing.T) {
	for name, c := range map[string]struct{ values, want, remedy string }{
		"no objective in a whole file":             {`configFile: "slos: []"`, "config.slos is empty", "name at least one"},
		"all pods on each node":                    {"config: {engines: {kubernetes: {scope: cluster}}}", "every node would poll all engines", "Set mode: central"},
		"addresses on each node":                   {`config: {engines: {targets: [{id: a, url: "http://10.0.0.1:8000"}]}}`, "every request would be counted once a node", "mode: central"},
		"no engines on a node":                     {"config: {engines: {kubernetes: null}}", "no engine would be found", "Set config.engines.kubernetes to {}"},
		"no engines at all":                        {"{mode: central, config: {engines: {kubernetes: null}}}", "config names no engines", "set config.engines.kubernetes to {}"},
		"a whole file about one node":              {`{mode: central, configFile: "slos: [{name: a}]\nengines: {kubernetes: {}}"}`, "pods of one node would be looked at", "Set it to cluster"},
		"a whole file that is none":                {`configFile: "slos: ["`, "configFile is not YAML", ""},
		"GPUs in central mode":                     {"{mode: central, config: {gpu: {source: dcgm}}}", "config.gpu asks for the GPUs of a node", "install mode node"},
		"prices of GPUs in central mode":           {"{mode: central, config: {gpu: {cost: {currency: EUR, per_gpu_hour: 2}}}}", "config.gpu asks for the GPUs of a node", "install mode node"},
		"the kubelet in central mode":              {"{mode: central, config: {gpu: {pod_resources: {enabled: true}}}}", "config.gpu asks for the GPUs of a node", "install mode node"},
		"a dcgm-exporter that may not be seen":     {"config: {engines: {kubernetes: {namespaces: [serving]}}}", "the dcgm-exporter's namespace is not known", "set config.gpu.kubernetes.namespaces"},
		"DCGM without its library":                 {"config: {gpu: {source: dcgm}}", "goodput-dcgm needs one libdcgm.so.4", "set dcgm.image"},
		"DCGM with two libraries":                  {"{config: {gpu: {source: dcgm}}, dcgm: {image: dcgm, libraryHostPath: /opt/dcgm}}", "goodput-dcgm needs one libdcgm.so.4", "or else"},
		"a library that nothing loads":             {"{config: {gpu: {source: none}}, dcgm: {image: dcgm}}", "config.gpu.source none it is not run", "set that to dcgm or auto"},
		"a library in central mode":                {"{mode: central, dcgm: {libraryHostPath: /opt/dcgm}}", "with mode central", "take out dcgm"},
		"a host engine inside the pod":             {`{config: {gpu: {source: dcgm, dcgm: {address: "localhost:5555"}}}, dcgm: {image: dcgm}}`, "no host engine listens inside the pod", "set config.gpu.dcgm.address"},
		"a host engine at no address":              {"{config: {gpu: {source: dcgm, dcgm: {address: null}}}, dcgm: {image: dcgm}}", "no host engine listens inside the pod", "set config.gpu.dcgm.address"},
		"two host engines":                         {"{config: {gpu: {source: dcgm, dcgm: {embedded: true}}}, dcgm: {image: dcgm}}", "there is one host engine", "set config.gpu.dcgm.address to null"},
		"slices of claims that nobody tells of":    {"dra: {enabled: true}", "dra.enabled is about the claims that the kubelet tells of", "set config.gpu.pod_resources.enabled to true"},
		"spans that nobody else can send":          {`config: {spans: {listen: "127.0.0.1:4318"}}`, "no engine in another pod can reach the exporter", "write :4318"},
		"the same in the form of IPv6":             {`config: {spans: {grpc_listen: "[::1]:4317"}}`, "no engine in another pod can reach the exporter", "write :4317"},
		"spans at no port":                         {"config: {spans: {listen: localhost}}", `"localhost" has no port`, "write :4318"},
		"a password in a URL":                      {`config: {gpu: {url: "https://me:secret@10.0.0.1:9400/metrics"}}`, "a ConfigMap keeps no secret", "put the password into a Secret"},
		"a password in a whole file":               {`configFile: "slos: [{name: a}]\nengines: {kubernetes: {}}\ngpu: {url: 'https://me:secret@10.0.0.1:9400/'}"`, "a ConfigMap keeps no secret", "put the password into a Secret"},
		"two ways to be scraped":                   {"{prometheusAnnotations: true, podMonitor: {enabled: true}}", "would scrape each pod twice", "Keep one"},
		"a label that selects":                     {"podLabels: {app.kubernetes.io/name: other}", "app.kubernetes.io/name is a label that the chart gives", "take it out"},
		"a label of the chart on everything":       {"commonLabels: {helm.sh/chart: other}", "helm.sh/chart is a label that the chart gives", "take it out"},
		"a memory limit that is no number":         {"resources: {limits: {memory: much}}", `"much" is not understood`, "write it in Mi or Gi"},
		"a memory limit that nothing fits into":    {"resources: {limits: {memory: 16Mi}}", "16Mi leaves the exporter 12 MiB", "give it more"},
		"rules that are none":                      {`prometheusRule: {enabled: true, rules: "a: b"}`, "prometheusRule.rules holds no groups of rules", "generate rules --format=operator"},
		"a limit that goodput-dcgm leaves nothing": {"{config: {gpu: {source: dcgm}}, dcgm: {image: dcgm}, resources: {limits: {memory: 128Mi}}}", "128Mi leaves the exporter 6 MiB", "give it more"},
	} {
		t.Run(name, func(t *testing.T) {
			values := valuesOf(t, []byte(c.values))
			_, err := rendered(values, release)
			if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), c.remedy) {
				t.Errorf("says %v, want %q and the remedy %q", err, c.want, c.remedy)
			}
		})
	}
}

// TestValuesTogether gives the chart values that look like contradictions and are none.
func TestValuesTogether(t *testing.T) {
	for name, c := range map[string]struct{ values, want, never string }{
		"one namespace and no GPUs":                     {"config: {engines: {kubernetes: {namespaces: [serving]}}, gpu: {source: none}}", "kind: Role\n", "ClusterRole"},
		"a page of GPUs by its address":                 {`config: {engines: {kubernetes: {namespaces: [serving]}}, gpu: {url: "http://127.0.0.1:9400"}}`, "kind: Role\n", "ClusterRole"},
		"files of targets on each node":                 {"config: {engines: {kubernetes: null, files: [/etc/targets/*.yaml]}}", "automountServiceAccountToken: false\n      enableServiceLinks", "kind: ClusterRole"},
		"a whole file, with what it says about the pod": {"configFile: |\n  # said here\n  slos: [{name: a}]\n  engines: {kubernetes: {}}\n  spans: {listen: ':4400'}", "containerPort: 4400", "name: interactive"},
		"a whole file that begins with spaces":          {`configFile: "   slos: [{name: a}]\n   engines: {kubernetes: {}}"`, "slos: [{name: a}]", ""},
		"a limit without a unit":                        {"resources: {limits: {memory: 268435456}}", "value: 204MiB", ""},
		"a limit in decimal units":                      {"resources: {limits: {memory: 1.5G}}", "value: 1144MiB", ""},
		"no limit":                                      {"resources: {requests: {memory: 1Gi}}", "name: NODE_NAME", "GOMEMLIMIT"},
		"a page of GPUs, and goodput-dcgm behind it":    {"dcgm: {image: dcgm}", "goodput-exporter:0.1.0-dcgm", "source: dcgm"},
		"a class of priority that is there":             {"priorityClass: {create: false, name: system-node-critical}", "priorityClassName: system-node-critical", "kind: PriorityClass"},
		"affinity between pods, still on GPU nodes":     {"affinity: {podAntiAffinity: {preferredDuringSchedulingIgnoredDuringExecution: []}}", "nvidia.com/gpu.present", ""},
		"a variable in place of the chart's":            {"extraEnv: [{name: GOMEMLIMIT, value: 100MiB}]", "value: 100MiB", "204MiB"},
		"rules in Prometheus's own form":                {`prometheusRule: {enabled: true, rules: "groups: [{name: a, rules: [{alert: Mine, expr: up}]}]"}`, "alert: Mine", "alert: GoodputCollapse"},
	} {
		t.Run(name, func(t *testing.T) {
			files := renderedWith(t, c.values)
			text := stream(files)
			if !strings.Contains(string(text), c.want) {
				t.Errorf("no %q in\n%s", c.want, text)
			}
			if c.never != "" && strings.Contains(string(text), c.never) {
				t.Errorf("%q in\n%s", c.never, text)
			}
			if _, err := decoded(expect{name: name}, text); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestRulesOfOtherObjectives leaves out what names an objective that is not configured, and says so.
func TestRulesOfOtherObjectives(t *testing.T) {
	own := "config: {slos: [{name: chat, clauses: {ttft: 250ms}, objective: 0.9}]}\n"
	for name, c := range map[string]struct {
		values     string
		burn, says bool
	}{
		"the chart's objectives":              {"prometheusRule: {enabled: true}", true, false},
		"others":                              {own + "prometheusRule: {enabled: true}", false, true},
		"others, and the rules made for them": {own + `prometheusRule: {enabled: true, rules: "groups: [{name: a, rules: [{alert: GoodputErrorBudgetBurn, expr: up, labels: {slo: chat}}]}]"}`, true, false},
	} {
		t.Run(name, func(t *testing.T) {
			files := renderedWith(t, c.values)
			if got := strings.Contains(string(stream(files)), "alert: GoodputErrorBudgetBurn"); got != c.burn {
				t.Errorf("an alert on an objective: %v", got)
			}
			if got := strings.Contains(files["goodput-exporter/templates/NOTES.txt"], "prometheusRule.rules=rules.yaml"); got != c.says {
				t.Errorf("the notes say how to make rules: %v", got)
			}
		})
	}
}

// TestCredentialsOfNobody warns of credentials that the exporter will show to no pod (SEC-05).
func TestCredentialsOfNobody(t *testing.T) {
	const access = "engines: {access: {bearer_token_file: /var/run/secrets/goodput-exporter/a/token}, kubernetes: "
	for name, c := range map[string]struct {
		values string
		says   bool
	}{
		"in all namespaces":         {"config: {" + access + "{}}}", true},
		"in namespaces with a name": {"config: {" + access + "{namespaces: [serving]}}, gpu: {source: none}}", false},
		"nowhere":                   {"{}", false},
	} {
		t.Run(name, func(t *testing.T) {
			files := renderedWith(t, c.values)
			if got := strings.Contains(files["goodput-exporter/templates/NOTES.txt"], "config.engines.access go to no pod"); got != c.says {
				t.Errorf("the notes warn: %v", got)
			}
		})
	}
}

// TestNoSecondHostEngine sees that an installation without a word reads what is there, and that a host engine of the
// exporter's own, which would take profiling from the GPU operator's, comes only when it is asked for (DEP-05).
func TestNoSecondHostEngine(t *testing.T) {
	for name, c := range map[string]struct {
		values          string
		child, embedded bool
	}{
		"without a word":        {"{}", false, false},
		"with the child behind": {"dcgm: {image: dcgm}", true, false},
		"DCGM alone":            {"{config: {gpu: {source: dcgm}}, dcgm: {image: dcgm}}", true, false},
		"an engine of its own":  {"{config: {gpu: {source: dcgm, dcgm: {embedded: true, address: null}}}, dcgm: {libraryHostPath: /opt/dcgm}}", true, true},
	} {
		t.Run(name, func(t *testing.T) {
			files := renderedWith(t, c.values)
			text := string(stream(files))
			if got := strings.Contains(text, "-dcgm\""); got != c.child {
				t.Errorf("the image has the child in it: %v", got)
			}
			if got := strings.Contains(text, "embedded: true"); got != c.embedded {
				t.Errorf("a host engine inside the child: %v", got)
			}
			if got := strings.Contains(text, "NVIDIA_VISIBLE_DEVICES"); got != c.embedded {
				t.Errorf("the runtime is asked for the driver: %v", got)
			}
			if got := strings.Contains(text, "nvidia-dcgm.gpu-operator.svc:5555"); got == c.embedded {
				t.Errorf("the GPU operator's host engine is named: %v", got)
			}
		})
	}
}
