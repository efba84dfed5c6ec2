package recording

import (
	"bytes"
	"reflect"
	"strings"
	"testing"

	"github.com/goodput-exporter/goodput-exporter/exporter/fact"
)

// TestWhatIsWrittenOfGPUsIsRead mixes it with pages.
func TestWhatIsWrittenOfGPUsIsRead(t *testing.T) {
	entries := []Entry{
		{GPU: &GPU{Line: 2, T: 1.25, Took: 0.03, Source: "dcgm-exporter", Status: 200, ContentType: "text/plain; version=0.0.4", Body: []byte("DCGM_FI_DEV_GPU_TEMP{modelName=\"<\\\"X\\\">\"} 61\n")}},
		{Page: &Page{Line: 3, T: 1.5, Target: "a", Status: 200, Body: []byte("x 1\n")}},
		{GPU: &GPU{Line: 4, T: 1.75, Source: "dcgm-exporter", Err: "connection refused", Reason: fact.ReasonRefused}},
		{GPU: &GPU{Line: 5, T: 2, Source: "dcgm", ContentType: "application/json", Body: []byte(`{"version":1}`), First: true}},
		{GPU: &GPU{Line: 6, T: 2, Source: "none", Err: "goodput-dcgm is not installed", Reason: fact.ReasonNoSource}},
	}
	var file bytes.Buffer
	w, err := NewWriter(&file)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if err := w.WriteEntry(e); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.WriteGPU(GPU{T: 3, Body: make([]byte, MaxLine/6)}); err == nil || !strings.Contains(err.Error(), "may not fit into a line") {
		t.Errorf("a body that is too long: %v", err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	data := file.Bytes()
	got, err := readAll(t, data)
	if err != nil || !reflect.DeepEqual(got, entries) {
		t.Errorf("%v: read %+v", err, got)
	}
	for i, e := range got {
		if e.T() != entries[i].T() {
			t.Errorf("line %d is of %v", i, e.T())
		}
	}
	if pages, passed, err := read(t, data); err != nil || len(pages) != 1 || passed["gpu"] != 4 {
		t.Errorf("who reads pages only has %d, passing over %v: %v", len(pages), passed, err)
	}
}

func TestLinesOfGPUsFromElsewhere(t *testing.T) {
	const first = `{"kind":"gpu","t":100,"body":""}` + "\n"
	for name, c := range map[string]struct {
		line, want string // want is in the error; "" none
		lines      int
	}{
		"without a word of the source": {`{"kind":"gpu","t":101,"target":"node-a","status":200,"body":"x 1\n"}`, "", 2},
		"of a source that came later":  {`{"kind":"gpu","t":101,"source":"nvml","body":7777777}`, `rec:2: not a JSON object`, 1},
		"of one, with another body":    {`{"kind":"gpu","t":101,"source":"nvml","samples":[1]}`, "", 1},
		"keys that are not known":      {`{"kind":"gpu","t":101,"source":"dcgm","body":"{}","seat":"b"}`, "", 2},
		"no time":                      {`{"kind":"gpu","body":""}`, `rec:2: "t" is 0`, 1},
		"time goes back":               {`{"kind":"gpu","t":99,"body":""}`, `rec:2: "t" goes back from 100.000 to 99.000`, 1},
		"took is negative":             {`{"kind":"gpu","t":101,"took":-1,"body":""}`, `rec:2: "took" is -1`, 1},
		"neither body nor error":       {`{"kind":"gpu","t":101}`, `rec:2: neither "body" nor "error"`, 1},
		"cut short":                    {`{"kind":"gpu","t":101,"body":"DCGM`, `rec:2: not a JSON object`, 1},
	} {
		t.Run(name, func(t *testing.T) {
			all, err := readAll(t, []byte(first+c.line))
			if len(all) != c.lines || (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
				t.Errorf("%d lines and error %v, want %d and %q", len(all), err, c.lines, c.want)
			}
		})
	}
}

func TestFailedLooksAtGPUs(t *testing.T) {
	for sentence, c := range map[string]struct {
		line string
		want fact.Reason
	}{
		"a page":                       {`"status":200,"body":""`, ""},
		"a frame":                      {`"source":"dcgm","body":"{}"`, ""},
		"a status":                     {`"status":500,"body":""`, fact.ReasonStatus},
		"a child that ended":           {`"source":"dcgm","error":"ended","reason":"exited"`, fact.ReasonExited},
		"a reason that nobody knows":   {`"error":"x","reason":"some words of a page"`, fact.ReasonConnect},
		"a reason of a page of engine": {`"error":"x","reason":"timeout"`, fact.ReasonTimeout},
	} {
		all, err := readAll(t, []byte(`{"kind":"gpu","t":100,`+c.line+"}"))
		if err != nil || len(all) != 1 {
			t.Fatalf("%s: %d lines, %v", sentence, len(all), err)
		}
		if got, _, failed := all[0].GPU.Failed(); got != c.want || failed != (c.want != "") {
			t.Errorf("%s: %q, want %q", sentence, got, c.want)
		}
	}
}
