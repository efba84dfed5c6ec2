package kubernetes

// DefaultSelectors find the engines of well-known deployments. None of them is meant to fit a router or a gateway; one that does is
// polled, and its page refused as that of no engine, in words.
var DefaultSelectors = []string{
	optIn + "=true",
	// vLLM, docs/deployment/k8s.md.
	"app.kubernetes.io/name=vllm",
	// A habit of many manifests. The charts of vLLM and of the production stack put environment=test and release=test on their pods, which
	// anything may have.
	"app=vllm",
	// vLLM production stack, helm/templates/deployment-vllm-multi.yaml: on its engines, and not on its router.
	"model,helm-release-name",
	// llm-d, its guides and llm-d-modelservice's values: the former since 2026, the latter before.
	"llm-d.ai/inference-serving=true",
	"llm-d.ai/inferenceServing=true",
	// KServe, LLMInferenceService: workload_single_node.go and its siblings; the scheduler has another component.
	"kserve.io/component=workload",
	// AIBrix, pkg/constants: on pods that serve a model.
	"model.aibrix.ai/name",
	// Dynamo's operator, internal/consts: frontends, planners and routers are other types.
	"nvidia.com/dynamo-component-type in (worker, prefill, decode)",
}

// DefaultPorts are where those have their pages.
var DefaultPorts = []string{
	"metrics",        // what is named so is meant for that: llm-d's engines behind a proxy, at 8200
	"http",           // the custom
	"system",         // Dynamo's workers, at 9090, where vLLM's metrics are passed through
	"container-port", // the charts of vLLM and of the production stack
	"8000",           // vLLM's own default
}

// DefaultDCGMSelectors find the pods of dcgm-exporter.
var DefaultDCGMSelectors = []string{
	// The GPU operator.
	"app=nvidia-dcgm-exporter",
	// Its own chart and manifest.
	"app.kubernetes.io/name=dcgm-exporter",
	// GKE, where Google runs it in gke-managed-system: as walk-throughs of GKE find its pods with kubectl. We have not seen it ourselves.
	"app.kubernetes.io/name=gke-managed-dcgm-exporter",
}

// optIn is the label with which a pod says that it is an engine ("true"), or that it is none, whatever else fits ("false").
const optIn = "goodput-exporter/engine"

// proxies are containers beside an engine whose ports lead to it, or to themselves, by the names that those who inject them give.
var proxies = []string{
	"routing-proxy",   // llm-d-modelservice, templates/_helpers.tpl; where it is an init container it is none anyway
	"queue-proxy",     // Knative, and KServe on it
	"istio-proxy",     // Istio
	"linkerd-proxy",   // Linkerd
	"kube-rbac-proxy", // in front of a page, with a login
	"oauth-proxy",     // likewise, OpenShift's
}
