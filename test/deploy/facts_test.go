package deploy

import (
	"fmt"
	"net"
	"path"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"
)

// settings is the part of goodput.yaml that decides what a pod must be able to do. The exporter itself reads it whole: see
// misconfigured.
type settings struct {
	Engines struct {
		Kubernetes struct {
			Scope       string
			Namespaces  []string
			Selectors   []string
			Ports       []any
			Annotations bool
		}
	}
	GPU struct {
		Source     string
		URL        string
		Kubernetes struct{ Namespaces []string }
		DCGM       struct {
			Address  string
			Embedded bool
		}
	} `json:"gpu"`
	Spans struct {
		Listen     string
		GRPCListen string `json:"grpc_listen"`
	}
}

// facts are what a world's configuration says about its pods.
type facts struct {
	settings
	text       string
	pods       bool     // pods are looked at
	scope      string   // node or cluster
	namespaces []string // where; none is everywhere
	page       bool     // the dcgm-exporter of the node is looked for
	http, grpc string   // ports for spans; "" for none
}

// facts reads the configuration from where the workload's arguments and mounts say that it is.
func (w *world) facts() (*facts, error) {
	for _, wl := range w.workloads() {
		file := argument(wl.container(), "--config.file")
		for _, m := range wl.container().VolumeMounts {
			i := slices.IndexFunc(wl.template.Spec.Volumes, func(v corev1.Volume) bool { return v.Name == m.Name && v.ConfigMap != nil })
			if i < 0 || path.Dir(file) != m.MountPath {
				continue
			}
			c, is := named[*corev1.ConfigMap](w, wl.GetNamespace(), wl.template.Spec.Volumes[i].ConfigMap.Name)
			if !is || c.Data[path.Base(file)] == "" {
				return nil, fmt.Errorf("%s: the ConfigMap at %s has no %s", wl, m.MountPath, path.Base(file))
			}
			return readFacts(c.Data[path.Base(file)])
		}
		return nil, fmt.Errorf("%s: nothing is mounted at %q", wl, path.Dir(file))
	}
	return nil, fmt.Errorf("%s: no workload", w.name)
}

func readFacts(text string) (*facts, error) {
	f := &facts{text: text, scope: "node"}
	if err := yaml.Unmarshal([]byte(text), &f.settings); err != nil {
		return nil, err
	}
	// Present is enough, even with nothing in it.
	var engines struct{ Engines map[string]any }
	if err := yaml.Unmarshal([]byte(text), &engines); err != nil {
		return nil, err
	}
	_, f.pods = engines.Engines["kubernetes"]
	k := f.Engines.Kubernetes
	f.namespaces = slices.Clone(k.Namespaces)
	if k.Scope != "" {
		f.scope = k.Scope
	}
	source := f.GPU.Source
	f.page = f.pods && f.scope == "node" && f.GPU.URL == "" && (source == "" || source == "auto" || source == "dcgm-exporter")
	if f.page && len(f.namespaces) > 0 {
		f.namespaces = append(f.namespaces, f.GPU.Kubernetes.Namespaces...)
		slices.Sort(f.namespaces)
		f.namespaces = slices.Compact(f.namespaces)
	}
	for _, l := range []struct {
		address string
		port    *string
	}{{f.Spans.Listen, &f.http}, {f.Spans.GRPCListen, &f.grpc}} {
		if l.address != "" {
			_, port, err := net.SplitHostPort(l.address)
			if err != nil {
				return nil, err
			}
			*l.port = port
		}
	}
	return f, nil
}
