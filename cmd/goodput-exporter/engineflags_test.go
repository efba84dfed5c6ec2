package main

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/goodput-exporter/goodput-exporter/exporter/config"
	"github.com/goodput-exporter/goodput-exporter/exporter/edges"
	"github.com/goodput-exporter/goodput-exporter/internal/golden"
)

func flagsOutput(t *testing.T, o engineFlagsOptions) (string, error) {
	t.Helper()
	var out bytes.Buffer
	err := runEngineFlags(o, &out)
	return out.String(), err
}

func TestEngineFlagsGolden(t *testing.T) {
	for name, o := range map[string]engineFlagsOptions{
		"fleet-0.32":      {ConfigFile: "fleet", Version: "0.32"},
		"fleet-0.11":      {ConfigFile: "fleet", Version: "v0.11.0"},
		"fleet-0.8.3":     {ConfigFile: "fleet", Version: "0.8.3"},
		"fleet-0.32-json": {ConfigFile: "fleet", Version: "0.32.1rc1", Engine: "batch-0", Format: "json"},
		"fleet-a-qwen":    {ConfigFile: "fleet", Version: "0.32", Engine: "batch-0", Model: "qwen"},
		"easy-0.32":       {ConfigFile: "easy", Version: "0.32"},
		"easy-0.30":       {ConfigFile: "easy", Version: "0.30"},
		"far-0.30":        {ConfigFile: "far", Version: "0.30"},
		"spans-0.32":      {ConfigFile: "spans", Version: "0.32"},
		"spans-0.32-json": {ConfigFile: "spans", Version: "0.32", Format: "json"},
		"spans-0.10.1":    {ConfigFile: "spans", Version: "0.10.1"},
	} {
		t.Run(name, func(t *testing.T) {
			o.ConfigFile = "testdata/engineflags/" + o.ConfigFile + ".yaml"
			got, err := flagsOutput(t, o)
			if err != nil {
				t.Fatal(err)
			}
			golden.Compare(t, "testdata/engineflags/"+name+".txt", []byte(got))
			if strings.Contains(got, "hunter2") {
				t.Error("a secret is shown")
			}
		})
	}
}

func TestEngineFlagsFaults(t *testing.T) {
	const fleet = "testdata/engineflags/fleet.yaml"
	for name, c := range map[string]struct {
		o    engineFlagsOptions
		want string
	}{
		"no such configuration":    {engineFlagsOptions{ConfigFile: "nowhere.yaml", Version: "0.32"}, "nowhere.yaml"},
		"a version of words":       {engineFlagsOptions{ConfigFile: fleet, Version: "newest"}, `--vllm-version="newest" is not a version; write it like 0.32`},
		"no such engine":           {engineFlagsOptions{ConfigFile: fleet, Version: "0.32", Engine: "z"}, "--engine=z is neither in engines.targets nor in engines.files; there are a, batch-0, c"},
		"an engine without an SLO": {engineFlagsOptions{ConfigFile: fleet, Version: "0.32", Engine: "a", Model: "qwen"}, "no objective covers the engine"},
		"a model without an SLO":   {engineFlagsOptions{ConfigFile: "testdata/check/elsewhere.yaml", Version: "0.32", Model: "qwen"}, "no objective covers"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := flagsOutput(t, c.o)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want %q in it; printed %q", err, c.want, got)
			}
		})
	}
}

// TestEngineFlagsInAShell pastes the text into a shell whose vllm prints what it was given.
func TestEngineFlagsInAShell(t *testing.T) {
	shell, err := exec.LookPath("sh")
	if err != nil {
		t.Skip("there is no POSIX shell here")
	}
	text, err := flagsOutput(t, engineFlagsOptions{ConfigFile: "testdata/engineflags/fleet.yaml", Version: "0.32", Engine: "batch-0"})
	if err != nil {
		t.Fatal(err)
	}
	script := `set -eu; MODEL="a model"; vllm() { for a in "$@"; do printf '%s\n' "$a"; done; }` + "\n" + text
	out, err := exec.Command(shell, "-c", script).CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	lines := strings.Split(strings.TrimSuffix(string(out), "\n"), "\n")
	if len(lines) != 4 || lines[0] != "serve" || lines[1] != "a model" || lines[2] != edges.Option {
		t.Fatalf("vllm is called with %q", lines)
	}
	var lists map[string][]float64
	dec := json.NewDecoder(strings.NewReader(lines[3]))
	if err := dec.Decode(&lists); err != nil || len(lists) != 3 {
		t.Errorf("%s: %v", lines[3], err)
	}
}

// TestEngineFlagsAskForSpans where the exporter takes them in.
func TestEngineFlagsAskForSpans(t *testing.T) {
	for name, c := range map[string]struct {
		listen, grpc, version string
		want, wantNot         []string
	}{
		"over HTTP, with the path that vLLM does not add": {
			"127.0.0.1:4318", "127.0.0.1:4317", "0.32",
			[]string{"export OTEL_EXPORTER_OTLP_TRACES_PROTOCOL=http/protobuf\n", "--otlp-traces-endpoint http://127.0.0.1:4318/v1/traces", "export OTEL_RESOURCE_ATTRIBUTES='goodput.engine=a%2C&b'\n"},
			[]string{"INSECURE", "another host"},
		},
		"over gRPC where that is all there is": {
			"", "[::1]:4317", "0.11",
			[]string{"TRACES_PROTOCOL=grpc\n", "export OTEL_EXPORTER_OTLP_TRACES_INSECURE=true\n", "--otlp-traces-endpoint 'http://[::1]:4317'"}, []string{"/v1/traces"},
		},
		"an address of all interfaces is loopback for the engine beside it": {
			":4318", "", "0.32", []string{"http://127.0.0.1:4318/v1/traces", "put the exporter's in place of 127.0.0.1"}, nil,
		},
		"a version without spans": {"127.0.0.1:4318", "", "0.10.1", []string{"sends them since 0.10.2"}, []string{"OTEL_", "endpoint"}},
		"no address":              {"", "", "0.32", nil, []string{"OTEL_", "endpoint", "spans"}},
	} {
		t.Run(name, func(t *testing.T) {
			cfg := config.Default()
			cfg.Spans.Listen, cfg.Spans.GRPCListen = c.listen, c.grpc
			f := engineFlags{Version: c.version, Environment: map[string]string{}}
			f.askForSpans(&cfg, "a,&b")
			f.Notes = append(f.Notes, f.withoutSpans)
			var out strings.Builder
			f.shell(&out)
			for _, w := range c.want {
				if !strings.Contains(out.String(), w) {
					t.Errorf("%q is not in\n%s", w, out.String())
				}
			}
			for _, w := range c.wantNot {
				if strings.Contains(out.String(), w) {
					t.Errorf("%q is in\n%s", w, out.String())
				}
			}
		})
	}
}

// TestEngineFlagsForASecuredReceiver: the engine is told how to show and believe what is needed, and no secret is read.
func TestEngineFlagsForASecuredReceiver(t *testing.T) {
	token := writeFile(t, "token", "s3cret-token")
	for name, c := range map[string]struct {
		listen, grpc  string
		want, wantNot []string
	}{
		"over HTTP": {"0.0.0.0:4318", "", []string{"https://127.0.0.1:4318/v1/traces"}, []string{"INSECURE"}},
		"over gRPC": {"", "0.0.0.0:4317", []string{"https://127.0.0.1:4317", "TRACES_PROTOCOL=grpc"}, []string{"INSECURE"}},
	} {
		t.Run(name, func(t *testing.T) {
			cfg := config.Default()
			cfg.Spans.Listen, cfg.Spans.GRPCListen = c.listen, c.grpc
			cfg.Spans.TLS = config.ServerTLS{CertFile: "tls.crt", KeyFile: "tls.key", ClientCAFile: "ca.crt"}
			cfg.Spans.BearerTokenFile = token
			f := engineFlags{Version: "0.32", Environment: map[string]string{}}
			f.askForSpans(&cfg, "a")
			var out strings.Builder
			f.shell(&out)
			for _, w := range append(c.want,
				`export OTEL_EXPORTER_OTLP_TRACES_HEADERS="authorization=Bearer%20$GOODPUT_SPAN_TOKEN"`, `export OTEL_EXPORTER_OTLP_CERTIFICATE="$GOODPUT_CA_FILE"`,
				`export OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE="$GOODPUT_CERT_FILE"`, `export OTEL_EXPORTER_OTLP_CLIENT_KEY="$GOODPUT_KEY_FILE"`,
			) {
				if !strings.Contains(out.String(), w) {
					t.Errorf("%q is not in\n%s", w, out.String())
				}
			}
			for _, w := range append(c.wantNot, "s3cret") {
				if strings.Contains(out.String(), w) {
					t.Errorf("%q is in\n%s", w, out.String())
				}
			}
		})
	}
}

// TestSpansDocHoldsWhatIsPrinted: the blocks of docs/spans.md are whole, and can be pasted.
func TestSpansDocHoldsWhatIsPrinted(t *testing.T) {
	doc, err := os.ReadFile("../../docs/spans.md")
	if err != nil {
		t.Fatal(err)
	}
	for name, spans := range map[string]string{"HTTP": "{listen: 127.0.0.1:4318}", "gRPC": "{grpc_listen: 127.0.0.1:4317}"} {
		t.Run(name, func(t *testing.T) {
			path := writeFile(t, "c.yaml", "slos: [{name: chat, clauses: {ttft: 250ms}, objective: 0.95}]\nengines: {targets: [{id: a, url: \"http://127.0.0.1:8000/metrics\"}]}\nspans: "+spans+"\n")
			var out strings.Builder
			if err := runEngineFlags(engineFlagsOptions{ConfigFile: path, Version: "0.32", Format: "shell"}, &out); err != nil {
				t.Fatal(err)
			}
			var block strings.Builder
			for line := range strings.Lines(out.String()) {
				if !strings.HasPrefix(line, "#") && !strings.Contains(line, "--custom-histogram-buckets") {
					block.WriteString("    " + line)
				}
			}
			if !strings.Contains(string(doc), "\n\n"+block.String()+"\n") {
				t.Errorf("docs/spans.md lacks\n%s", block.String())
			}
		})
	}
}
