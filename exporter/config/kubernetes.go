package config

import "slices"

// Kubernetes says which pods are engines.
type Kubernetes struct {
	Scope       Scope
	Node        string   // whose pods are engines; "": the variable NODE_NAME says. Not with ScopeCluster
	Namespaces  []string // whose pods are looked at, and only theirs; none: all
	Selectors   []string // of labels: a pod that any of them fits is an engine
	Ports       []string // of pods where engines are: names, numbers and ranges
	Path        string   // of the page
	Scheme      Scheme
	Annotations bool // of pods say where their page is
	API         KubernetesAPI
}

// Scope is how far pods are looked for.
type Scope string

// The scopes.
const (
	ScopeNode    Scope = "node"
	ScopeCluster Scope = "cluster"
)

// Scheme is how pages are asked for.
type Scheme string

// The schemes.
const (
	SchemeHTTP  Scheme = "http"
	SchemeHTTPS Scheme = "https"
)

// KubernetesAPI is where the API server is and what is shown to it. Empty fields are what a pod is given: the variables
// KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT, and its service account. Paths are as written: see Config.Path.
type KubernetesAPI struct {
	Server, TokenFile, CAFile string
}

// Vouches reports whether a pod's namespace is one that the configuration names: whoever may make pods in any other could
// have an engine's credentials sent to a pod of theirs.
func (k *Kubernetes) Vouches(namespace string) bool { return slices.Contains(k.Namespaces, namespace) }

// PodPage says which pod of the node serves the page of its GPUs.
type PodPage struct {
	Selectors  []string
	Port       int
	Namespaces []string // none: all
}

// defaultKubernetes is what an empty mapping asks for. The labels are those that well-known ways to deploy vLLM give to its
// pods: see docs/install.md.
func defaultKubernetes() Kubernetes {
	return Kubernetes{
		Scope: ScopeNode,
		Selectors: []string{
			"goodput-exporter/engine=true", "app.kubernetes.io/name=vllm", "app=vllm", "model,helm-release-name",
			"llm-d.ai/inference-serving=true", "llm-d.ai/inferenceServing=true", "kserve.io/component=workload", "model.aibrix.ai/name",
			"nvidia.com/dynamo-component-type in (worker, prefill, decode)",
		},
		Ports:  []string{"metrics", "http", "system", "container-port", "8000"},
		Path:   "/metrics",
		Scheme: SchemeHTTP,
	}
}

func defaultPodPage() PodPage {
	return PodPage{
		Selectors: []string{
			"app=nvidia-dcgm-exporter", "app.kubernetes.io/name=dcgm-exporter", "app.kubernetes.io/name=gke-managed-dcgm-exporter",
		},
		Port: 9400,
	}
}
