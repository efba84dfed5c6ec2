package kubernetes

import (
	"encoding/json"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// FuzzPod: whatever stands in a pod, what is polled is a page of its own address at a path and a port that are allowed, and neither its id
// nor its labels hold anything but names.
func FuzzPod(f *testing.F) {
	f.Add([]byte(engine), true)
	f.Add([]byte(strings.ReplaceAll(engine, `"app": "vllm"`, `"app": "vllm", "ray.io/cluster": "x"`)), false)
	f.Add([]byte(strings.ReplaceAll(engine, `"ownerReferences"`, `"annotations": {"prometheus.io/port": "80", "prometheus.io/path": "/x"}, "ownerReferences"`)), true)
	f.Add([]byte(`{"metadata":{"name":"a","namespace":"b","labels":{"app":"vllm"}},"spec":{"containers":[null]},"status":{"podIP":"::"}}`), true)
	allowed := []string{"/metrics"}
	r := rulesOf(f, Config{Annotations: true, Ports: []string{"http", "8000-8007"}})
	plain := rulesOf(f, Config{Ports: []string{"http", "8000-8007"}})
	f.Fuzz(func(t *testing.T, text []byte, annotations bool) {
		var p pod
		if json.Unmarshal(text, &p) != nil {
			return
		}
		rules := &plain
		if annotations {
			rules = &r
		}
		v, selected := rules.judge(&p, nil)
		if !selected {
			return
		}
		if !slices.Contains(States(), v.state) {
			t.Errorf("state %q", v.state)
		}
		if len(v.why) > 1000 {
			t.Errorf("%d bytes are said", len(v.why))
		}
		for _, x := range v.targets {
			u, err := url.Parse(x.URL)
			if err != nil {
				t.Fatal(err)
			}
			ip, err := netip.ParseAddr(u.Hostname())
			own, _ := netip.ParseAddr(p.Status.IP)
			if err != nil || ip != own.Unmap() || ip.IsLoopback() || ip.IsLinkLocalUnicast() || ip.IsMulticast() || ip.IsUnspecified() {
				t.Errorf("address %q", x.URL)
			}
			if port, err := strconv.Atoi(u.Port()); err != nil || port < 1 || port > 65535 {
				t.Errorf("port of %q", x.URL)
			}
			if !slices.Contains(allowed, u.Path) || u.User != nil || u.RawQuery != "" || u.Scheme != "http" && u.Scheme != "https" {
				t.Errorf("page %q", x.URL)
			}
			if strings.ContainsAny(x.ID, "/ \n") || len(x.ID) > 64+253+7 {
				t.Errorf("id %q", x.ID)
			}
			for name, value := range x.Labels {
				if kind, rest, is := strings.Cut(value, "/"); is && name == "owner" {
					value = kind + rest
				}
				if len(value) > 320 || strings.ContainsFunc(value, func(c rune) bool { return c > 126 || !alnum(byte(c)) && !strings.ContainsRune("-_.", c) }) {
					t.Errorf("label %s is %q", name, value)
				}
			}
		}
		if again, _ := rules.judge(&p, v); again == nil || again.state != v.state && v.state != Starting {
			t.Errorf("at the second look it is another: %+v, %+v", v, again)
		}
		merge([]*verdict{v, v}, 1)
	})
}
