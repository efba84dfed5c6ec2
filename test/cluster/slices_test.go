package cluster

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/goodput-exporter/goodput-exporter/collectors/podres/slices"
	"github.com/goodput-exporter/goodput-exporter/internal/kube"
)

const cardA, cardB = "GPU-aaaaaaaa-0000-4000-8000-000000000001", "GPU-bbbbbbbb-0000-4000-8000-000000000002"

// resourceSlice is one as NVIDIA's driver writes it, with one card called gpu-0.
func resourceSlice(version, name, uuid string, generation, count int) object {
	attributes := object{"type": object{"string": "gpu"}, "uuid": object{"string": uuid}, "driverVersion": object{"version": "580.65.6"}}
	device := object{"name": "gpu-0", "attributes": attributes}
	if version == "v1beta1" {
		device = object{"name": "gpu-0", "basic": object{"attributes": attributes}}
	}
	return object{
		"apiVersion": "resource.k8s.io/" + version, "kind": "ResourceSlice", "metadata": object{"name": name},
		"spec": object{
			"driver": "gpu.nvidia.com", "nodeName": node, "devices": []any{device},
			"pool": object{"name": node, "generation": generation, "resourceSliceCount": count},
		},
	}
}

// TestSlices resolves devices of resource claims on servers with each version of the API, with the permission that the component
// dra gives, and without (JON-09).
func TestSlices(t *testing.T) {
	for version, flags := range map[string][]string{
		"v1":      nil,
		"v1beta2": {"--runtime-config=resource.k8s.io/v1=false,resource.k8s.io/v1beta2=true"},
		"v1beta1": {"--runtime-config=resource.k8s.io/v1=false,resource.k8s.io/v1beta1=true"},
	} {
		t.Run(version, func(t *testing.T) {
			c := newCluster(t, flags...)
			c.newAccount()
			c.tokenFile("")
			at := "/apis/resource.k8s.io/" + version + "/resourceslices"
			c.must(c.create(at, resourceSlice(version, "a", cardA, 1, 1)))
			other := resourceSlice(version, "b", cardB, 1, 1)
			other["spec"].(object)["nodeName"] = "node-b"
			c.must(c.create(at, other))

			log := &lines{}
			s, err := slices.New(slices.Config{
				Node: node, Logger: slog.New(slog.NewTextHandler(log, nil)),
				API: kube.Config{Server: c.base, TokenFile: c.dir + "/token", CAFile: c.ca()},
			})
			c.must(err)
			ctx, cancel := context.WithCancel(context.Background())
			done := make(chan error)
			go func() { done <- s.Run(ctx) }()
			t.Cleanup(func() { cancel(); <-done })
			is := func(want string) func() error {
				return func() error {
					if got, ok := s.Resolve(node, "gpu-0"); got != want || ok != (want != "") {
						return fmt.Errorf("%q, %v; %s", got, ok, s.Why())
					}
					return nil
				}
			}

			_, _ = s.Resolve(node, "gpu-0")
			until(t, soon, "the missing permission is told", func() error {
				if why := s.Why(); !strings.Contains(why, "component dra") || !strings.Contains(why, "resourceslices") {
					return fmt.Errorf("%q", why)
				}
				return nil
			})
			c.install(with(t, "base", "dra"), "", "ClusterRole", "ClusterRoleBinding")
			until(t, 90*time.Second, "the device is resolved", is(cardA))
			if n := strings.Count(log.String(), "level=WARN"); n != 1 {
				t.Errorf("the log warns %d times, want once:\n%s", n, log)
			}

			// The driver writes its pool anew: two slices of a newer generation, one after the other.
			c.must(c.create(at, resourceSlice(version, "a2", cardB, 2, 2)))
			until(t, soon, "half a pool is not believed", is(""))
			rest := resourceSlice(version, "a3", cardA, 2, 2)
			delete(rest["spec"].(object), "devices")
			if version == "v1" || version == "v1beta2" { // a slice of what devices share, as it is there since 1.35
				rest["spec"].(object)["sharedCounters"] = []any{object{"name": "gpu-0-counter-set", "counters": object{"memory": object{"value": "80Gi"}}}}
			}
			c.must(c.create(at, rest))
			until(t, soon, "the newer generation counts", is(cardB))
			c.must(c.do("DELETE", at+"/a", nil, nil))
			c.must(c.do("DELETE", at+"/a2", nil, nil))
			until(t, soon, "a pool that has lost a slice is not believed", is(""))
			c.must(c.do("DELETE", at+"/a3", nil, nil))
		})
	}
}
