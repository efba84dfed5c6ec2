package cluster

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

// TestExporter runs the program itself beside a real API server: its configuration, its credentials, and what it publishes of
// engines that come, load, serve, and go.
func TestExporter(t *testing.T) {
	programs(t)
	binary := os.Getenv("GOODPUT_EXPORTER")
	if binary == "" {
		t.Skip("GOODPUT_EXPORTER does not say where the exporter is: run `make cluster`")
	}
	if !alone(t, "10.64.0.1", "10.64.0.2", "10.64.0.3") {
		return
	}
	c := newCluster(t)
	uid := c.newAccount()
	c.allow()
	c.namespace("serving")
	token := c.keep(c.pki.token(home, account, uid, time.Hour))
	world := newEngines(t)
	acme, beta := engine("serving", "acme", "10.64.0.1"), engine("serving", "beta", "10.64.0.2")
	acmeUID := c.add(acme, true)
	stopAcme := world.serve(t, "chat-1", "10.64.0.1:8000")

	// The node's dcgm-exporter is one of its pods.
	c.namespace("gpu-operator")
	c.add(pod{namespace: "gpu-operator", name: "dcgm", node: node, ip: "10.64.0.3", labels: object{"app": "nvidia-dcgm-exporter"}, ports: []int{9400}}, true)
	world.serveGPUs(t, "10.64.0.3:9400")

	port := freePort(t)
	file := filepath.Join(c.dir, "goodput.yaml")
	write(t, file, fmt.Sprintf(`
poll: {interval: 1s, timeout: 800ms}
slos:
  - {name: chat, clauses: {ttft: 500ms, tpot: 50ms}, objective: 0.95}
engines:
  kubernetes:
    api: {server: "https://127.0.0.1:%d", token_file: %s, ca_file: %s}
`, c.port, token, c.ca()))
	log := filepath.Join(c.dir, "exporter.log")
	t.Setenv("NODE_NAME", node)
	exporter := start(t, log, binary, "serve", "--config.file="+file, fmt.Sprintf("--web.listen-address=127.0.0.1:%d", port))
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("the exporter's log:\n%s", tail(log))
		}
	})
	page := func() string { return body(t, fmt.Sprintf("http://127.0.0.1:%d/metrics", port)) }
	shows := func(most time.Duration, patterns ...string) {
		t.Helper()
		until(t, most, fmt.Sprintf("the page has %q", patterns), func() error {
			if exporter.ended() {
				t.Fatalf("the exporter ended:\n%s", tail(log))
			}
			text := page()
			for _, p := range patterns {
				lacks := strings.HasPrefix(p, "!")
				if regexp.MustCompile("(?m)"+strings.TrimPrefix(p, "!")).MatchString(text) == lacks {
					return fmt.Errorf("not %q in:\n%s", p, interesting(text))
				}
			}
			return nil
		})
	}

	shows(15*time.Second, `^goodput_discovery_up\{source="kubernetes"\} 1$`, `^goodput_engine_up\{engine="serving\.acme:8000"\} 1$`,
		`^goodput_engine_info\{.*engine="serving\.acme:8000".*pod_name="acme".*pod_namespace="serving".*pod_uid="`+acmeUID+`"`)

	shows(15*time.Second, `^goodput_gpu_source_up\{source="dcgm-exporter"\} 1$`, `^goodput_gpu_up\{gpu="GPU-`)

	// A pod that loads its model is no engine that is down.
	c.add(beta, false)
	shows(10*time.Second, `^goodput_engines_starting 1$`, `!^goodput_engine_up\{engine="serving\.beta:8000"\}`)
	world.serve(t, "chat-2", "10.64.0.2:8000")
	c.must(c.runs(beta, true))
	shows(10*time.Second, `^goodput_engines_starting 0$`, `^goodput_engine_up\{engine="serving\.beta:8000"\} 1$`)

	// An engine that was there and does not answer is down for as long as its pod is there.
	stopAcme()
	shows(10*time.Second, `^goodput_engine_up\{engine="serving\.acme:8000"\} 0$`)

	// The API server dies: everything goes on as it was, and is said.
	c.server.kill()
	shows(15*time.Second, `^goodput_discovery_up\{source="kubernetes"\} 0$`, `^goodput_engine_up\{engine="serving\.beta:8000"\} 1$`)
	c.startServer()
	c.remove(acme)
	shows(90*time.Second, `^goodput_discovery_up\{source="kubernetes"\} 1$`, `!^goodput_engine_up\{engine="serving\.acme:8000"\}`, `^goodput_engine_up\{engine="serving\.beta:8000"\} 1$`)

	// DSC-03: nothing of a pod that is gone lingers in what is told of engines now; what was counted stays counted.
	c.gone(beta)
	shows(10*time.Second, `!^goodput_engine_(up|info|last_poll_timestamp_seconds)\{.*serving\.beta`, `!^goodput_requests_in_flight\{.*serving\.beta`,
		`^goodput_engine_resets_total\{engine="serving\.beta:8000"\} 0$`)
	if text, err := os.ReadFile(token); err != nil || strings.Contains(page()+tail(log), string(text)) {
		t.Errorf("the token is told, or cannot be read: %v", err)
	}
	onlyReads(t, c)
}

// interesting are the lines of a page that tell of discovery and of engines.
func interesting(page string) string {
	var lines []string
	for line := range strings.SplitSeq(page, "\n") {
		if strings.HasPrefix(line, "goodput_discovery") || strings.HasPrefix(line, "goodput_engine") {
			lines = append(lines, line)
		}
	}
	return strings.Join(lines, "\n")
}
