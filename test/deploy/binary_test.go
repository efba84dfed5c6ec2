package deploy

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// argument is what a container's arguments give for a flag, as --flag=value.
func argument(c corev1.Container, flag string) string {
	for _, a := range c.Args {
		if value, is := strings.CutPrefix(a, flag+"="); is {
			return value
		}
	}
	return ""
}

// exporter runs the binary with a deadline and no other environment. It gives what was said on both outputs.
func exporter(env []string, args ...string) (string, error) {
	path, err := filepath.Abs(*binary)
	if err != nil {
		return "", err
	}
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, path, args...)
	cmd.Env = env
	out, err := cmd.CombinedOutput()
	if ctx.Err() != nil {
		err = ctx.Err()
	}
	return string(out), err
}

// misunderstood runs the exporter with the arguments and the environment of a pod, but for a configuration that is nowhere. It
// has to end by saying that and nothing before it: not that a flag is unknown, nor that GOMEMLIMIT is malformed.
func misunderstood(w *world) (found complain) {
	for _, wl := range w.workloads() {
		c := wl.container()
		if len(c.Command) > 0 || len(c.Args) == 0 || c.Args[0] != "serve" {
			found.f("%s: runs %q %q, and not serve of its image", wl, c.Command, c.Args)
			continue
		}
		var env []string
		for _, e := range c.Env {
			if e.Value != "" {
				env = append(env, e.Name+"="+e.Value)
			}
		}
		const nowhere = "/nowhere"
		args := slices.Clone(c.Args)
		for i, a := range args {
			args[i] = strings.Replace(a, "--config.file=", "--config.file="+nowhere, 1)
		}
		file := nowhere + argument(c, "--config.file")
		said, err := exporter(env, args...)
		if err == nil || !strings.Contains(said, file) || !strings.Contains(said, "no such file") {
			found.f("%s: with %q the exporter says %q, %v", wl, c.Args, said, err)
		}
		_, port, _ := net.SplitHostPort(argument(c, "--web.listen-address"))
		var metrics int32
		for _, p := range c.Ports {
			if p.Name == "metrics" {
				metrics = p.ContainerPort
			}
		}
		if port != strconv.Itoa(int(metrics)) {
			found.f("%s: listens at %q, and its port metrics is %d", wl, port, metrics)
		}
	}
	return found
}

// misconfigured has the exporter check the configuration, as serve would read it.
func misconfigured(w *world) (found complain) {
	f, err := w.facts()
	if err != nil {
		return complain{err.Error()}
	}
	dir, err := os.MkdirTemp("", "deploy")
	if err != nil {
		return complain{err.Error()}
	}
	defer os.RemoveAll(dir)
	file := filepath.Join(dir, "goodput.yaml")
	if err := os.WriteFile(file, []byte(f.text), 0o600); err != nil {
		return complain{err.Error()}
	}
	if said, err := exporter([]string{"NODE_NAME=a"}, "check", "--config.file="+file); err != nil {
		found.f("the exporter refuses the configuration: %v\n%s", err, said)
	}
	for name, port := range map[string]string{"otlp-http": f.http, "otlp-grpc": f.grpc} {
		for _, wl := range w.workloads() {
			for _, p := range wl.container().Ports {
				if p.Name == name && port != "" && port != strconv.Itoa(int(p.ContainerPort)) {
					found.f("%s: spans come at port %s, and %s is %d", wl, port, name, p.ContainerPort)
				}
			}
		}
	}
	return found
}

// served starts the exporter once and asks it for a path; what it says stands for all worlds, as the paths do not depend on
// their configurations.
var served = sync.OnceValues(func() (func(path string) (int, error), error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	address := l.Addr().String()
	_ = l.Close()
	dir, err := os.MkdirTemp("", "deploy")
	if err != nil {
		return nil, err
	}
	file := filepath.Join(dir, "goodput.yaml")
	// Nobody is at port 9 of this machine: an engine that is down, of which the exporter has numbers to tell.
	const config = "slos: [{name: a, clauses: {ttft: 500ms}, objective: 0.9}]\nengines: {targets: [{id: a, url: 'http://127.0.0.1:9/metrics'}]}\ngpu: {source: none}\n"
	if err := os.WriteFile(file, []byte(config), 0o600); err != nil {
		return nil, err
	}
	var out bytes.Buffer
	cmd := exec.Command(*binary, "serve", "--config.file="+file, "--web.listen-address="+address)
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	end = func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		_ = os.RemoveAll(dir)
	}
	get := func(path string) (int, error) {
		resp, err := http.Get("http://" + address + path)
		if err != nil {
			return 0, err
		}
		_ = resp.Body.Close()
		return resp.StatusCode, nil
	}
	for range 200 {
		if code, err := get("/-/ready"); err == nil && code == http.StatusOK {
			return get, nil
		}
		time.Sleep(50 * time.Millisecond)
	}
	end()
	return nil, fmt.Errorf("the exporter was not ready in 10 s: %s", out.String())
})

// end stops what served has started.
var end = func() {}

func TestMain(m *testing.M) {
	code := m.Run()
	end()
	os.Exit(code)
}

// notServed finds paths of probes, monitors and annotations that the exporter answers otherwise than with 200.
func notServed(w *world) (found complain) {
	get, err := served()
	if err != nil {
		return complain{err.Error()}
	}
	for _, wl := range w.workloads() {
		paths := map[string]string{}
		for what, p := range probes(wl.container()) {
			if p.HTTPGet != nil {
				paths[what+" probe"] = p.HTTPGet.Path
				if p.HTTPGet.Port.String() != "metrics" {
					found.f("%s: %s probe asks port %s", wl, what, p.HTTPGet.Port.String())
				}
			}
		}
		if path := wl.template.Annotations["prometheus.io/path"]; path != "" {
			paths["annotation"] = path
		}
		for what, path := range paths {
			if code, err := get(path); err != nil || code != http.StatusOK {
				found.f("%s: %s: %s is answered with %d, %v", wl, what, path, code, err)
			}
		}
	}
	return found
}
