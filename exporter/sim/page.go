package sim

import (
	"bytes"
	"slices"
	"strconv"
	"strings"
)

// ContentType is that of the pages.
const ContentType = "text/plain; version=1.0.0; charset=utf-8"

// Page is the engine's page as it is now, and false while nothing listens. Looking changes nothing in the world.
func (w *World) Page(engine string) ([]byte, bool) {
	e := w.byID[engine]
	if e == nil || !e.up {
		return nil, false
	}
	if e.page == nil || e.page.statuses != len(e.http.statuses) && e.config.Dialect.python() {
		e.page = newPage(e)
	}
	mended := e.tear()
	body := make([]byte, 0, e.page.size+4096)
	for _, part := range e.page.parts {
		body = part(body)
	}
	mended()
	e.page.size = len(body)
	if e.config.Prefix != "" {
		body = bytes.ReplaceAll(body, []byte("vllm:"), []byte(e.config.Prefix))
	}
	return body, true
}

// page is an endpoint's page but for its values.
type page struct {
	parts    []func([]byte) []byte
	statuses int // HTTP status groups that it shows
	size     int // bytes of the last rendering

	e       *endpoint
	created float64 // when the metrics were created, unix seconds
	born    int     // created timestamps given out
}

// Metrics are created in the order of the page, some tens of microseconds apart.
const creationStep = 37e-6

func newPage(e *endpoint) *page {
	if !e.config.Dialect.python() {
		return templatePage(e)
	}
	p := &page{statuses: len(e.http.statuses), e: e, created: e.world.config.Start + e.booted - 0.5}
	if !e.config.MultiProcess {
		p.process()
	}
	if e.config.MultiProcess {
		// A page of several processes is put together from files, by type.
		for _, kind := range []string{"gauge", "summary", "counter", "histogram"} {
			p.families(kind)
		}
		return p
	}
	p.families("")
	return p
}

// families adds those of one kind; "" is all.
func (p *page) families(kind string) {
	is := func(f family) bool { return kind == "" || kind == f.kind }
	table := engineFamilies
	if p.e.config.Dialect == V1Old {
		table = oldFamilies
	}
	for i, f := range table {
		if i > 0 && table[i-1].name == "vllm:request_success_total" && is(admissionFamily) && p.e.config.Dialect == V1 {
			p.admission()
		}
		if is(f) {
			p.engineFamily(f)
		}
	}
	if is(cacheConfigFamily) {
		p.cacheConfig()
	}
	p.front(is)
}

func (p *page) literal(s string) {
	p.parts = append(p.parts, func(b []byte) []byte { return append(b, s...) })
}

func (p *page) declare(f family) { p.declareAs(f.name, f.help, f.kind) }

func (p *page) declareAs(name, help, kind string) {
	p.literal("# HELP " + name + " " + help + "\n# TYPE " + name + " " + kind + "\n")
}

// sample adds a line whose value is read when the page is rendered; nil is always 0.
func (p *page) sample(name, labels string, value *float64) {
	head := name + labels + " "
	if value == nil {
		p.literal(head + "0.0\n")
		return
	}
	p.parts = append(p.parts, func(b []byte) []byte {
		return append(appendValue(append(b, head...), *value), '\n')
	})
}

func (p *page) fixed(name, labels string, value float64) {
	p.literal(string(appendValue([]byte(name+labels+" "), value)) + "\n")
}

// creation adds the created timestamps of a family's children, which are a family of their own.
func (p *page) creation(f family, labels []string, at func(child int) float64) {
	if p.e.config.MultiProcess {
		return
	}
	name := f.name + "_created"
	if f.kind == "counter" {
		name = strings.TrimSuffix(f.name, "_total") + "_created"
	}
	p.declareAs(name, f.help, "gauge")
	for i, l := range labels {
		p.fixed(name, l, at(i))
	}
}

// atBoot gives each child its time of creation.
func (p *page) atBoot(int) float64 {
	p.born++
	return p.created + creationStep*float64(p.born)
}

// labelled writes labels in prometheus_client's order, the alphabet's.
func labelled(pairs ...string) string {
	var texts []string
	for i := 0; i < len(pairs); i += 2 {
		if pairs[i] != "" {
			texts = append(texts, pairs[i]+`="`+escape(pairs[i+1])+`"`)
		}
	}
	slices.Sort(texts)
	return "{" + strings.Join(texts, ",") + "}"
}

func escape(s string) string {
	return strings.NewReplacer(`\`, `\\`, "\n", `\n`, `"`, `\"`).Replace(s)
}

func (p *page) engineFamily(f family) {
	p.declare(f)
	var labels []string
	values := f.values
	if f.label == "" {
		values = []string{""}
	}
	for i, v := range values {
		for _, r := range p.e.ranks {
			pairs := []string{"engine", strconv.Itoa(r.index), "model_name", p.e.config.Model, f.label, v}
			labels = append(labels, labelled(pairs...))
			switch {
			case f.histogram != nil:
				p.histogram(f.name, f.histogram(r.stats), pairs...)
			case f.value != nil:
				p.sample(f.name, labels[len(labels)-1], f.value(r.stats, i))
			default:
				p.sample(f.name, labels[len(labels)-1], nil)
			}
		}
	}
	if f.kind != "gauge" {
		p.creation(f, labels, p.atBoot)
	}
}

// histogram adds a histogram's lines: buckets, count, sum, and on a page of several processes the sum first.
func (p *page) histogram(name string, h *histogram, pairs ...string) {
	var heads []string
	for i := range h.counts {
		le := "+Inf"
		if i < len(h.edges) {
			le = string(appendValue(nil, h.edges[i]))
		}
		heads = append(heads, name+"_bucket"+labelled(append(pairs, "le", le)...)+" ")
	}
	plain := ""
	if len(pairs) > 0 {
		plain = labelled(pairs...)
	}
	count, sum := name+"_count"+plain+" ", name+"_sum"+plain+" "
	sumFirst := p.e.config.MultiProcess
	p.parts = append(p.parts, func(b []byte) []byte {
		writeSum := func() { b = append(appendValue(append(b, sum...), h.sum), '\n') }
		if sumFirst {
			writeSum()
		}
		var total uint64
		for i, c := range h.counts {
			total += c
			b = append(appendValue(append(b, heads[i]...), float64(total)), '\n')
		}
		b = append(appendValue(append(b, count...), float64(total)), '\n')
		if !sumFirst {
			writeSum()
		}
		return b
	})
}

func (p *page) admission() {
	p.declare(admissionFamily)
	var labels []string
	for i, reason := range []string{"max_num_queued_reqs", "max_num_queued_tokens"} {
		labels = append(labels, labelled("model_name", p.e.config.Model, "reason", reason))
		if i == 0 {
			p.sample(admissionFamily.name, labels[i], &p.e.refusals)
		} else {
			p.sample(admissionFamily.name, labels[i], nil)
		}
	}
	p.creation(admissionFamily, labels, p.atBoot)
}
