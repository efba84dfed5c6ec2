package otlp

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// TestPythonExporters sends an engine's spans by what vLLM sends them with, set up by the environment that docs/spans.md
// names.
func TestPythonExporters(t *testing.T) {
	python := pythonWithOTLP(t)
	ca := newAuthority(t)
	token := filepath.Join(t.TempDir(), "token")
	must(t, os.WriteFile(token, []byte("a-token"), 0o600))
	safe := []string{fmt.Sprintf("tls_config: {cert_file: %q, key_file: %q}", ca.cert, ca.key), fmt.Sprintf("bearer_token_file: %q", token)}
	for name, c := range map[string]struct {
		protocol string
		spans    []string
		environ  []string
		lossy    bool
	}{
		"http/protobuf":                     {"http/protobuf", nil, nil, false},
		"grpc":                              {"grpc", nil, []string{"OTEL_EXPORTER_OTLP_TRACES_INSECURE=true"}, false},
		"http/protobuf, gzip, a token, TLS": {"http/protobuf", safe, []string{"OTEL_EXPORTER_OTLP_TRACES_COMPRESSION=gzip", "OTEL_EXPORTER_OTLP_TRACES_HEADERS=authorization=Bearer%20a-token", "OTEL_EXPORTER_OTLP_TRACES_CERTIFICATE=" + ca.ca}, false},
		"grpc, gzip, a token, TLS":          {"grpc", safe, []string{"OTEL_EXPORTER_OTLP_TRACES_COMPRESSION=gzip", "OTEL_EXPORTER_OTLP_TRACES_HEADERS=authorization=Bearer%20a-token", "OTEL_EXPORTER_OTLP_TRACES_CERTIFICATE=" + ca.ca}, false},
		"callers that sample":               {"http/protobuf", nil, nil, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := newEngine(t)
			to := serve(t, settings{engines: map[string]*engine{"a": e}, spans: c.spans})
			load := calls(13, 600, 12*time.Second)
			sender := startPython(t, python, to, c.protocol, len(c.spans) > 0, c.environ)
			var asked int
			e.serve(load, func(one *call, start time.Time) {
				sender.Lock()
				defer sender.Unlock()
				asked++
				sender.report(t, one, start, !c.lossy || asked%3 == 0)
			})
			sender.close(t)
			if c.lossy {
				partly(t, to.committed(t, "a", len(load)), "a", load)
				return
			}
			allThere(t, to, strings.TrimSuffix(c.protocol, "/protobuf"), "engine", load)
		})
	}
}

// pythonWithOTLP is an interpreter that has OpenTelemetry's exporters. They are installed into a cache once.
func pythonWithOTLP(t *testing.T) string {
	t.Helper()
	cache, err := os.UserCacheDir()
	must(t, err)
	dir := filepath.Join(cache, "goodput-exporter", "otlp-python-1.45.2")
	python := filepath.Join(dir, "bin", "python")
	if exec.Command(python, "-c", "import opentelemetry.exporter.otlp.proto.grpc, opentelemetry.exporter.otlp.proto.http").Run() == nil {
		return python
	}
	out, err := exec.Command("python3", "-m", "venv", dir).CombinedOutput()
	if err == nil {
		out, err = exec.Command(python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--requirement", "requirements.txt").CombinedOutput()
	}
	if err == nil {
		return python
	}
	reason := fmt.Sprintf("OpenTelemetry's exporters for Python could not be installed: %v\n%s", err, out)
	if os.Getenv("CI") != "" || os.Getenv("GOODPUT_REQUIRE_PYTHON") != "" {
		t.Fatal(reason)
	}
	t.Skip(reason + "Let this machine reach a Python package index, or set GOODPUT_REQUIRE_PYTHON to fail instead.")
	return ""
}

// python is a process that sends what it is told.
type python struct {
	sync.Mutex
	cmd   *exec.Cmd
	lines *json.Encoder
	end   func() error
	log   *strings.Builder
}

// startPython starts a sender with the environment of an engine.
func startPython(t *testing.T, interpreter string, to *serving, protocol string, safe bool, environ []string) *python {
	t.Helper()
	scheme := "http"
	if safe {
		scheme = "https"
	}
	endpoint := scheme + "://" + to.grpc
	if protocol != "grpc" {
		endpoint = scheme + "://" + to.http + "/v1/traces"
	}
	p := &python{cmd: exec.Command(interpreter, "send.py"), log: &strings.Builder{}}
	p.cmd.Stdout, p.cmd.Stderr = p.log, p.log
	// Python's HTTP library would put these in the place of the certificate that the exporter is given.
	environ = append(environ, "REQUESTS_CA_BUNDLE=", "CURL_CA_BUNDLE=")
	p.cmd.Env = append(os.Environ(), append([]string{
		"OTEL_EXPORTER_OTLP_TRACES_PROTOCOL=" + protocol, "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT=" + endpoint,
		"OTEL_SERVICE_NAME=vllm", "OTEL_RESOURCE_ATTRIBUTES=goodput.engine=a", "OTEL_BSP_SCHEDULE_DELAY=500",
	}, environ...)...)
	input, err := p.cmd.StdinPipe()
	must(t, err)
	p.lines, p.end = json.NewEncoder(input), input.Close
	must(t, p.cmd.Start())
	return p
}

// report sends the span of a sequence; sampled is the flag of the caller's traceparent.
func (p *python) report(t *testing.T, c *call, start time.Time, sampled bool) {
	attributes := map[string]any{}
	for _, a := range c.attributes() {
		attributes[string(a.Key)] = a.Value.AsInterface()
	}
	if err := p.lines.Encode(map[string]any{"start": unix(start), "end": unix(start) + c.e2e() + 0.001, "sampled": sampled, "attributes": attributes}); err != nil {
		t.Errorf("%v; the sender said:\n%s", err, p.log)
	}
}

// close sends what is left and waits for the process to end.
func (p *python) close(t *testing.T) {
	t.Helper()
	must(t, p.end())
	if err := p.cmd.Wait(); err != nil || p.log.Len() > 0 {
		t.Errorf("the sender ended (%v) and said:\n%s", err, p.log)
	}
}
