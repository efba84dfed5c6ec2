package engine

import (
	"errors"
	"fmt"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/goodput-exporter/goodput-exporter/exporter/fact"
)

// wholeHistogram is a good histogram for one rank, to be spoiled.
func wholeHistogram() []string {
	return []string{`bucket{le="0.1",` + only + `} 1`, `bucket{le="1",` + only + `} 3`, `bucket{le="+Inf",` + only + `} 4`,
		`count{` + only + `} 4`, `sum{` + only + `} 2`}
}

// spoiled is that histogram with one line replaced; an empty replacement removes it.
func spoiled(line int, with string) string {
	lines := wholeHistogram()
	if with == "" {
		return histogramPage(append(lines[:line:line], lines[line+1:]...)...)
	}
	lines[line] = with
	return histogramPage(lines...)
}

// What messages say of what this reader knows.
const (
	families = "vllm:, kserve_vllm:, ray_vllm_, kserve_vllm_, vllm_, sglang:, sglang_ families"
	readers  = "this reader knows vllm-rust (vLLM's Rust front end), vllm-ray (vLLM under Ray, by Ray's agent), " +
		"vllm-v1 (vLLM >= 0.8.3 with the V1 engine), llm-d-inference-sim (the simulator of llm-d), " +
		"vllm-v1-early (vLLM 0.7.3 to 0.8.2 with the V1 engine), vllm-v0 (vLLM's V0 engine, 0.6 to 0.10), sglang (SGLang)"
)

// Each bad page, and the whole message that a person gets; {bytes} stands for the size of the page.
var refusals = map[string]struct {
	contentType, page string
	reason            fact.Reason
	message           string
}{
	// HTP-07: a login page, and other answers that are not metrics.
	"HTML": {"text/html; charset=utf-8", "<!DOCTYPE html><title>s3cret</title>\n", fact.ReasonNotMetrics,
		`the page is "text/html" of {bytes} bytes, not text/plain or application/openmetrics-text: point the target's url at the engine's /metrics`},
	"HTML that calls itself text": {textPlain, " \n<html></html>\n", fact.ReasonNotMetrics,
		`the page is HTML or XML ({bytes} bytes, content type "text/plain; version=0.0.4; charset=utf-8"), perhaps a login page: point the target's url at the engine's /metrics`},
	"JSON": {"application/json", `{"detail":"Not Found"}`, fact.ReasonNotMetrics,
		`the page is JSON ({bytes} bytes, content type "application/json"): point the target's url at the engine's /metrics`},
	"a bare word without a type": {"", "ok\n", fact.ReasonNotMetrics, `line 1: ok: the value is not a number`},
	"a wrong content type": {"application/vnd.google.protobuf", "vllm:num_requests_running{" + only + "} 1\n", fact.ReasonNotMetrics,
		`the page is "application/vnd.google.protobuf" of {bytes} bytes, not text/plain or application/openmetrics-text: point the target's url at the engine's /metrics`},
	"nothing": {textPlain, " \r\n\t\n", fact.ReasonNotMetrics,
		`the page is empty ({bytes} bytes, content type "text/plain; version=0.0.4; charset=utf-8")`},

	"a page cut inside a line": {textPlain, "vllm:num_requests_running{" + only + "} 1\nvllm:num_requests_wai", fact.ReasonTruncated,
		`line 2: the last line has no line feed: the page of {bytes} bytes was cut`},
	"an OpenMetrics page without its end": {openMetricsType, "vllm:num_requests_running{" + only + "} 1\n", fact.ReasonTruncated,
		`line 1: the page of {bytes} bytes does not end in # EOF, as OpenMetrics must`},
	"an OpenMetrics page that goes on after its end": {openMetricsType, "# EOF\nvllm:num_requests_running{" + only + "} 1\n", fact.ReasonParse,
		`line 2: the page goes on after # EOF`},

	"a histogram without +Inf": {textPlain, spoiled(2, ""), fact.ReasonParse,
		`line 1: vllm:time_to_first_token_seconds{engine="0",model_name="m"}: the histogram has no bucket le="+Inf"`},
	"a histogram without buckets": {textPlain, histogramPage(wholeHistogram()[3:]...), fact.ReasonParse,
		`line 1: vllm:time_to_first_token_seconds{engine="0",model_name="m"}: the histogram has no bucket le="+Inf"`},
	"a histogram without _count": {textPlain, spoiled(3, ""), fact.ReasonParse,
		`line 1: vllm:time_to_first_token_seconds{engine="0",model_name="m"}: the histogram has no _sum or no _count`},
	"a histogram without _sum": {textPlain, spoiled(4, ""), fact.ReasonParse,
		`line 1: vllm:time_to_first_token_seconds{engine="0",model_name="m"}: the histogram has no _sum or no _count`},
	// PCT-07, prometheus/prometheus#13671: buckets that are not cumulative.
	"counts that fall": {textPlain, histogramPage(`bucket{le="0.1",`+only+`} 50`, `bucket{le="1",`+only+`} 30`, `bucket{le="+Inf",`+only+`} 20`,
		`count{`+only+`} 20`, `sum{`+only+`} 2`), fact.ReasonParse,
		`line 1: vllm:time_to_first_token_seconds{engine="0",model_name="m"}: count falls from 50 to 30 at le=1: buckets are not cumulative`},
	"bounds out of order with counts that do not fit them": {textPlain, histogramPage(`bucket{le="1",`+only+`} 1`, `bucket{le="0.1",`+only+`} 3`,
		`bucket{le="+Inf",`+only+`} 4`, `count{`+only+`} 4`, `sum{`+only+`} 2`), fact.ReasonParse,
		`line 1: vllm:time_to_first_token_seconds{engine="0",model_name="m"}: count falls from 3 to 1 at le=1: buckets are not cumulative`},
	"a count that differs from +Inf": {textPlain, spoiled(3, `count{`+only+`} 5`), fact.ReasonParse,
		`line 1: vllm:time_to_first_token_seconds{engine="0",model_name="m"}: _count is 5 but the bucket le="+Inf" holds 4`},
	"a bucket of a part": {textPlain, spoiled(1, `bucket{le="1",`+only+`} 2.5`), fact.ReasonParse,
		`line 1: vllm:time_to_first_token_seconds{engine="0",model_name="m"}: count 2.5 at le=1 is not a whole number in [0, 2^53]`},
	"a bound that is not a number": {textPlain, spoiled(1, `bucket{le="NaN",`+only+`} 3`), fact.ReasonParse,
		`line 2: vllm:time_to_first_token_seconds_bucket{le="NaN",engine="0",model_name="m"}: label le "NaN" is not a bucket's upper bound`},
	"a bucket without a bound": {textPlain, spoiled(1, `bucket{`+only+`} 3`), fact.ReasonParse,
		`line 2: vllm:time_to_first_token_seconds_bucket{engine="0",model_name="m"}: label le "" is not a bucket's upper bound`},
	"one bound in two spellings": {textPlain, spoiled(1, `bucket{le="1e-01",`+only+`} 1`), fact.ReasonParse,
		`line 1: vllm:time_to_first_token_seconds{engine="0",model_name="m"}: the bucket le=0.1 is there twice`},
	"a sum that is not a number": {textPlain, spoiled(4, `sum{`+only+`} NaN`), fact.ReasonParse,
		`line 5: vllm:time_to_first_token_seconds_sum{engine="0",model_name="m"}: the sum is NaN: one observation without a value spoils it until the engine restarts`},

	"a series twice": {textPlain, "vllm:prompt_tokens_total{" + only + "} 1\nvllm:prompt_tokens_total{" + only + "} 1\n", fact.ReasonParse,
		`line 2: vllm:prompt_tokens_total{engine="0",model_name="m"}: the series is there twice, or twice with labels that this reader does not know: which of the two counts cannot be told`},
	"a gauge twice": {textPlain, "vllm:num_requests_running{" + only + "} 1\nvllm:num_requests_running{" + only + "} 1\n", fact.ReasonParse,
		`line 2: vllm:num_requests_running{engine="0",model_name="m"}: the series is there twice, or twice with labels that this reader does not know: which of the two counts cannot be told`},
	"a gauge twice with one pid": {textPlain, "vllm:num_requests_running{pid=\"7\"," + only + "} 1\nvllm:num_requests_running{pid=\"7\"," + only + "} 2\n", fact.ReasonParse,
		`line 2: vllm:num_requests_running{pid="7",engine="0",model_name="m"}: the series is there twice, or twice with labels that this reader does not know: which of the two counts cannot be told`},
	"a finish reason twice": {textPlain, strings.Repeat("vllm:request_success_total{finished_reason=\"stop\","+only+"} 1\n", 2), fact.ReasonParse,
		`line 2: vllm:request_success_total{finished_reason="stop",engine="0",model_name="m"}: the series is there twice, or twice with labels that this reader does not know: which of the two counts cannot be told`},
	"a response count twice": {textPlain, strings.Repeat("http_requests_total{handler=\"/a\",method=\"GET\",status=\"2xx\"} 1\n", 2), fact.ReasonParse,
		`line 2: http_requests_total{handler="/a",method="GET",status="2xx"}: the series is there twice, or twice with labels that this reader does not know: which of the two counts cannot be told`},
	"a sum twice": {textPlain, histogramPage(append(wholeHistogram(), `sum{`+only+`} 2`)...), fact.ReasonParse,
		`line 6: vllm:time_to_first_token_seconds_sum{engine="0",model_name="m"}: the series is there twice, or twice with labels that this reader does not know: which of the two counts cannot be told`},

	"a count of a part": {textPlain, "vllm:prompt_tokens_total{" + only + "} 1.5\n", fact.ReasonParse,
		`line 1: vllm:prompt_tokens_total{engine="0",model_name="m"}: 1.5 is not a count: counts are whole numbers in [0, 2^53]`},
	"a count that is not a number": {textPlain, "http_requests_total{handler=\"/a\",method=\"GET\",status=\"2xx\"} NaN\n", fact.ReasonParse,
		`line 1: http_requests_total{handler="/a",method="GET",status="2xx"}: NaN is not a count: counts are whole numbers in [0, 2^53]`},
	"a negative count": {textPlain, "vllm:request_success_total{finished_reason=\"stop\"," + only + "} -1\n", fact.ReasonParse,
		`line 1: vllm:request_success_total{finished_reason="stop",engine="0",model_name="m"}: -1 is not a count: counts are whole numbers in [0, 2^53]`},
	"a finish without a reason": {textPlain, "vllm:request_success_total{" + only + "} 1\n", fact.ReasonParse,
		`line 1: vllm:request_success_total{engine="0",model_name="m"}: no label finished_reason`},

	"a value in hexadecimal": {textPlain, "foo 0x10\n", fact.ReasonParse, `line 1: foo: the value is not a number`},
	"a value too many":       {textPlain, "foo{a=\"b\"} 1 2 3\n", fact.ReasonParse, `line 1: foo{a="b"}: text after the value and the timestamp`},
	"an exemplar in classic text": {textPlain, "foo{a=\"b\"} 1 # {} 1\n", fact.ReasonParse,
		`line 1: foo{a="b"} 1 # {}: text after the value and the timestamp`},
	"an exemplar of another form": {openMetricsType, "foo_total 1 # {a=\"b\" 1\n# EOF\n", fact.ReasonParse,
		`line 1: foo_total: malformed labels: want {name="value",...}`},
	"labels that do not end": {textPlain, "foo{a=\"b} 1\n", fact.ReasonParse, `line 1: foo{a="b}: malformed labels: want {name="value",...}`},
	"a needed name twice": {textPlain, `vllm:num_requests_running{"vllm:num_requests_waiting",engine="0"} 1` + "\n", fact.ReasonParse,
		`line 1: vllm:num_requests_running{"vllm:num_requests_waiting",engine="0"}: malformed labels: want {name="value",...}`},
	"a series without a name": {textPlain, `{engine="0"} 1` + "\n", fact.ReasonParse, `line 1: {engine="0"}: not a metric name`},
	"a name of a megabyte that the format does not have": {textPlain, strings.Repeat("x", 1<<20) + "-1\n", fact.ReasonParse,
		`line 1: not a metric name: "` + strings.Repeat("x", maxExcerpt) + `"...`},
	"a timestamp that is not whole":         {textPlain, "foo 1 2.5\n", fact.ReasonParse, `line 1: foo: the timestamp is not a number of milliseconds`},
	"an OpenMetrics timestamp that is none": {openMetricsType, "foo_total 1 then\n# EOF\n", fact.ReasonParse, `line 1: foo_total: the timestamp is not a number of seconds`},
	"an exemplar without a value":           {openMetricsType, "foo_total 1 # {} x\n# EOF\n", fact.ReasonParse, `line 1: foo_total 1 # {}: the exemplar's value is not a number`},
	"an exemplar without labels":            {openMetricsType, "foo_total 1 # x\n# EOF\n", fact.ReasonParse, `line 1: foo_total: text after the value and the timestamp`},
	"an exemplar with a wrong time":         {openMetricsType, "foo_total 1 # {} 1 x\n# EOF\n", fact.ReasonParse, `line 1: foo_total 1 # {}: the timestamp is not a number of seconds`},
	"text after an exemplar":                {openMetricsType, "foo_total 1 # {} 1 2 3\n# EOF\n", fact.ReasonParse, `line 1: foo_total 1 # {}: text after the value and the timestamp`},
	"a label without a value":               {textPlain, "foo{a} 1\n", fact.ReasonParse, `line 1: foo{a}: malformed labels: want {name="value",...}`},
	"a label value without quotes":          {textPlain, "foo{a=b} 1\n", fact.ReasonParse, `line 1: foo{a=b}: malformed labels: want {name="value",...}`},
	"a label name that is a number":         {textPlain, "foo{1=\"b\"} 1\n", fact.ReasonParse, `line 1: foo{1="b"}: malformed labels: want {name="value",...}`},
	"a process that started twice": {textPlain, "process_start_time_seconds 1e9\nprocess_start_time_seconds 2e9\n", fact.ReasonParse,
		`line 2: process_start_time_seconds: the series is there twice, or twice with labels that this reader does not know: which of the two counts cannot be told`},
	"labels without a comma": {textPlain, "foo{a=\"b\" c=\"d\"} 1\n", fact.ReasonParse, `line 1: foo{a="b" c="d"}: malformed labels: want {name="value",...}`},
	"a name that is none":    {textPlain, "foo\n9foo 1\n", fact.ReasonParse, `line 1: foo: the value is not a number`},
	"a name with a dash":     {textPlain, "foo-1 2\n", fact.ReasonParse, `line 1: not a metric name: "foo-1 2"`},
	"a needed label with an escape that is none": {textPlain, `vllm:num_requests_running{engine="\d",model_name="m"} 1` + "\n", fact.ReasonParse,
		`line 1: vllm:num_requests_running{engine="\d",model_name="m"}: a label value has an escape other than \\, \" and \n`},
	"a needed label that is not UTF-8": {textPlain, "vllm:num_requests_running{engine=\"\xff\"} 1\n", fact.ReasonParse,
		`line 1: vllm:num_requests_running{engine=""}: a label value is not UTF-8`},
	"a needed label twice": {textPlain, "vllm:num_requests_running{engine=\"0\",engine=\"1\"} 1\n", fact.ReasonParse,
		`line 1: vllm:num_requests_running{engine="0",engine="1"}: label engine is there twice`},
	"a model name of two kilobytes": {textPlain, "vllm:num_requests_running{engine=\"0\",model_name=\"" + strings.Repeat("m", 2048) + "\"} 1\n", fact.ReasonTooLarge,
		`line 1: ` + ("vllm:num_requests_running{engine=\"0\",model_name=\"" + strings.Repeat("m", 2048))[:maxExcerpt] + `...: label "model_name" has a value of 2048 bytes, more than 1024`},

	"names of V1 without its ranks": {textPlain, "python_info{version=\"3.12\"} 1\nvllm:kv_cache_usage_perc{model_name=\"m\"} 1\n", fact.ReasonDialect,
		`names of the V1 engine without its engine label, which something on the way has taken off; ` + readers},
	"two engines on one page": {textPlain, "vllm:num_requests_running{" + only + "} 1\nsglang:num_running_reqs{model_name=\"m\"} 1\n", fact.ReasonDialect,
		`families of two engines on one page: which of them the counts are of cannot be told; point the target's url at one engine`},
	"series with ranks and without": {textPlain, "vllm:num_requests_running{" + only + "} 1\nvllm:num_requests_running{model_name=\"m\"} 1\n", fact.ReasonDialect,
		`line 2: this series has no engine label although others on the page have one; ` + readers},
	"an engine without statistics": {textPlain, "python_info{version=\"3.12\"} 1\nprocess_start_time_seconds 1e9\n", fact.ReasonDialect,
		`a valid page of 2 samples without ` + families + `: not an engine, or one started with --disable-log-stats; ` + readers},
	"an engine without needed families": {textPlain, "vllm:cache_config_info{a=\"b\"} 1\n", fact.ReasonDialect,
		families + ` without any series of a rank that this reader needs; ` + readers},

	"too many ranks": {textPlain, numbered("vllm:num_requests_running{engine=\"%d\",model_name=\"m\"} 1\n", maxRanks+1), fact.ReasonTooLarge,
		`line 257: vllm:num_requests_running{engine="256",model_name="m"}: more than 256 ranks (pairs of model_name and engine) on one page`},
	"too many buckets": {textPlain, numbered("vllm:time_to_first_token_seconds_bucket{le=\"%d\","+only+"} 1\n", maxBuckets+1), fact.ReasonTooLarge,
		`line 513: vllm:time_to_first_token_seconds_bucket{le="512",engine="0",model_name="m"}: more than 512 buckets in one histogram`},
	"too many finish reasons": {textPlain, numbered("vllm:request_success_total{finished_reason=\"r%d\","+only+"} 1\n", maxReasons+1), fact.ReasonTooLarge,
		`line 65: vllm:request_success_total{finished_reason="r64",engine="0",model_name="m"}: more than 64 series of this family`},
	"too many pids": {textPlain, numbered("vllm:num_requests_running{pid=\"%d\","+only+"} 1\n", maxPIDs+1), fact.ReasonTooLarge,
		`line 257: vllm:num_requests_running{pid="256",engine="0",model_name="m"}: more than 256 series of one gauge`},
	"too many handlers": {textPlain, numbered("http_requests_total{handler=\"/%d\",method=\"GET\",status=\"2xx\"} 1\n", maxRows+1), fact.ReasonTooLarge,
		`line 1025: http_requests_total{handler="/1024",method="GET",status="2xx"}: more than 1024 series of this family`},
}

func numbered(format string, n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, format, i)
	}
	return b.String()
}

func TestRefusals(t *testing.T) {
	for name, c := range refusals {
		t.Run(name, func(t *testing.T) {
			s, err := Decode([]byte(c.page), c.contentType)
			if err == nil {
				t.Fatalf("accepted: %+v", s)
			}
			if s != nil {
				t.Errorf("a refused page must not leave a sample: %+v", s)
			}
			want := strings.ReplaceAll(c.message, "{bytes}", strconv.Itoa(len(c.page)))
			if ReasonOf(err) != c.reason || err.Error() != want {
				t.Errorf("got  %s: %s\nwant %s: %s", ReasonOf(err), err, c.reason, want)
			}
			if strings.ContainsAny(err.Error(), "\n\r") {
				t.Errorf("more than one line: %q", err)
			}
		})
	}
	if page := histogramPage(wholeHistogram()...); page == "" || len(decoded(t, []byte(page), textPlain).Ranks) != 1 {
		t.Error("the histogram that the rows spoil is not good to begin with")
	}
}

// HTP-07: the type is blank or incomplete, and vLLM before 0.9 calls its metrics JSON.
func TestMediaTypes(t *testing.T) {
	classicPage := "vllm:num_requests_running{" + only + "} 1\n"
	for contentType, page := range map[string]string{
		"":                               classicPage,
		"  ":                             classicPage,
		"text/plain":                     classicPage,
		"text/plain; charset=UTF-8":      classicPage,
		"Text/Plain; version=1.0.0":      classicPage,
		"text/plain; version=9; charset": classicPage,
		"application/json":               classicPage,
		"application/openmetrics-text":   classicPage + "# EOF",
		"application/openmetrics-text;version=2;": classicPage + "# EOF\n",
	} {
		if s, err := Decode([]byte(page), contentType); err != nil || s.Ranks[0].Running.V != 1 {
			t.Errorf("%q: %v", contentType, err)
		}
	}
	// Without a type the end tells OpenMetrics from classic text.
	if s, err := Decode([]byte(classicPage+"# EOF\n"), ""); err != nil || s.Dialect != "vllm-rust" {
		t.Errorf("an OpenMetrics page without a type: %v, %+v", err, s)
	}
}

// SCL-05, vllm-project/vllm#44691: a family that is not needed has a label of megabytes. It costs its bytes on the wire
// and nothing here; as a label of a needed series it is refused.
func TestAHugeLabelCostsNothing(t *testing.T) {
	body, contentType := sample(t, "vllm-0.32-live")
	huge := append([]byte("vllm:model_config_info{quant_config=\""), make([]byte, 0, 41<<20)...)
	huge = append(huge, strings.Repeat(`{\"a\": 1},\\`, 40<<20/12)...)
	huge = append(huge, "\"} 1\n"...)
	page := append(huge, body...)
	d := NewDecoder()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	s, err := d.Decode(page, contentType)
	runtime.ReadMemStats(&after)
	if err != nil || s.Ranks[0].Sequences() != 2668 {
		t.Fatalf("%v, %+v", err, s)
	}
	if cost := after.TotalAlloc - before.TotalAlloc; cost > 1<<20 {
		t.Errorf("reading it allocated %d bytes", cost)
	}
	needed := append([]byte("vllm:num_requests_running{engine=\"0\",model_name=\""), huge[len("vllm:model_config_info{quant_config=\""):]...)
	_, err = d.Decode(needed, contentType)
	if ReasonOf(err) != fact.ReasonTooLarge || len(err.Error()) > 500 {
		t.Errorf("a needed label of 40 MB: %.600v", err)
	}
}

func TestReasonOf(t *testing.T) {
	for want, err := range map[fact.Reason]error{
		"":                   nil,
		fact.ReasonTruncated: fmt.Errorf("target a: %w", refuse(fact.ReasonTruncated, "cut")),
		fact.ReasonParse:     errors.New("of another origin"),
	} {
		if got := ReasonOf(err); got != want {
			t.Errorf("%v: %q, want %q", err, got, want)
		}
	}
}

// A cut anywhere is noticed: no page that lost its end is taken for a whole one, whatever line the cut falls on. (A cut
// at a line's end of classic text is noticed by the fetcher, which knows how long the page should have been.)
func TestNoCutPageIsRead(t *testing.T) {
	body, contentType := sample(t, "vllm-rust-openmetrics")
	d := NewDecoder()
	for cut := 1; cut < len(body)-len("# EOF\n"); cut += 97 {
		if _, err := d.Decode(body[:cut], contentType); err == nil {
			t.Fatalf("a page cut after %d of %d bytes was read", cut, len(body))
		}
	}
	body, contentType = sample(t, "vllm-v1-0.11")
	for cut := 1; cut < len(body); cut += 97 {
		if body[cut-1] == '\n' {
			continue
		}
		if _, err := d.Decode(body[:cut], contentType); err == nil {
			t.Fatalf("a page cut after %d of %d bytes was read", cut, len(body))
		}
	}
}

// A page decides how long its names are, and not how long our messages get.
func TestWarningsAreBounded(t *testing.T) {
	s := decoded(t, []byte("# TYPE "+strings.Repeat("x", 1<<20)+" "+strings.Repeat("y", 1<<20)+"\nvllm:num_requests_running{"+only+"} 1\n"), textPlain)
	if len(s.Warnings) != 1 || len(s.Warnings[0]) > 3*maxExcerpt {
		t.Errorf("%d warnings, %.1000q", len(s.Warnings), s.Warnings)
	}
}
