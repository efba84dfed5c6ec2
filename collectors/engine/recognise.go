package engine

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/goodput-exporter/goodput-exporter/exporter/fact"
)

// maker is whose names a page has.
type maker int

const (
	vllm maker = iota
	sglang
	numMakers
)

// prefixes are what stands before the names of each maker. KServe puts its own name before vLLM's, Ray's agent does the
// same to names that Ray has rewritten, and a pipeline that does not know the colon makes an underscore of it.
var prefixes = [numMakers][]string{
	vllm:   {"vllm:", "kserve_vllm:", "ray_vllm_", "kserve_vllm_", "vllm_"},
	sglang: {"sglang:", "sglang_"},
}

// sign is a name on a page that tells who wrote it.
type sign int

const (
	signPython    sign = 1 << iota // only the Python front end has it
	signEarlyV1                    // only the V1 engine has it, before it had ranks
	signSimulator                  // only the simulator has it
)

// signatures are names that are looked at for who has them. Python: the interpreter's own gauge, and a summary of the
// instrumentator that is there in multi-process mode too.
var signatures = []struct {
	name   string
	bare   bool
	sign   sign
	source string
}{
	{"python_info", true, signPython, "seen live on 0.11.0 and 0.32.0"},
	{"http_request_size_bytes", true, signPython, "seen live on 0.11.0 and 0.32.0"},
	{"gpu_prefix_cache_queries", false, signEarlyV1, "vllm/v1/metrics/loggers.py, V1 from 0.7.3 on; the V0 engine has gpu_prefix_cache_hit_rate instead"},
	{"max_num_generation_tokens", false, signSimulator, "seen live on llm-d-inference-sim; vLLM says request_max_num_generation_tokens"},
}

// signs is what a page shows of who wrote it.
type signs struct {
	openMetrics  bool            // read as OpenMetrics
	bareCounters bool            // a TYPE line names a counter without _total, as OpenMetrics has it, whatever the media type
	makers       [numMakers]bool // whose prefixes are on it
	seen         sign
	newNames     bool // a name that the V0 engine does not have
	replicas     bool // a series of a rank that names its Ray replica
	ranked       bool // a series of a rank that carries the rank label
	unranked     int  // line of the first one that does not; 0: none
}

// of reports whether the page is one maker's alone.
func (s *signs) of(m maker) bool {
	for other, on := range s.makers {
		if on != (maker(other) == m) {
			return false
		}
	}
	return true
}

// recognise picks the dialect of a page, or says what was seen instead.
func recognise(s signs, series int) (*dialect, *Error) {
	for i := range dialects {
		if dialects[i].recognises(s) {
			return &dialects[i], nil
		}
	}
	var known, begin []string
	for _, d := range dialects {
		known = append(known, fmt.Sprintf("%s (%s)", d.name, d.who))
	}
	found := false
	for m, on := range s.makers {
		begin = append(begin, prefixes[m]...)
		found = found || on
	}
	supported := "this reader knows " + strings.Join(known, ", ")
	families := strings.Join(begin, ", ") + " families"
	switch {
	case s.makers[vllm] && s.makers[sglang]:
		return nil, refuse(fact.ReasonDialect, "families of two engines on one page: which of them the counts are of cannot be told; point the target's url at one engine")
	case s.ranked && s.unranked > 0:
		return nil, refuse(fact.ReasonDialect, "this series has no %s label although others on the page have one; %s", rankLabel, supported).on(s.unranked, "")
	case s.unranked > 0:
		return nil, refuse(fact.ReasonDialect, "names of the V1 engine without its %s label, which something on the way has taken off; %s", rankLabel, supported)
	case found:
		return nil, refuse(fact.ReasonDialect, "%s without any series of a rank that this reader needs; %s", families, supported)
	}
	return nil, refuse(fact.ReasonDialect, "a valid page of %d samples without %s: not an engine, or one started with --disable-log-stats; %s", series, families, supported)
}

// versions is the range of vLLM versions that the names on a page fit, such as ">=0.11" or ">=0.11,<0.15"; "" for what
// is not vLLM.
func versions(d *dialect, present []spelling) string {
	if d.since == "" {
		return ""
	}
	first, gone := d.since, d.gone
	for _, s := range present {
		if s.first != "" && older(first, s.first) {
			first = s.first
		}
		if s.gone != "" && (gone == "" || older(s.gone, gone)) {
			gone = s.gone
		}
	}
	if gone == "" || !older(first, gone) {
		// Names of disjoint ranges together are a build between releases or a hidden name switched on again:
		// what is there is certain, when it went is not.
		return ">=" + first
	}
	return ">=" + first + ",<" + gone
}

// older compares dotted versions number by number: 0.8.3 is older than 0.11.
func older(a, b string) bool {
	for a != "" || b != "" {
		var x, y string
		x, a, _ = strings.Cut(a, ".")
		y, b, _ = strings.Cut(b, ".")
		m, _ := strconv.Atoi(x)
		n, _ := strconv.Atoi(y)
		if m != n {
			return m < n
		}
	}
	return false
}
