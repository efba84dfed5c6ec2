package deploy

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestInstallingLeavesDCGMAlone: on many cards only one process may count profiling metrics, so a second DCGM would take them
// from the GPU Operator's (DEP-05). What is installed by default reads the exporter that is there; a DCGM of one's own runs
// only where it is asked for by name, and holds no GPU.
func TestInstallingLeavesDCGMAlone(t *testing.T) {
	for _, w := range worlds(t) {
		f, err := w.facts()
		if err != nil {
			t.Fatal(err)
		}
		asked := strings.HasSuffix(w.name, "embedded")
		if f.GPU.DCGM.Embedded != asked {
			t.Errorf("%s: DCGM embedded: %t", w.name, f.GPU.DCGM.Embedded)
		}
		if (w.name == "kustomize base" || w.name == "Helm default") && (f.GPU.Source != "auto" || !f.page) {
			t.Errorf("%s: GPUs from %q, the page of the node's dcgm-exporter: %t", w.name, f.GPU.Source, f.page)
		}
		for _, wl := range w.workloads() {
			if runtime := wl.template.Spec.RuntimeClassName; runtime != nil && !asked {
				t.Errorf("%s: %s wants the runtime %s", w.name, wl, *runtime)
			}
			for _, c := range append(wl.template.Spec.InitContainers, wl.template.Spec.Containers...) {
				for resource := range c.Resources.Limits {
					if strings.HasPrefix(string(resource), "nvidia.com/") {
						t.Errorf("%s: %s takes a GPU from the engines", w.name, c.Name)
					}
				}
			}
			if wl.kind == "DaemonSet" && f.GPU.Source == "auto" && !f.page {
				t.Errorf("%s: the node's dcgm-exporter is not looked for", w.name)
			}
		}
	}
}

// TestAPortThatIsTakenEndsTheProcess: the pod says which address it could not have, and restarts (DEP-09).
func TestAPortThatIsTakenEndsTheProcess(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	file := filepath.Join(t.TempDir(), "goodput.yaml")
	if err := os.WriteFile(file, []byte("slos: [{name: a, clauses: {ttft: 500ms}, objective: 0.9}]\nengines: {targets: [{id: a, url: 'http://127.0.0.1:9/metrics'}]}\ngpu: {source: none}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	said, err := exporter(nil, "serve", "--config.file="+file, "--web.listen-address="+l.Addr().String())
	if err == nil || !strings.Contains(said, l.Addr().String()) || !strings.Contains(said, "address already in use") {
		t.Errorf("the exporter says %q, %v", said, err)
	}
}
