package config

import (
	"time"

	"gopkg.in/yaml.v3"
)

func gpuKeys() codec[GPU] {
	path := func(example string) codec[string] { return text("file path", example, badPath) }
	dcgm := object("mapping", settleDCGM,
		bind("command", path("/usr/local/bin/goodput-dcgm"), func(d *DCGM) *string { return &d.Command },
			"The program goodput-dcgm. Without it, the one beside goodput-exporter is run, else the one on the PATH."),
		bind("address", text("address", "localhost:5555", badHostEngine), func(d *DCGM) *string { return &d.Address },
			"The DCGM host engine (nv-hostengine): HOST:PORT, unix:///PATH or vsock://CID:PORT."),
		bind("embedded", flag(), func(d *DCGM) *bool { return &d.Embedded },
			"true runs the host engine inside goodput-dcgm, in place of address, for nodes without dcgm-exporter and nv-hostengine. With gpu.source auto it is started only where neither is seen, and ends when the page is back."),
		bind("profiling", oneOf(ProfilingAuto, ProfilingOn, ProfilingOff), func(d *DCGM) *Profiling { return &d.Profiling },
			"on reads what needs the profiling hardware (how busy SMs, tensor cores and memory are) where it can be had; off leaves that hardware to other tools. auto is on through address; with embedded it is off, since a second host engine on a node can take the counters from the first."),
	)
	pods := object("mapping", settlePodResources,
		bind("enabled", oneOf(EnabledAuto, EnabledYes, EnabledNo), func(p *PodResources) *Enabled { return &p.Enabled },
			"auto asks where the kubelet's socket is there."),
		bind("socket", path("/var/lib/kubelet/pod-resources/kubelet.sock"), func(p *PodResources) *string { return &p.Socket },
			"The kubelet's pod-resources socket. Without it, the places are tried where distributions have it."),
		bind("resources", list(text("resource name", "example.com/gpu", badResource), 0, 20, func() string { return "" }).that("", distinct), func(p *PodResources) *[]string { return &p.Resources },
			"Further resources whose devices are NVIDIA GPUs, beside nvidia.com/gpu, nvidia.com/gpu.shared and nvidia.com/mig-*. A * at the end is any rest."),
	)
	cost := object("mapping", settleCost,
		bind("currency", text("currency", "EUR", badCurrency), func(c *Cost) *string { return &c.Currency },
			"Value of the currency label: three letters of ISO 4217. Together with a price."),
		bind("per_gpu_hour", price(), func(c *Cost) *float64 { return &c.PerGPUHour },
			"Price of holding one GPU for an hour, busy or not."),
		bind("per_kwh", price(), func(c *Cost) *float64 { return &c.PerKWhour },
			"Price of a kilowatt hour that GPUs use; added to per_gpu_hour. Only the GPUs' own energy is known, not that of their host or its cooling."),
	)
	uuids := list(text("GPU UUID", "GPU-8b8b0d2e-2f1c-4c07-9a58-0d3a8a1f3c11", badUUID), 1, 256, func() string { return "" }).that("", distinct)
	return object("mapping", settleGPU,
		bind("source", oneOf(GPUAuto, GPUPage, GPUDCGM, GPUNone), func(g *GPU) *GPUSource { return &g.Source },
			"dcgm-exporter reads the page at url. dcgm reads DCGM itself, through the program goodput-dcgm. auto takes the page where it brings GPUs, else DCGM where goodput-dcgm is installed, else none, and says which. none asks for nothing."),
		bind("interval", duration("s", time.Second, 5*time.Minute), func(g *GPU) *time.Duration { return &g.Interval },
			"Time between two readings; at least poll.interval, which it is when it is not given and that is longer. A dcgm-exporter collects anew every 30s by default, however often it is asked. Values older than three intervals are not published."),
		bind("url", pageAddress(), func(g *GPU) *Page { return &g.Page },
			"Page of the dcgm-exporter of this node; without a path, /metrics. User, password and query are sent and shown nowhere."),
		bind("kubernetes", optionalFrom(podPageKeys(), defaultPodPage), func(g *GPU) **PodPage { return &g.Kubernetes },
			"Which pod of the node is its dcgm-exporter, in place of url, where engines.kubernetes looks at pods."),
		bind("access", gpuAccessKeys(), func(g *GPU) *Access { return &g.Access },
			"How the page is reached."),
		bind("dcgm", dcgm, func(g *GPU) *DCGM { return &g.DCGM },
			"How DCGM is read."),
		bind("pod_resources", pods, func(g *GPU) *PodResources { return &g.PodResources },
			"Whether the kubelet is asked which container holds which GPU, which joins GPUs to engines whose targets have the labels pod_uid, or pod_namespace and pod_name."),
		bind("engines", mapping(engineIDs(), uuids, 0), func(g *GPU) *map[string][]string { return &g.Engines },
			"UUIDs of an engine's GPUs or MIG instances, by the target's id, as nvidia-smi -L prints them. What stands here goes before what the kubelet says. Two engines may share a GPU."),
		bind("cost", cost, func(g *GPU) *Cost { return &g.Cost },
			"What GPUs cost, for money per qualified token and request."),
	)
}

// gpuAccessKeys are those of engines.access, but for the proxy: the page is on the same node.
func gpuAccessKeys() codec[Access] {
	return object("mapping", settleAccess, credentialKeys("dcgm-exporter", "A user in the url goes before it.")...)
}

// price is a number that is not written while there is none.
func price() codec[float64] {
	c := number()
	write := c.write
	c.write = func(w writer, v float64) *yaml.Node {
		if v == 0 {
			return nil
		}
		return write(w, v)
	}
	return c
}

// engineIDs are ids of targets.
func engineIDs() names[string] {
	return names[string]{
		kind: "engine id", text: func(s string) string { return s },
		parse: func(s string) (string, string, string) {
			what, remedy := badID(s)
			return s, what, remedy
		},
	}
}

// pageAddress is the URL of a dcgm-exporter's page.
func pageAddress() codec[Page] {
	const example = "http://127.0.0.1:9400/metrics"
	return codec[Page]{
		kind: "http or https URL",
		read: func(r *reader, at place, p *Page) bool {
			s, ok := r.word(at, "URL", example)
			if !ok {
				return false
			}
			u, what, remedy := badURLLike(s, example)
			if what != "" {
				return r.add(at.line, at.path, what, remedy)
			}
			var t Target
			t.locate(u)
			p.Address, p.URL = t.Address, t.URL
			return true
		},
		write: func(w writer, p Page) *yaml.Node {
			if p == (Page{}) {
				return nil
			}
			return address().write(w, Target{Address: p.Address, URL: p.URL})
		},
	}
}
