package deploy

import (
	"fmt"
	"os"
	"os/exec"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"

	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/strvals"
	corev1 "k8s.io/api/core/v1"
)

// guide is docs/install.md taken apart.
type guide struct {
	text     string
	commands []string            // lines that are meant to be typed
	blocks   map[string][]string // of YAML, by the file that their first line names
}

func readGuide(t *testing.T) *guide {
	t.Helper()
	g := &guide{text: string(read(t, tree+"/docs/install.md")), blocks: map[string][]string{}}
	prose := g.text
	for _, part := range strings.Split(g.text, "```yaml\n")[1:] {
		block, _, _ := strings.Cut(part, "```")
		first, _, _ := strings.Cut(block, "\n")
		name := strings.TrimPrefix(first, "# ")
		g.blocks[name] = append(g.blocks[name], block)
		prose = strings.Replace(prose, block, "", 1)
	}
	// Four columns to the right of a list's text is code, after an empty line; without one it goes on with a sentence.
	code, before := false, ""
	for line := range strings.Lines(prose) {
		indented := strings.HasPrefix(line, "    ") && strings.TrimSpace(line) != ""
		if code = indented && (code || strings.TrimSpace(before) == ""); code {
			g.commands = append(g.commands, strings.TrimSpace(line))
		}
		before = line
	}
	return g
}

// typed is what holds a command to what is there; done is what commands before it have left behind.
type typed struct {
	t        *testing.T
	g        *guide
	copies   map[string]string // directories that were copied, and of what
	releases []string
}

// programs say of each program that the guide runs whether its arguments are right.
var programs = map[string]func(c *typed, args []string) error{
	"docker":           (*typed).docker,
	"helm":             (*typed).helm,
	"kubectl":          (*typed).kubectl,
	"goodput-exporter": (*typed).exporter,
	"make":             (*typed).make,
	"install":          (*typed).install,
	"sed":              (*typed).sed,
	"systemctl":        (*typed).systemctl,
	"cp":               (*typed).copy,
	"$EDITOR":          (*typed).edit,
	"grep":             func(*typed, []string) error { return nil },
}

// TestInstallCommands: what the guide says to type is understood by the programs, the chart and the manifests that are there.
func TestInstallCommands(t *testing.T) {
	c := &typed{t: t, g: readGuide(t), copies: map[string]string{}}
	ran := map[string]int{}
	for _, line := range c.g.commands {
		line, _, _ = strings.Cut(line, " > ")
		for _, command := range regexp.MustCompile(` && | \| `).Split(line, -1) {
			words := strings.Fields(command)
			check, known := programs[words[0]]
			if !known {
				t.Errorf("%s: nothing holds %s to anything", line, words[0])
				continue
			}
			ran[words[0]]++
			if err := check(c, words[1:]); err != nil {
				t.Errorf("%s: %v", line, err)
			}
		}
	}
	for name := range programs {
		if ran[name] == 0 {
			t.Errorf("the guide has no command of %s", name)
		}
	}
}

func (c *typed) docker(args []string) error {
	file := string(read(c.t, tree+"/Dockerfile"))
	for _, a := range args {
		if stage, is := strings.CutPrefix(a, "--target="); is && !strings.Contains(file, " AS "+stage+"\n") {
			return fmt.Errorf("the Dockerfile has no stage %s", stage)
		}
		if arg, is := strings.CutPrefix(a, "--build-arg="); is {
			name, _, _ := strings.Cut(arg, "=")
			if !regexp.MustCompile(`(?m)^ARG .*\b` + name + `=`).MatchString(file) {
				return fmt.Errorf("the Dockerfile takes no %s", name)
			}
		}
	}
	return nil
}

// helm renders the chart with the values that the command gives.
func (c *typed) helm(args []string) error {
	if args[0] == "uninstall" {
		if !slices.Contains(c.releases, args[1]) {
			return fmt.Errorf("%s was never installed", args[1])
		}
		return nil
	}
	if args[2] != strings.TrimPrefix(chart, tree+"/") {
		return fmt.Errorf("the chart is in %s", chart)
	}
	if args[0] == "install" {
		c.releases = append(c.releases, args[1])
	}
	values := chartutil.Values{}
	for i, a := range args {
		switch a {
		case "-f":
			given, err := chartutil.ReadValues([]byte(c.g.blocks[args[i+1]][0]))
			if err != nil {
				return err
			}
			values = given
		case "--set":
			if err := strvals.ParseInto(args[i+1], values); err != nil {
				return err
			}
		case "--set-file":
			rules, err := exporter(nil, "generate", "rules", "--config.file="+base+"/base/goodput.yaml", "--format=operator", "--node-label=node")
			if err != nil {
				return err
			}
			reader := func([]rune) (any, error) { return rules, nil }
			if err := strvals.ParseIntoFile(args[i+1], values, reader); err != nil {
				return err
			}
		case "--namespace":
			if args[i+1] != releaseNamespace {
				return fmt.Errorf("the namespace is %s", releaseNamespace)
			}
		}
	}
	return renders(values, args[1])
}

// sed runs the command on the ConfigMap that the chart renders: the configuration in it is left, as the pod has it.
func (c *typed) sed(args []string) error {
	files, err := rendered(chartutil.Values{}, release)
	if err != nil {
		return err
	}
	w, err := decoded(expect{name: release}, stream(files))
	if err != nil {
		return err
	}
	in, is := named[*corev1.ConfigMap](w, releaseNamespace, release)
	if !is {
		return fmt.Errorf("the chart renders no ConfigMap %s", release)
	}
	cmd := exec.Command("sed", strings.Trim(args[0], "'"))
	cmd.Stdin = strings.NewReader(strings.TrimSpace(files["goodput-exporter/templates/configmap.yaml"]) + "\n")
	out, err := cmd.Output()
	if want := in.Data["goodput.yaml"]; err != nil || want == "" || strings.TrimSpace(string(out)) != strings.TrimSpace(want) {
		return fmt.Errorf("%v, leaves\n%s\nof\n%s", err, out, want)
	}
	return nil
}

// renders is whether the chart takes values, and the exporter the configuration that comes of them.
func renders(values chartutil.Values, name string) error {
	files, err := rendered(values, name)
	if err != nil {
		return err
	}
	w, err := decoded(expect{name: name}, stream(files))
	if err != nil {
		return err
	}
	if wrong := misconfigured(w); len(wrong) > 0 {
		return fmt.Errorf("%s", strings.Join(wrong, "\n"))
	}
	return nil
}

// exporter looks whether a subcommand has the flags.
func (c *typed) exporter(args []string) error {
	help, err := exporter(nil, append(slices.DeleteFunc(slices.Clone(args), func(a string) bool {
		return strings.HasPrefix(a, "-") || strings.Contains(a, "/")
	}), "--help")...)
	if err != nil {
		return fmt.Errorf("%w\n%s", err, help)
	}
	for _, a := range args {
		flag, _, _ := strings.Cut(a, "=")
		if strings.HasPrefix(flag, "--") && !strings.Contains(help, flag+"=") {
			return fmt.Errorf("there is no flag %s", flag)
		}
	}
	return nil
}

func (c *typed) make(args []string) error {
	if !strings.Contains(string(read(c.t, tree+"/Makefile")), "\n"+args[0]+":") {
		return fmt.Errorf("the Makefile has no target %s", args[0])
	}
	return nil
}

// install looks for what is copied; what `make` builds need not be there.
func (c *typed) install(args []string) error {
	for _, a := range args {
		if strings.HasPrefix(a, "deploy/") {
			if _, err := os.Stat(path.Join(tree, a)); err != nil {
				return err
			}
		}
	}
	return nil
}

func (c *typed) systemctl(args []string) error {
	name := args[len(args)-1]
	if args[0] == "daemon-reload" {
		return nil
	}
	_, err := os.Stat(tree + "/deploy/systemd/" + name + ".service")
	return err
}

// copy takes note of a copy. It has to stand beside what it is a copy of, because kustomizations name their neighbours.
func (c *typed) copy(args []string) error {
	from, to := args[len(args)-2], args[len(args)-1]
	if path.Dir(from) != path.Dir(to) {
		return fmt.Errorf("%s is not beside %s", to, from)
	}
	c.copies[to] = from
	_, err := os.Stat(path.Join(tree, from))
	return err
}

func (c *typed) edit(args []string) error {
	for _, a := range args {
		if _, err := os.Stat(path.Join(tree, c.copies[path.Dir(a)], path.Base(a))); c.copies[path.Dir(a)] == "" || err != nil {
			return fmt.Errorf("%s was not copied: %v", a, err)
		}
	}
	return nil
}
