package config

import (
	"bytes"
	_ "embed"
	"fmt"
	"strings"
)

// row documents one key.
type row struct {
	path, kind, preset, doc string
	required                bool
	shape                   map[string]any // of the value alone: the keys below it have rows of their own
}

//go:embed reference.yaml
var reference []byte

// Document is docs/config.md: every key with its default and meaning, and the annotated reference configuration. It
// comes from the declarations that the parser reads by.
func Document() []byte {
	var b bytes.Buffer
	b.WriteString(preamble)
	var section string
	for _, r := range schema().rows("", Default()) {
		if top, _, _ := strings.Cut(r.path, "."); strings.TrimSuffix(top, "[]") != section {
			section = strings.TrimSuffix(top, "[]")
			fmt.Fprintf(&b, "\n## %s\n\n%s\n\n", section, r.doc)
			b.WriteString("| key | value | default | meaning |\n|---|---|---|---|\n")
			if r.preset == "" && r.kind == "mapping" || strings.HasPrefix(r.kind, "list of SLO") {
				continue // the keys below say it all
			}
			if r.path == section {
				r.doc = "see above"
			}
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", r.path, cell(r.kind), r.standing(), cell(r.doc))
	}
	b.WriteString(referenceIntro)
	c, err := Parse(reference, "reference.yaml")
	if err != nil {
		panic("config: the embedded reference configuration is wrong: " + err.Error())
	}
	b.WriteString("```yaml\n")
	b.Write(c.render(writer{explain: true}))
	b.WriteString("```\n")
	return b.Bytes()
}

// standing says what happens without the key.
func (r row) standing() string {
	switch {
	case r.required:
		return "required"
	case r.preset == "":
		return "-"
	}
	return "`" + cell(r.preset) + "`"
}

func cell(s string) string { return strings.ReplaceAll(s, "|", `\|`) }

const preamble = `<!-- Generated from exporter/config. Do not edit: run go test ./exporter/config -run Document -update -->

# Configuration

One YAML file, given with ` + "`--config.file`" + `. It needs at least one SLO, and an engine to poll unless
it is for replays only; everything else has a default.

` + "`goodput-exporter check --config.file=goodput.yaml`" + ` reads the file, names every mistake in it with line, key and
remedy, and prints the effective configuration: all defaults filled in, secrets left out. With the URL or a file of an
engine's page it also says which SLOs that engine's histograms can answer.

- Keys that do not exist are mistakes, and so are keys given twice, keys without a value, and a second document.
- A value is its text: it may be quoted or not. Tags and merge keys are not read; aliases of whole values are.
- A list or mapping that is given replaces the default.
- Durations are written as in Prometheus: whole numbers with the units y, w, d, h, m, s, ms in this order, such as
  1h30m, 1500ms, 30d. A number without a unit is a mistake.
- Sizes are whole numbers with B, KiB, MiB or GiB.
- Regular expressions are RE2 and fit the whole name.

Clauses that say nothing are mistakes, because each clause widens the interval of the joint count. A latency that is a
part of another (queue and prefill of ttft; prefill, decode and tpot of inference; all of e2e) is never longer, so its
threshold must be lower.
`

const referenceIntro = `
## Reference

A whole file: two objectives and two engines as examples, and every other key at its default; engines.kubernetes and
gpu.kubernetes, which are off, are left out.

`
