package deploy

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// kubectl holds a command to the objects of the base and of the chart's render: they have one set of names.
func (c *typed) kubectl(args []string) error {
	for i, a := range args {
		switch {
		case a == "-k" || a == "kustomize":
			return c.builds(args[i+1])
		case a == "-n" && args[i+1] != releaseNamespace:
			return fmt.Errorf("the namespace is %s", releaseNamespace)
		case a == "namespace" && i+1 < len(args) && args[i+1] != releaseNamespace:
			return fmt.Errorf("the namespace is %s", releaseNamespace)
		case strings.HasPrefix(a, "goodput-exporter/"): // a label, of nodes or of engines
			if key := strings.TrimRight(strings.Split(a, "=")[0], "-"); !strings.Contains(string(read(c.t, base+"/base/daemonset.yaml")), "key: "+key+",") {
				return fmt.Errorf("the DaemonSet goes by no label %s", key)
			}
		}
	}
	w, err := c.base()
	if err != nil {
		return err
	}
	line := strings.Join(args, " ")
	for _, found := range regexp.MustCompile(`\b(daemonset|configmap)[/ ]([a-z-]+)`).FindAllStringSubmatch(line, -1) {
		if !slices.ContainsFunc(w.objects, func(o object) bool {
			return strings.EqualFold(o.kind, found[1]) && strings.HasPrefix(o.GetName(), found[2])
		}) {
			return fmt.Errorf("there is no %s %s", found[1], found[2])
		}
	}
	if account := regexp.MustCompile(`(?:--as=system:serviceaccount:|--serviceaccount=)(\S+)`).FindStringSubmatch(line); account != nil {
		namespace, name, _ := strings.Cut(account[1], ":")
		if _, is := named[*corev1.ServiceAccount](w, namespace, name); !is {
			return fmt.Errorf("there is no service account %s", account[1])
		}
	}
	if args[len(args)-1] == "9810" && !slices.ContainsFunc(w.workloads()[0].container().Ports, func(p corev1.ContainerPort) bool {
		return strconv.Itoa(int(p.ContainerPort)) == "9810"
	}) {
		return fmt.Errorf("nothing listens there")
	}
	if at := slices.Index(args, "--"); at >= 0 {
		return c.inside(w, args[at+1:])
	}
	return nil
}

// inside holds a command that runs in the pod to the image and to what is mounted there.
func (c *typed) inside(w *world, args []string) error {
	if !strings.Contains(string(read(c.t, tree+"/Dockerfile")), `ENTRYPOINT ["`+args[0]+`"]`) {
		return fmt.Errorf("the image does not run %s", args[0])
	}
	file := "--config.file=" + argument(w.workloads()[0].container(), "--config.file")
	if !slices.Contains(args, file) {
		return fmt.Errorf("the pod has its configuration at %s", file)
	}
	return c.exporter(args[1:])
}

// builds is whether a directory is a kustomization, or a copy of one.
func (c *typed) builds(dir string) error {
	if from := c.copies[dir]; from != "" {
		dir = from
	}
	under, is := strings.CutPrefix(tree+"/"+dir, base+"/")
	if !is {
		return fmt.Errorf("%s is not in %s", dir, base)
	}
	_, err := kustomized(copied(c.t), build{expect: expect{name: dir}, dir: under})
	return err
}

// base is what deploy/kustomize/base makes.
func (c *typed) base() (*world, error) {
	text, err := kustomized(copied(c.t), build{expect: expect{name: "base"}, dir: "base"})
	if err != nil {
		return nil, err
	}
	return decoded(expect{name: "base"}, text)
}
