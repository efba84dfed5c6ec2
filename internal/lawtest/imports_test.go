// Package lawtest holds the laws of the source tree that no compiler checks: who may import whom, what a pure package
// may not do, and what no file may say. It has tests only and knows nothing of what the program computes.
package lawtest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/goodput-exporter/goodput-exporter"

// row is what one package may import. Anything that is not listed is forbidden, so a new import is a decision that
// somebody makes here, in view of the others.
type row struct {
	ours    []string // packages of this module, relative to it; "*" is all of them
	outside []string // import path prefixes of other modules, and "C" for cgo; none: nothing outside std, not even indirectly
	pure    bool     // takes values and returns values: only the packages of pureStd
	time    bool     // a pure package that needs the types of package time (never its clock)
	seeded  bool     // a pure package that draws random numbers, from a seed that it is given: the same seed, the same values
}

// otlpTypes are the messages of OTLP traces and what encodes them: values, and no wire. The packages of OTLP's services
// are not among them, since they bring gRPC along.
var otlpTypes = []string{
	"go.opentelemetry.io/proto/otlp/trace", "go.opentelemetry.io/proto/otlp/common", "go.opentelemetry.io/proto/otlp/resource", "google.golang.org/protobuf",
}

// allowed is the import table. Imports point from the edge to the core: cmd -> collectors, exporter -> fold -> slo ->
// fact -> hist. Collectors do not know each other, and the core knows neither them nor Prometheus.
var allowed = map[string]row{
	"exporter/hist":    {pure: true},
	"exporter/catalog": {pure: true},
	"exporter/fact":    {pure: true, time: true, ours: []string{"exporter/hist"}},
	"exporter/edges":   {pure: true, ours: []string{"exporter/fact", "exporter/slo"}},
	"exporter/slo":     {pure: true, time: true, ours: []string{"exporter/fact", "exporter/hist"}},
	"exporter/fold":    {pure: true, ours: []string{"exporter/fact", "exporter/hist", "exporter/slo"}},
	"exporter/config":  {ours: []string{"exporter/fact", "exporter/slo"}, outside: []string{"gopkg.in/yaml.v3"}},
	"exporter/sim":     {pure: true, seeded: true, ours: []string{"exporter/fact", "exporter/hist"}, outside: otlpTypes},
	"exporter/web":     {ours: []string{"exporter/catalog", "exporter/fact", "exporter/fold", "exporter/slo"}},
	"exporter": {
		ours:    []string{"exporter/catalog", "exporter/fact", "exporter/fold", "exporter/slo", "exporter/web"},
		outside: []string{"github.com/prometheus/client_golang", "github.com/prometheus/client_model", "google.golang.org/protobuf"},
	},

	"dashboards": {ours: []string{"exporter/catalog"}, outside: []string{"github.com/grafana/grafana-foundation-sdk"}},

	"alerts": {pure: true, ours: []string{"exporter/catalog", "exporter/slo"}, outside: []string{"gopkg.in/yaml.v3"}},

	"collectors/discovery": {ours: []string{"exporter/fact", "exporter/hist"}},
	"collectors/discovery/file": {
		ours: []string{"collectors/discovery", "exporter/fact", "exporter/hist"}, outside: []string{"github.com/fsnotify/fsnotify"},
	},
	"collectors/discovery/kubernetes": {ours: []string{"collectors/discovery", "exporter/fact", "exporter/hist", "internal/kube"}},
	"collectors/engine":               {ours: []string{"exporter/fact", "exporter/hist", "internal/accessfile"}},
	"collectors/gpu":                  {ours: []string{"collectors/gpu/frame", "exporter/fact", "exporter/hist", "internal/accessfile"}},
	"collectors/gpu/frame":            {},
	// The kubelet speaks gRPC; its messages are read as bytes.
	"collectors/podres": {ours: []string{"exporter/fact", "exporter/hist"}, outside: []string{
		"google.golang.org/grpc", "google.golang.org/protobuf", "google.golang.org/genproto/googleapis/rpc",
	}},
	"collectors/podres/slices": {ours: []string{"internal/kube"}},
	"collectors/recording":     {ours: []string{"exporter/fact", "exporter/hist"}},
	"collectors/spans": {ours: []string{"exporter/fact", "exporter/hist", "internal/accessfile"}, outside: []string{
		"google.golang.org/grpc", "google.golang.org/protobuf", "google.golang.org/genproto/googleapis/rpc", "go.opentelemetry.io/proto/otlp",
	}},

	"cmd/goodput-exporter": {ours: []string{"*"}, outside: []string{
		"github.com/alecthomas/kingpin", "github.com/prometheus/client_golang", "github.com/prometheus/client_model", "github.com/prometheus/common",
		"github.com/prometheus/exporter-toolkit", "golang.org/x/term",
	}},
	"cmd/goodput-dcgm": {ours: []string{"collectors/gpu/frame"}, outside: []string{
		"C", "github.com/NVIDIA/go-dcgm", "github.com/alecthomas/kingpin", "github.com/prometheus/common",
	}},
	"internal/accessfile":    {},
	"internal/dcgmdouble":    {},
	"internal/golden":        {},
	"internal/jsonlines":     {},
	"internal/kube":          {ours: []string{"internal/accessfile"}},
	"internal/kube/kubetest": {},
	"internal/lawtest":       {},
	"test/boards":            {},
	"test/image":             {},
	"test/live":              {ours: []string{"test/live/load", "test/live/otlp"}},
	"test/live/load":         {},
	"test/live/otlp":         {},
	"test/simfit":            {ours: []string{"exporter/sim"}, outside: otlpTypes},
}

// pureStd is the part of the standard library that computes and nothing else. io is there for its interfaces.
var pureStd = []string{
	"bytes", "cmp", "container/heap", "errors", "fmt", "io", "iter", "maps", "math", "math/big", "math/bits", "net/netip", "regexp",
	"slices", "sort", "strconv", "strings", "unicode", "unicode/utf8",
}

// banned modules are in no binary of ours, by whatever way they would get in, but for what lifted says.
var banned = map[string]string{
	"k8s.io/":                          "pods are listed and watched over net/http: docs/adr/0004-no-client-go.md",
	"sigs.k8s.io/":                     "pods are listed and watched over net/http: docs/adr/0004-no-client-go.md",
	"github.com/NVIDIA/":               "DCGM can end or hang its process, so it lives in a child: docs/adr/0005-dcgm-in-a-child-process.md",
	"github.com/prometheus/prometheus": "the server's modules are for tests; the exporter speaks the exposition format alone",
}

// lifted is the one package for which a ban does not hold.
var lifted = map[string]string{"github.com/NVIDIA/": "cmd/goodput-dcgm"}

// pkg is what `go list` says about one package.
type pkg struct {
	ImportPath string
	Dir        string
	Standard   bool
	DepOnly    bool
	GoFiles    []string
	Imports    []string // direct, without those of tests
	Deps       []string // direct and indirect
}

// list asks the go command for the packages of this module and everything under them.
func list(t *testing.T) []pkg {
	t.Helper()
	cmd := exec.Command("go", "list", "-deps", "-json=ImportPath,Dir,Standard,DepOnly,GoFiles,Imports,Deps", "./...")
	cmd.Dir = root(t)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list in %s: %v\n%s", cmd.Dir, err, stderr.String())
	}
	var pkgs []pkg
	for dec := json.NewDecoder(bytes.NewReader(out)); ; {
		var p pkg
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			return pkgs
		} else if err != nil {
			t.Fatalf("reading the output of go list: %v", err)
		}
		pkgs = append(pkgs, p)
	}
}

// root is the directory of go.mod: tests run in the directory of their package.
func root(t *testing.T) string {
	t.Helper()
	dir, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// own is a package's path inside the module, and false for a package that is not ours.
func own(importPath string) (string, bool) {
	return strings.CutPrefix(importPath, module+"/")
}

// offences lists every import that the table does not allow.
func offences(pkgs []pkg, table map[string]row) []string {
	std := map[string]bool{}
	for _, p := range pkgs {
		std[p.ImportPath] = p.Standard
	}
	var found []string
	for _, p := range pkgs {
		name, ours := own(p.ImportPath)
		if !ours {
			continue
		}
		r, known := table[name]
		if !known {
			found = append(found, fmt.Sprintf("%s is not in the import table: add a row to allowed in internal/lawtest that says what it may import", name))
			continue
		}
		for _, imp := range p.Imports {
			if why := judge(name, r, imp, std[imp]); why != "" {
				found = append(found, fmt.Sprintf("%s imports %s: %s", name, strings.TrimPrefix(imp, module+"/"), why))
			}
		}
		for _, dep := range p.Deps {
			if why := judgeIndirect(name, r, dep, std[dep]); why != "" && !slices.Contains(p.Imports, dep) {
				found = append(found, fmt.Sprintf("%s depends on %s: %s", name, dep, why))
			}
		}
	}
	return found
}

// judge says which law one direct import breaks, and what to do; "" when it breaks none.
func judge(from string, r row, imp string, std bool) string {
	if to, ours := own(imp); ours {
		if slices.Contains(r.ours, to) || slices.Contains(r.ours, "*") {
			return ""
		}
		switch {
		case strings.HasPrefix(from, "collectors/") && strings.HasPrefix(to, "collectors/"):
			return "collectors do not know each other; what both need belongs into exporter/fact, what joins them into cmd"
		case r.pure && (to == "exporter" || strings.HasPrefix(to, "collectors/") || strings.HasPrefix(to, "cmd/")):
			return "imports point from the edge to the core; pass the value in, or let cmd wire it"
		}
		return fmt.Sprintf("its row allows %v of ours; take the value as an argument, or argue for a new entry in the table", r.ours)
	}
	if std {
		if !r.pure || slices.Contains(pureStd, imp) || (r.time && imp == "time") || (r.seeded && imp == "math/rand/v2") {
			return ""
		}
		if imp == "math/rand/v2" {
			return "what a pure package draws at random must come from a seed that it is given: set seeded in its row"
		}
		if imp == "time" {
			return "times in the core are unix seconds and durations are seconds, as float64: docs/adr/0006-unix-seconds-in-the-core.md"
		}
		return "a pure package takes values and returns values; do this at the edge (collectors, exporter, cmd) and pass the result in"
	}
	if why := ban(from, imp); why != "" {
		return why
	}
	if r.allows(imp) {
		return ""
	}
	return fmt.Sprintf("its row allows %v outside the standard library; see docs/dependencies.md", r.outside)
}

// allows reports whether a package of another module is one that the row names, or beneath one.
func (r row) allows(imp string) bool {
	return slices.ContainsFunc(r.outside, func(prefix string) bool { return imp == prefix || strings.HasPrefix(imp, prefix+"/") })
}

// judgeIndirect is the part of judge that also holds for what an import brings along.
func judgeIndirect(from string, r row, dep string, std bool) string {
	if _, ours := own(dep); ours || std {
		return ""
	}
	if why := ban(from, dep); why != "" {
		return why
	}
	if len(r.outside) == 0 {
		return "nothing outside the standard library may come along with this package"
	}
	if r.pure && !r.allows(dep) {
		return fmt.Sprintf("with a pure package comes only what its row allows: %v", r.outside)
	}
	return ""
}

func ban(from, imp string) string {
	for prefix, why := range banned {
		if lifted[prefix] != from && strings.HasPrefix(imp+"/", strings.TrimSuffix(prefix, "/")+"/") {
			return why
		}
	}
	return ""
}

func TestImportsObeyTheTable(t *testing.T) {
	pkgs := list(t)
	for _, o := range offences(pkgs, allowed) {
		t.Error(o)
	}
	have := map[string]bool{}
	for _, p := range pkgs {
		if name, ours := own(p.ImportPath); ours {
			have[name] = true
		}
	}
	for name := range allowed {
		if !have[name] {
			t.Errorf("the import table has a row for %s, which does not exist: remove the row", name)
		}
	}
}

// TestTableBites feeds the checker one broken law at a time, so that silence above means obedience.
func TestTableBites(t *testing.T) {
	ours := func(s string) string { return module + "/" + s }
	std := []pkg{{ImportPath: "net/http", Standard: true}, {ImportPath: "time", Standard: true}, {ImportPath: "fmt", Standard: true}, {ImportPath: "math/rand", Standard: true}, {ImportPath: "math/rand/v2", Standard: true}}
	for name, c := range map[string]struct {
		from pkg
		want string // part of the one complaint; "" when there must be none
	}{
		"a pure package may format":                {pkg{ImportPath: ours("exporter/hist"), Imports: []string{"fmt"}}, ""},
		"a pure package may not fetch":             {pkg{ImportPath: ours("exporter/fold"), Imports: []string{"net/http"}}, "a pure package takes values"},
		"the reducer has no clock, not even types": {pkg{ImportPath: ours("exporter/fold"), Imports: []string{"time"}}, "unix seconds"},
		"an objective may name a duration":         {pkg{ImportPath: ours("exporter/slo"), Imports: []string{"time"}}, ""},
		"the simulator may draw from a seed":       {pkg{ImportPath: ours("exporter/sim"), Imports: []string{"math/rand/v2"}}, ""},
		"the simulator may not use the old source": {pkg{ImportPath: ours("exporter/sim"), Imports: []string{"math/rand"}}, "a pure package takes values"},
		"the reducer draws nothing":                {pkg{ImportPath: ours("exporter/fold"), Imports: []string{"math/rand/v2"}}, "set seeded"},
		"a collector may not import another":       {pkg{ImportPath: ours("collectors/engine"), Imports: []string{ours("collectors/discovery")}}, "collectors do not know each other"},
		"the core may not import the edge":         {pkg{ImportPath: ours("exporter/fold"), Imports: []string{ours("collectors/engine")}}, "from the edge to the core"},
		"a layer may not be skipped":               {pkg{ImportPath: ours("exporter/config"), Imports: []string{ours("exporter/fold")}}, "its row allows"},
		"the core may not import a client library": {pkg{ImportPath: ours("exporter/catalog"), Imports: []string{"github.com/prometheus/client_golang/prometheus"}}, "outside the standard library"},
		"nothing comes along with a pure package":  {pkg{ImportPath: ours("exporter/slo"), Deps: []string{"example.com/fast"}}, "may come along"},
		"the simulator may write OTLP":             {pkg{ImportPath: ours("exporter/sim"), Imports: []string{"go.opentelemetry.io/proto/otlp/trace/v1"}, Deps: []string{"google.golang.org/protobuf/proto"}}, ""},
		"the simulator may not send it":            {pkg{ImportPath: ours("exporter/sim"), Imports: []string{"go.opentelemetry.io/proto/otlp/collector/trace/v1"}}, "outside the standard library"},
		"no wire comes along with a pure package":  {pkg{ImportPath: ours("exporter/sim"), Deps: []string{"google.golang.org/grpc"}}, "with a pure package comes only"},
		"client-go is banned in cmd too":           {pkg{ImportPath: ours("cmd/goodput-exporter"), Imports: []string{"k8s.io/client-go/rest"}}, "0004"},
		"DCGM is banned in the main binary":        {pkg{ImportPath: ours("cmd/goodput-exporter"), Deps: []string{"github.com/NVIDIA/go-dcgm/pkg/dcgm"}}, "0005"},
		"DCGM is banned in a collector":            {pkg{ImportPath: ours("exporter"), Imports: []string{"github.com/NVIDIA/go-dcgm/pkg/dcgm"}}, "0005"},
		"the child may read DCGM":                  {pkg{ImportPath: ours("cmd/goodput-dcgm"), Imports: []string{"github.com/NVIDIA/go-dcgm/pkg/dcgm"}}, ""},
		"the child may not use NVML":               {pkg{ImportPath: ours("cmd/goodput-dcgm"), Imports: []string{"github.com/NVIDIA/go-nvml/pkg/nvml"}}, "outside the standard library"},
		"nobody else may use cgo":                  {pkg{ImportPath: ours("cmd/goodput-exporter"), Imports: []string{"C"}}, "outside the standard library"},
		"the child knows no collector":             {pkg{ImportPath: ours("cmd/goodput-dcgm"), Imports: []string{ours("collectors/engine")}}, "its row allows"},
		"client-go is banned at second hand":       {pkg{ImportPath: ours("exporter"), Deps: []string{"k8s.io/client-go/rest"}}, "0004"},
		"a package needs a row":                    {pkg{ImportPath: ours("exporter/util")}, "not in the import table"},
		"cmd may import everything of ours":        {pkg{ImportPath: ours("cmd/goodput-exporter"), Imports: []string{ours("collectors/engine")}}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			got := offences(append([]pkg{c.from}, std...), allowed)
			switch {
			case c.want == "" && len(got) > 0:
				t.Errorf("unexpected: %q", got)
			case c.want != "" && (len(got) != 1 || !strings.Contains(got[0], c.want)):
				t.Errorf("got %q, want one complaint with %q", got, c.want)
			}
		})
	}
}
