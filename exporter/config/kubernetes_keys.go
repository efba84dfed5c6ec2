package config

func kubernetesKeys() codec[Kubernetes] {
	path := func(example string) codec[string] { return text("file path", example, badPath) }
	api := object("mapping", nil,
		bind("server", text("https or http URL", "https://10.0.0.1:6443", badServer), func(a *KubernetesAPI) *string { return &a.Server },
			"The API server. Without it, the one of the cluster that the exporter runs in."),
		bind("token_file", path("/var/run/secrets/goodput/token"), func(a *KubernetesAPI) *string { return &a.TokenFile },
			"File that holds the token that is shown to the API server. Read again when it changes. Without it, that of the pod's service account; where server is given, none."),
		bind("ca_file", path("/etc/goodput/kubernetes.crt"), func(a *KubernetesAPI) *string { return &a.CAFile },
			"Certificates of the authorities that may sign the API server's. PEM; read again when it changes. Without it, those of the pod's service account; where server is given, the system's."),
	)
	return object("mapping", settleKubernetes,
		bind("scope", oneOf(ScopeNode, ScopeCluster), func(k *Kubernetes) *Scope { return &k.Scope },
			"node: pods of one node, for an exporter on each. cluster: of all nodes, for one exporter that reads no GPU."),
		bind("node", text("node name", "gpu-node-1", badNode), func(k *Kubernetes) *string { return &k.Node },
			"The node whose pods are engines. Without it the environment variable NODE_NAME says, which a DaemonSet sets from spec.nodeName."),
		bind("namespaces", namespaces(), func(k *Kubernetes) *[]string { return &k.Namespaces },
			"Namespaces whose pods are looked at; then the exporter needs to read the pods of these only. Without it, all are. Credentials of engines.access go to pods of namespaces that stand here, and to no others: else whoever may make a pod could ask for them."),
		bind("selectors", selectors(1), func(k *Kubernetes) *[]string { return &k.Selectors },
			"Label selectors in Kubernetes's syntax. A pod that any of them fits is an engine. A list that is given replaces the default."),
		bind("ports", list(podPort(), 1, 20, func() string { return "" }).that("", distinct), func(k *Kubernetes) *[]string { return &k.Ports },
			"Ports of a pod at which engines are: names of container ports, numbers, and ranges such as 8000-8007 for data-parallel ranks that each serve their own. Each port of a pod that fits is an engine of its own."),
		bind("path", text("path", "/metrics", badPagePath), func(k *Kubernetes) *string { return &k.Path },
			"Where on those ports the page is."),
		bind("scheme", oneOf(SchemeHTTP, SchemeHTTPS), func(k *Kubernetes) *Scheme { return &k.Scheme },
			"How the page is asked for; tls_config of engines.access says more."),
		bind("annotations", flag(), func(k *Kubernetes) *bool { return &k.Annotations },
			"true heeds the annotations prometheus.io/scrape, port, path and scheme of pods that a selector fits, for the pod's own address only. Whoever may make pods then chooses what the exporter asks there."),
		bind("api", api, func(k *Kubernetes) *KubernetesAPI { return &k.API },
			"How the API server is reached. In a pod nothing needs to be said."),
	)
}

// podPageKeys say which pod serves the page of the node's GPUs.
func podPageKeys() codec[PodPage] {
	return object("mapping", nil,
		bind("selectors", selectors(1), func(p *PodPage) *[]string { return &p.Selectors },
			"Label selectors; a pod that any of them fits is the dcgm-exporter of its node."),
		bind("port", whole(1, 65535), func(p *PodPage) *int { return &p.Port },
			"Port of its page, which is at /metrics."),
		bind("namespaces", namespaces(), func(p *PodPage) *[]string { return &p.Namespaces },
			"Namespaces in which it may be. Without it all are; where engines.kubernetes.namespaces is given, name here the one of the GPU operator, whose pods the exporter must then be allowed to read."),
	)
}

func namespaces() codec[[]string] {
	return list(text("namespace", "inference", badNamespace), 0, maxNamespaces, func() string { return "" }).that("", distinct)
}

func selectors(atLeast int) codec[[]string] {
	return list(text("label selector", "app=vllm", badSelector), atLeast, 50, func() string { return "" }).that("", distinct)
}

// podPort is a name, a number or a range.
func podPort() codec[string] {
	c := text("port", "8000", badPodPort)
	c.shape = func() map[string]any {
		shape := anyShape()
		shape["type"] = []string{"string", "integer", "boolean"} // true is the name of a port, too
		shape["minimum"], shape["maximum"] = 1, 65535
		return shape
	}
	return c
}
