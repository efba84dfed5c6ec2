package kubernetes

import (
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/goodput-exporter/goodput-exporter/internal/kube"
)

// pod is what is decoded of a pod: nothing of its environment, its arguments, or its volumes.
type pod struct {
	Metadata struct {
		kube.Metadata
		Labels      map[string]string `json:"labels"`
		Annotations annotations       `json:"annotations"`
		Owners      []owner           `json:"ownerReferences"`
		Created     stamp             `json:"creationTimestamp"`
		Deleted     stamp             `json:"deletionTimestamp"`
	} `json:"metadata"`
	Spec struct {
		HostNetwork   bool         `json:"hostNetwork"`
		RestartPolicy string       `json:"restartPolicy"`
		Containers    []*container `json:"containers"` // init containers are none: those that go on running are proxies
	} `json:"spec"`
	Status struct {
		Phase      string            `json:"phase"`
		IP         string            `json:"podIP"` // the first of podIPs
		Started    stamp             `json:"startTime"`
		Conditions []condition       `json:"conditions"`
		Containers []containerStatus `json:"containerStatuses"`
	} `json:"status"`
}

// Meta is for package kube.
func (p pod) Meta() kube.Metadata { return p.Metadata.Metadata }

type owner struct {
	Kind       string `json:"kind"`
	Name       string `json:"name"`
	Controller bool   `json:"controller"`
}

type container struct {
	Name      string `json:"name"`
	Ports     []port `json:"ports"`
	Readiness *probe `json:"readinessProbe"`
	Liveness  *probe `json:"livenessProbe"`
	Startup   *probe `json:"startupProbe"`
}

type port struct {
	Name     string `json:"name"`
	Number   int    `json:"containerPort"`
	Protocol string `json:"protocol"`
}

func (p port) tcp() bool { return p.Protocol == "" || p.Protocol == "TCP" }

type probe struct {
	HTTP *struct {
		Port json.RawMessage `json:"port"` // a number, or the name of a port
	} `json:"httpGet"`
}

type condition struct {
	Type   string `json:"type"`
	Status string `json:"status"`
	Since  stamp  `json:"lastTransitionTime"`
}

type containerStatus struct {
	Name     string `json:"name"`
	Ready    bool   `json:"ready"`
	Restarts int    `json:"restartCount"`
	State    struct {
		Running *struct {
			Started stamp `json:"startedAt"`
		} `json:"running"`
		Terminated *struct {
			Code int `json:"exitCode"`
		} `json:"terminated"`
	} `json:"state"`
}

// annotations are those that are read. A pod may have 256 KiB of others, and a list thousands of pods.
type annotations map[string]string

// UnmarshalJSON drops what is not read.
func (a *annotations) UnmarshalJSON(text []byte) error {
	var all map[string]string
	if err := json.Unmarshal(text, &all); err != nil {
		return err
	}
	*a = nil
	for _, key := range []string{scrapeAnnotation, portAnnotation, pathAnnotation, schemeAnnotation, lwsSize} {
		if v, there := all[key]; there {
			if *a == nil {
				*a = annotations{}
			}
			(*a)[key] = strings.Clone(v)
		}
	}
	return nil
}

// stamp is a time of the API; zero for what is not one.
type stamp struct{ time.Time }

// UnmarshalJSON never fails: no pod is lost for a time.
func (s *stamp) UnmarshalJSON(text []byte) error {
	if s.Time.UnmarshalJSON(text) != nil {
		s.Time = time.Time{}
	}
	return nil
}

// status is that of one container; zero where the kubelet has not told it yet.
func (p *pod) status(name string) containerStatus {
	if i := slices.IndexFunc(p.Status.Containers, func(s containerStatus) bool { return s.Name == name }); i >= 0 {
		return p.Status.Containers[i]
	}
	return containerStatus{}
}

// condition is the one of a type; zero where it is not there.
func (p *pod) condition(kind string) condition {
	if i := slices.IndexFunc(p.Status.Conditions, func(c condition) bool { return c.Type == kind }); i >= 0 {
		return p.Status.Conditions[i]
	}
	return condition{}
}

// probes reports whether the kubelet asks the container over HTTP at a port, which is how one knows that something answers there.
func (c *container) probes(number int) bool {
	return slices.ContainsFunc([]*probe{c.Readiness, c.Liveness, c.Startup}, func(p *probe) bool {
		if p == nil || p.HTTP == nil {
			return false
		}
		var n int
		var name string
		if json.Unmarshal(p.HTTP.Port, &n) == nil {
			return n == number
		}
		return json.Unmarshal(p.HTTP.Port, &name) == nil &&
			slices.ContainsFunc(c.Ports, func(x port) bool { return x.Name == name && x.Number == number })
	})
}
