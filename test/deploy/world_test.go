// Package deploy holds every manifest, every build of kustomize and every render of the chart against the types of the API,
// against one another, and against the exporter's own binary. It is a module of its own so that nothing of Kubernetes or
// Helm gets into the exporter's.
package deploy

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"slices"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/yaml"
)

// Where things are, from this package.
const (
	tree  = "../.."
	base  = tree + "/deploy/kustomize"
	chart = tree + "/deploy/helm/goodput-exporter"
)

var binary = flag.String("exporter", tree+"/bin/goodput-exporter", "the exporter's `binary`")

// world is what one kubectl apply or one helm install puts into a cluster, and what is expected of it that the objects
// themselves do not say.
type world struct {
	expect
	objects []object
}

type expect struct {
	name string
	// root is whether the pods run as user 0, which only the kubelet's socket is a reason for.
	root bool
	// hostPaths are the directories of the node that pods may mount.
	hostPaths []string
	// slices is whether ResourceSlices may be read.
	slices bool
	// instance is the Helm release; "" for kustomize.
	instance string
	// given are objects that are in the cluster already, as kind/namespace/name.
	given []string
	// tolerated is a taint that this one tolerates beside the usual ones.
	tolerated string
	// behind is whether the policy knows that the API server is asked behind its Service.
	behind bool
}

// object is one document, decoded.
type object struct {
	metav1.Object
	kind string
	text []byte
}

func (o object) String() string {
	return fmt.Sprintf("%s %s", o.kind, o.GetName())
}

// all are the objects of one Go type.
func all[T metav1.Object](w *world) []T {
	var found []T
	for _, o := range w.objects {
		if t, is := o.Object.(T); is {
			found = append(found, t)
		}
	}
	return found
}

// named is the object of a Go type with a name, and whether there is one.
func named[T metav1.Object](w *world, namespace, name string) (T, bool) {
	found := all[T](w)
	if i := slices.IndexFunc(found, func(t T) bool { return t.GetNamespace() == namespace && t.GetName() == name }); i >= 0 {
		return found[i], true
	}
	var none T
	return none, false
}

// workload is what makes pods.
type workload struct {
	metav1.Object
	kind     string
	selector *metav1.LabelSelector
	template corev1.PodTemplateSpec
}

func (w workload) String() string { return w.kind + " " + w.GetName() }

func (w *world) workloads() []workload {
	var found []workload
	for _, d := range all[*appsv1.DaemonSet](w) {
		found = append(found, workload{d, "DaemonSet", d.Spec.Selector, d.Spec.Template})
	}
	for _, d := range all[*appsv1.Deployment](w) {
		found = append(found, workload{d, "Deployment", d.Spec.Selector, d.Spec.Template})
	}
	return found
}

// container is the exporter's, or the first.
func (w workload) container() corev1.Container {
	for _, c := range w.template.Spec.Containers {
		if c.Name == "goodput-exporter" {
			return c
		}
	}
	return w.template.Spec.Containers[0]
}

// documents are those of a YAML stream that hold something.
func documents(text []byte) ([][]byte, error) {
	var found [][]byte
	r := yaml.NewDocumentDecoder(io.NopCloser(bytes.NewReader(text)))
	defer r.Close()
	buf := make([]byte, len(text)+1)
	for {
		n, err := r.Read(buf)
		if errors.Is(err, io.EOF) {
			return found, nil
		}
		if err != nil {
			return nil, err
		}
		if says(buf[:n]) {
			found = append(found, bytes.Clone(buf[:n]))
		}
	}
}

// says is whether a document holds more than comments.
func says(text []byte) bool {
	for line := range bytes.Lines(text) {
		if line = bytes.TrimSpace(line); len(line) > 0 && line[0] != '#' && string(line) != "---" {
			return true
		}
	}
	return false
}

// decoded is the world of a YAML stream.
func decoded(e expect, text []byte) (*world, error) {
	docs, err := documents(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", e.name, err)
	}
	w := &world{expect: e}
	for _, d := range docs {
		o, err := decode(d)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", e.name, err)
		}
		w.objects = append(w.objects, o)
	}
	if len(w.objects) == 0 {
		return nil, fmt.Errorf("%s: there is no object in it", e.name)
	}
	return w, nil
}

func read(t testing.TB, path string) []byte {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return text
}
