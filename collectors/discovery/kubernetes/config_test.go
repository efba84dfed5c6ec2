package kubernetes

import (
	"slices"
	"strings"
	"testing"

	"github.com/goodput-exporter/goodput-exporter/internal/kube"
)

func TestConfig(t *testing.T) {
	for name, c := range map[string]struct {
		config Config
		wrong  []string // nil: nothing
	}{
		"a node is enough":             {Config{Node: "node-a"}, nil},
		"a cluster has no node":        {Config{Scope: ScopeCluster}, nil},
		"all there is":                 {Config{Node: "n", Namespaces: []string{"a"}, Selectors: []string{"x=y"}, Ports: []string{"http", "8000", "8000-8007"}, Path: "/m", Scheme: "https", DCGM: DCGM{Selectors: DefaultDCGMSelectors, Port: 9401, Namespaces: []string{"gpu-operator"}}}, nil},
		"no node":                      {Config{}, []string{"the node's name is missing: set node, or NODE_NAME by the downward API (spec.nodeName)"}},
		"a node that would be a query": {Config{Node: "a,metadata.name=b"}, []string{"is not a node's name"}},
		"another scope":                {Config{Scope: "world"}, []string{`scope "world" is neither node nor cluster`}},
		"namespaces that are none":     {Config{Node: "n", Namespaces: []string{"a/b", "A"}}, []string{`namespace "a/b"`, `namespace "A"`}},
		"too many namespaces":          {Config{Node: "n", Namespaces: slices.Repeat([]string{"a"}, maxNamespaces+1)}, []string{"65 namespaces are more than 64"}},
		"selectors that are none":      {Config{Node: "n", Selectors: []string{"a=", "b in c", "d is"}}, []string{`selector "b in c": at position 6`, `selector "d is": at position 3`}},
		"a name that no port has":      {Config{Node: "n", Ports: []string{"HTTP"}}, []string{`port "HTTP" is neither`}},
		"a port beyond the last":       {Config{Node: "n", Ports: []string{"65536"}}, []string{"is not between 1 and 65535"}},
		"a range backwards":            {Config{Node: "n", Ports: []string{"8007-8000"}}, []string{"the smaller first"}},
		"a range of everything":        {Config{Node: "n", Ports: []string{"1-65535"}}, []string{"is more than 64 ports"}},
		"half a range":                 {Config{Node: "n", Ports: []string{"8000-"}}, []string{"is not a range"}},
		"a path that is a query":       {Config{Node: "n", Path: "/metrics?x=1"}, []string{"is not a page's path"}},
		"a path that is an address":    {Config{Node: "n", Path: "metrics"}, []string{"is not a page's path"}},
		"another scheme":               {Config{Node: "n", Scheme: "ftp"}, []string{`scheme "ftp" is neither http nor https`}},
		"a port of dcgm-exporter":      {Config{Node: "n", DCGM: DCGM{Port: -1}}, []string{"port -1 of dcgm-exporter"}},
		"a selector of dcgm-exporter":  {Config{Node: "n", DCGM: DCGM{Selectors: []string{"?"}}}, []string{`selector "?"`}},
		"an API server that is none":   {Config{Node: "n", API: kube.Config{Server: "api"}}, []string{"is not one of a server"}},
		"several mistakes at one time": {Config{Path: "x", Scheme: "y", Ports: []string{"Z"}}, []string{"node's name", "path", "scheme", "port"}},
	} {
		t.Run(name, func(t *testing.T) {
			err := c.config.Check()
			if c.wrong == nil {
				if err != nil {
					t.Error(err)
				}
				return
			}
			for _, want := range c.wrong {
				if err == nil || !strings.Contains(err.Error(), want) {
					t.Errorf("error %v, want %q in it", err, want)
				}
			}
			if err != nil && strings.Count(err.Error(), "kubernetes discovery: ") < 1 {
				t.Errorf("error %v", err)
			}
		})
	}
}

// TestPortsOfAPod: which ports of which containers are asked.
func TestPortsOfAPod(t *testing.T) {
	main := func(ports ...port) []*container { return []*container{{Name: "vllm", Ports: ports}} }
	declared := func(numbers ...int) []*container {
		var all []port
		for _, n := range numbers {
			all = append(all, port{Number: n})
		}
		return main(all...)
	}
	for name, c := range map[string]struct {
		config []string
		pod    []*container
		want   []int
	}{
		"a name":                                  {[]string{"http"}, main(port{Name: "http", Number: 8080}, port{Name: "grpc", Number: 9}), []int{8080}},
		"of two names the first":                  {[]string{"metrics", "http"}, main(port{Name: "http", Number: 1}, port{Name: "metrics", Number: 2}), []int{2}},
		"of each container one name":              {[]string{"http"}, append(main(port{Name: "http", Number: 1}), &container{Name: "b", Ports: []port{{Name: "http", Number: 2}}}), []int{1, 2}},
		"a name and a number are one":             {[]string{"http", "8000"}, main(port{Name: "http", Number: 8000}), []int{8000}},
		"a number that is declared":               {[]string{"8000", "8001"}, declared(8001), []int{8001}},
		"several numbers that are declared":       {[]string{"8000", "8001"}, declared(8001, 8000), []int{8000, 8001}},
		"a number that is not, beside another":    {[]string{"8000"}, declared(9000), nil},
		"of a pod that declares none the first":   {[]string{"http", "8001", "8000"}, declared(), []int{8001}},
		"a range of which one is declared":        {[]string{"8000-8003"}, declared(8000), []int{8000, 8001, 8002, 8003}},
		"a range of which none is":                {[]string{"8000-8003"}, declared(9000), nil},
		"a range of a pod that declares none":     {[]string{"http", "8000-8001"}, declared(), []int{8000, 8001}},
		"names only, of a pod that declares none": {[]string{"http"}, declared(), nil},
		"a pod without containers":                {[]string{"8000"}, nil, nil},
	} {
		t.Run(name, func(t *testing.T) {
			p, err := parsePorts(c.config)
			if err != nil {
				t.Fatal(err)
			}
			var got []int
			for _, at := range p.of(c.pod) {
				got = append(got, at.port)
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("ports %v, want %v", got, c.want)
			}
		})
	}
}
