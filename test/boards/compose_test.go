package boards

import (
	"bytes"
	"os"
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
// is open to the network. The images themselves are tried in test/image.
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
