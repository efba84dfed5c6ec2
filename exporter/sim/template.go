package sim

import (
	"fmt"
	"strconv"
	"strings"
)

// A page that is not one of Python's V1 is a text with places for values, line by line:
//
//	# HELP ..., # TYPE ...    as it stands
//	NAME{LABELS} $KEY         a value
//	?NAME{LABELS} $KEY        a child that appears at its first use
//	~NAME LABELS KEY          a histogram, - for no labels
//	?~NAME LABELS KEY         one that appears at its first observation
//	0~NAME LABELS EDGE...     one that never observes anything
//	anything else             as it stands
//
// with %M for the model's name, %H for the handler, %B for the KV blocks and %S for their size.
var templates = [numDialects]string{Rust: rustPage, V0: v0Page, Simulator: simulatorPage}

// style is how a metrics library writes.
type style struct {
	value   func(b []byte, v float64, whole bool) []byte // whole: the library holds it as an integer
	order   []string                                     // of a histogram's lines
	leFirst bool                                         // the label le stands before all others, else after them
	hides   bool                                         // a family without children is not on the page
	end     string
}

var styles = [numDialects]style{
	V0: {
		value: func(b []byte, v float64, _ bool) []byte { return appendValue(b, v) },
		order: []string{"sum", "bucket", "count"}, leFirst: true, hides: true,
	},
	Rust: {
		value: func(b []byte, v float64, whole bool) []byte {
			if whole {
				return strconv.AppendUint(b, uint64(v), 10)
			}
			return append(b, repr(v)...)
		},
		order: []string{"sum", "count", "bucket"}, leFirst: true, end: "# EOF\n",
	},
	Simulator: {
		value: func(b []byte, v float64, _ bool) []byte { return strconv.AppendFloat(b, v, 'g', -1, 64) },
		order: []string{"bucket", "sum", "count"}, hides: true,
	},
}

// child is one series of a template, or one histogram.
type child struct {
	shown func() bool // nil: from the start
	write func([]byte) []byte
}

// templatePage makes a page of a template, family by family.
func templatePage(e *endpoint) *page {
	p := &page{e: e}
	c := &e.config
	text := strings.NewReplacer("%M", escape(c.Model), "%H", c.Handler, "%B", strconv.Itoa(c.Blocks), "%S", strconv.Itoa(c.BlockSize)).
		Replace(templates[c.Dialect])
	var declared string
	var children []child
	for _, line := range strings.Split(strings.TrimSuffix(text, "\n"), "\n") {
		switch {
		case strings.HasPrefix(line, "# HELP"):
			p.family(declared, children)
			declared, children = line+"\n", nil
		case strings.HasPrefix(line, "# TYPE"):
			declared += line + "\n"
		case strings.HasPrefix(line, "#"): // the end
		default:
			children = append(children, p.child(line))
		}
	}
	p.family(declared, children)
	p.literal(styles[c.Dialect].end)
	return p
}

// family adds a family with its children, those that are there.
func (p *page) family(declared string, children []child) {
	hides := styles[p.e.config.Dialect].hides
	p.parts = append(p.parts, func(b []byte) []byte {
		head := len(b)
		b = append(b, declared...)
		none := len(b)
		for _, c := range children {
			if c.shown == nil || c.shown() {
				b = c.write(b)
			}
		}
		if hides && len(b) == none {
			b = b[:head]
		}
		return b
	})
}

// child reads a line of a template.
func (p *page) child(line string) (c child) {
	s := &styles[p.e.config.Dialect]
	line, lazy := strings.CutPrefix(line, "?")
	switch name, value, isValue := strings.Cut(line, " $"); {
	case strings.HasPrefix(line, "~"):
		f := strings.Fields(line[1:])
		h := histogramKeys[f[2]](p.e)
		c = child{func() bool { return h.count() > 0 }, s.histogram(f[0], f[1], h)}
	case strings.HasPrefix(line, "0~"):
		f := strings.Fields(line[2:])
		c.write = s.histogram(f[0], f[1], newHistogram(numbers(f[2:])))
	case isValue:
		k := valueKeys[value]
		c.shown = func() bool { return k.value(p.e) > 0 || !k.own && p.e.ranks[0].stats.promptTokens > 0 }
		c.write = func(b []byte) []byte {
			b = append(append(b, name...), ' ')
			return append(s.value(b, k.value(p.e), !k.real), '\n')
		}
	default:
		c.write = func(b []byte) []byte { return append(append(b, line...), '\n') }
	}
	if !lazy {
		c.shown = nil
	}
	return c
}

// numbers are those of a template, which is ours.
func numbers(texts []string) (all []float64) {
	for _, t := range texts {
		v, err := strconv.ParseFloat(t, 64)
		if err != nil {
			panic(fmt.Sprintf("sim: %q in a template is no number", t))
		}
		all = append(all, v)
	}
	return all
}

// histogram writes one in a library's manner.
func (s *style) histogram(name, labels string, h *histogram) func([]byte) []byte {
	if labels == "-" {
		labels = ""
	}
	with := func(suffix, le string) string {
		all := []string{labels}
		switch {
		case labels == "":
			all = []string{le}
		case le != "" && s.leFirst:
			all = []string{le, labels}
		case le != "":
			all = []string{labels, le}
		}
		if joined := strings.Join(all, ","); joined != "" {
			return name + suffix + "{" + joined + "} "
		}
		return name + suffix + " "
	}
	var heads []string
	for i := range h.counts {
		le := "+Inf"
		if i < len(h.edges) {
			le = string(s.value(nil, h.edges[i], false))
		}
		heads = append(heads, with("_bucket", `le="`+le+`"`))
	}
	sum, count := with("_sum", ""), with("_count", "")
	return func(b []byte) []byte {
		for _, what := range s.order {
			switch what {
			case "sum":
				b = append(s.value(append(b, sum...), h.sum, false), '\n')
			case "count":
				b = append(s.value(append(b, count...), float64(h.count()), true), '\n')
			default:
				var total uint64
				for i, c := range h.counts {
					total += c
					b = append(s.value(append(b, heads[i]...), float64(total), true), '\n')
				}
			}
		}
		return b
	}
}

func (h *histogram) count() (n uint64) {
	for _, c := range h.counts {
		n += c
	}
	return n
}
