package boards

import (
	"bytes"
	"debug/elf"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"gopkg.in/yaml.v3"

	"github.com/goodput-exporter/goodput-exporter/alerts"
)

// compose is the part of Docker Compose's format that is used: a key that is not here is a mistake, or belongs here.
type compose struct {
	Name     string
	Services map[string]struct {
		Image string
		Build struct{ Context, Dockerfile, Target string }

		Command     []string
		Environment map[string]string
		Volumes     []string
		Ports       []string
		DependsOn   []string `yaml:"depends_on"`
		ReadOnly    bool     `yaml:"read_only"`
		CapDrop     []string `yaml:"cap_drop"`
		SecurityOpt []string `yaml:"security_opt"`
		Restart     string
	}
	Volumes map[string]any
}

// strict reads a YAML file and refuses keys that the value has not.
func strict(t *testing.T, into any, elements ...string) {
	t.Helper()
	file := filepath.Join(append([]string{root(t)}, elements...)...)
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	d := yaml.NewDecoder(bytes.NewReader(text))
	d.KnownFields(true)
	if err := d.Decode(into); err != nil {
		t.Fatalf("%s: %v", file, err)
	}
}

var pinned = regexp.MustCompile(`^[a-z/]+:v?\d+\.\d+(\.\d+)?(-[a-z]+)?$`)

// TestCompose holds the compose file to what can be known without Docker: that files exist, images are pinned, nothing
// is open to the network, and the demo's image runs as nobody.
func TestCompose(t *testing.T) {
	var c compose
	strict(t, &c, "deploy/compose/compose.yaml")
	here := filepath.Join(root(t), "deploy/compose")
	for name, s := range c.Services {
		switch {
		case s.Image != "" && !pinned.MatchString(s.Image):
			t.Errorf("%s: the image %s is not pinned to a version", name, s.Image)
		case s.Image == "":
			if _, err := os.Stat(filepath.Join(here, s.Build.Context, s.Build.Dockerfile)); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
		for _, v := range s.Volumes {
			source, _, _ := strings.Cut(v, ":")
			if _, named := c.Volumes[source]; named {
				continue
			}
			if _, err := os.Stat(filepath.Join(here, source)); err != nil {
				t.Errorf("%s: %v", name, err)
			}
			if !strings.HasSuffix(v, ":ro") {
				t.Errorf("%s: %s is not mounted read-only", name, v)
			}
		}
		for _, p := range s.Ports {
			if !strings.HasPrefix(p, "127.0.0.1:") {
				t.Errorf("%s: port %s is open to the network", name, p)
			}
		}
		for _, d := range s.DependsOn {
			if c.Services[d].Image == "" && c.Services[d].Build.Context == "" {
				t.Errorf("%s depends on %s, which is not there", name, d)
			}
		}
		if !slices.Equal(s.CapDrop, []string{"ALL"}) {
			t.Errorf("%s keeps capabilities", name)
		}
	}
	if !c.Services["exporter"].ReadOnly {
		t.Error("the exporter's file system is writable")
	}
}

// TestDockerfile holds the images to pinned bases and to a user who is nobody, and runs the commands that build the binaries
// of them: a static one that runs on nothing, and the child that reads DCGM.
func TestDockerfile(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(root(t), "Dockerfile"))
	if err != nil {
		t.Fatal(err)
	}
	stages := map[string]string{}
	last := ""
	for _, from := range regexp.MustCompile(`(?m)^FROM (\S+) AS (\S+)`).FindAllStringSubmatch(string(text), -1) {
		if last = from[2]; stages[from[1]] == "" && from[1] != "scratch" && !pinned.MatchString(from[1]) {
			t.Errorf("stage %s is from %s, which is not pinned", last, from[1])
		}
		stages[last] = from[1]
	}
	if last != "exporter" || stages[last] != "scratch" || stages["dcgm"] == "" {
		t.Errorf("stages %v, the last %s", stages, last)
	}
	for stage, body := range map[string]string{"exporter": after(string(text), " AS exporter\n"), "dcgm": after(string(text), " AS dcgm\n")} {
		if !strings.Contains(body, "\nUSER 65532:65532\n") {
			t.Errorf("%s does not run as nobody", stage)
		}
	}
	out := t.TempDir()
	builds := regexp.MustCompile(`(?m)^RUN (CGO_ENABLED=\d) (go build .*) -o (/\S+) (\S+)$`).FindAllStringSubmatch(string(text), -1)
	if len(builds) != 2 {
		t.Fatalf("%d binaries are built", len(builds))
	}
	for _, b := range builds {
		binary := filepath.Join(out, b[3])
		cmd := exec.Command("sh", "-c", b[2]+" -o "+binary+" "+b[4])
		cmd.Dir, cmd.Env = root(t), append(os.Environ(), b[1], "STAMP=-s -w -X github.com/prometheus/common/version.Version=1.2.3")
		if text, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%s: %v\n%s", b[0], err, text)
		}
		if said := string(command(t, binary, "--version")); !strings.Contains(said, "1.2.3") {
			t.Errorf("%s: version %s", binary, said)
		}
	}
	f, err := elf.Open(filepath.Join(out, "goodput-exporter"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if libraries, err := f.ImportedLibraries(); err != nil || len(libraries) > 0 {
		t.Errorf("not static: %v, %v", libraries, err)
	}
	ignore, err := os.ReadFile(filepath.Join(root(t), ".dockerignore"))
	if err != nil {
		t.Fatal(err)
	}
	const module = "github.com/goodput-exporter/goodput-exporter/"
	for dependency := range strings.FieldsSeq(string(command(t, "go", "list", "-deps", "./cmd/goodput-exporter", "./cmd/goodput-dcgm"))) {
		if own, is := strings.CutPrefix(dependency, module); is {
			top, _, _ := strings.Cut(own, "/")
			if !strings.Contains(string(ignore), "\n!"+top+"\n") {
				t.Errorf("%s is kept out of the build by .dockerignore", own)
			}
		}
	}
}

// after is what follows a marker, up to the next stage.
func after(text, marker string) string {
	_, body, _ := strings.Cut(text, marker)
	body, _, _ = strings.Cut(body, "\nFROM ")
	return "\n" + body + "\n"
}

// TestProvisioning follows the paths: what Grafana is told to read is what is mounted, and the rules' job is scraped.
func TestProvisioning(t *testing.T) {
	var c compose
	strict(t, &c, "deploy/compose/compose.yaml")
	var sources struct {
		APIVersion  int `yaml:"apiVersion"`
		Datasources []struct {
			Name, UID, Type, Access, URL string
			IsDefault                    bool           `yaml:"isDefault"`
			JSONData                     map[string]any `yaml:"jsonData"`
		}
	}
	strict(t, &sources, "deploy/compose/grafana/provisioning/datasources/prometheus.yaml")
	if len(sources.Datasources) != 1 || sources.Datasources[0].Type != "prometheus" || sources.Datasources[0].URL != "http://prometheus:9090" {
		t.Errorf("data sources: %+v", sources.Datasources)
	}
	var providers struct {
		APIVersion int `yaml:"apiVersion"`
		Providers  []struct {
			Name, Folder, Type string
			AllowUIUpdates     bool `yaml:"allowUiUpdates"`
			Options            struct{ Path string }
		}
	}
	strict(t, &providers, "deploy/compose/grafana/provisioning/dashboards/goodput.yaml")
	mounts := map[string]string{} // inside the container -> in the tree
	for _, s := range []string{"grafana", "prometheus"} {
		for _, v := range c.Services[s].Volumes {
			parts := strings.Split(v, ":")
			mounts[parts[1]] = filepath.Join(root(t), "deploy/compose", parts[0])
		}
	}
	for _, file := range []string{path.Join(providers.Providers[0].Options.Path, "engine.json"), c.Services["grafana"].Environment["GF_DASHBOARDS_DEFAULT_HOME_DASHBOARD_PATH"]} {
		if _, err := os.Stat(filepath.Join(mounts[path.Dir(file)], path.Base(file))); err != nil || mounts[path.Dir(file)] == "" {
			t.Errorf("Grafana is to read %s, which is not mounted: %v", file, err)
		}
	}
	var scrapes struct {
		Global        map[string]string
		RuleFiles     []string `yaml:"rule_files"`
		ScrapeConfigs []struct {
			JobName       string                       `yaml:"job_name"`
			StaticConfigs []struct{ Targets []string } `yaml:"static_configs"`
		} `yaml:"scrape_configs"`
	}
	strict(t, &scrapes, "deploy/compose/prometheus.yaml")
	if s := scrapes.ScrapeConfigs; len(s) != 1 || s[0].JobName != alerts.DefaultJob || !slices.Equal(s[0].StaticConfigs[0].Targets, []string{"exporter:9810"}) {
		t.Errorf("scrapes %+v; the rules are about the job %s", s, alerts.DefaultJob)
	}
	if matched, _ := path.Match(scrapes.RuleFiles[0], "/etc/prometheus/rules/goodput.rules.yml"); !matched || mounts["/etc/prometheus/rules/goodput.rules.yml"] == "" {
		t.Errorf("rule files %v are not what is mounted: %v", scrapes.RuleFiles, mounts)
	}
	command(t, tool(t, "promtool"), "check", "config", "--syntax-only", "deploy/compose/prometheus.yaml")
}
