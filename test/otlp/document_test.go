package otlp

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestDocument holds docs/spans.md to what the binary takes and prints: every configuration in it is valid, and the lines for
// engines are those of engine-flags.
func TestDocument(t *testing.T) {
	body, err := os.ReadFile("../../docs/spans.md")
	must(t, err)
	parts := strings.Split(string(body), "```yaml\n")
	n := 0
	for _, part := range parts[1:] {
		block, _, _ := strings.Cut(part, "```")
		if strings.HasPrefix(block, "# ") {
			continue // of other programs
		}
		n++
		t.Run(fmt.Sprintf("configuration %d", n), func(t *testing.T) {
			if out, err := run("check", configured(t, block)); err != nil {
				t.Errorf("%v\n%s\n%s", err, out, block)
			}
		})
	}
	if n < 4 {
		t.Errorf("%d configurations in the document: it had four", n)
	}

	t.Run("engines", func(t *testing.T) {
		for protocol, listen := range map[string]string{"http": "listen: 127.0.0.1:4318", "grpc": "grpc_listen: 127.0.0.1:4317"} {
			out, err := run("engine-flags", configured(t, "spans: {"+listen+"}"), "--engine=a", "--vllm-version=0.32")
			must(t, err)
			for line := range strings.Lines(out) {
				if line = strings.TrimSpace(line); !strings.HasPrefix(line, "#") && !strings.Contains(line, "buckets") && !strings.Contains(string(body), "    "+line+"\n") {
					t.Errorf("%s: the document lacks the line %s", protocol, line)
				}
			}
		}
	})
}

// configured completes a part of a configuration, with files beside it that it may name.
func configured(t *testing.T, part string) string {
	t.Helper()
	dir, ca := t.TempDir(), newAuthority(t)
	for name, from := range map[string]string{"tls.crt": ca.cert, "tls.key": ca.key} {
		content, err := os.ReadFile(from)
		must(t, err)
		must(t, os.WriteFile(filepath.Join(dir, name), content, 0o600))
	}
	must(t, os.WriteFile(filepath.Join(dir, "token"), []byte("a-token"), 0o600))
	for key, otherwise := range map[string]string{
		"spans": "spans: {listen: 127.0.0.1:4318}\n", "engines": "engines: {targets: [{id: a, url: http://127.0.0.1:8000}]}\n",
		"slos": "slos: [{name: chat, objective: 0.9, clauses: {ttft: 250ms, tpot: 25ms}}]\n",
	} {
		if !strings.HasPrefix(part, key+":") {
			part += "\n" + otherwise
		}
	}
	path := filepath.Join(dir, "goodput.yaml")
	must(t, os.WriteFile(path, []byte(part), 0o600))
	return path
}

// run runs a subcommand of the exporter with a configuration and returns what it prints.
func run(subcommand, config string, more ...string) (string, error) {
	out, err := exec.Command(*binary, append([]string{subcommand, "--config.file=" + config}, more...)...).CombinedOutput()
	return string(out), err
}
