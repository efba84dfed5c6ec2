package recording

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/goodput-exporter/goodput-exporter/exporter/fact"
)

func read(t *testing.T, data []byte) (pages []Page, passed map[string]int, err error) {
	t.Helper()
	r, err := NewReader(bytes.NewReader(data), "rec")
	if err != nil {
		return nil, nil, err
	}
	for {
		p, err := r.Next()
		if errors.Is(err, io.EOF) {
			return pages, r.Passed, nil
		}
		if err != nil {
			return pages, r.Passed, err
		}
		pages = append(pages, p)
	}
}

// readAll reads the messages too.
func readAll(t *testing.T, data []byte) (all []Entry, err error) {
	t.Helper()
	r, err := NewReader(bytes.NewReader(data), "rec")
	if err != nil {
		return nil, err
	}
	for {
		e, err := r.NextEntry()
		if errors.Is(err, io.EOF) {
			return all, nil
		}
		if err != nil {
			return all, err
		}
		all = append(all, e)
	}
}

func zip(t *testing.T, text string) []byte {
	t.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	if _, err := io.WriteString(w, text); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

const good = `{"kind":"header","version":1,"made_by":"x"}
{"kind":"engine","t":100.25,"took":0.01,"target":"a","status":200,"content_type":"text/plain","body":"up 1\n","new_key":{"x":1}}

{"kind":"spans","t":100.5,"peer":"10.0.0.1","body_base64":"AA=="}
{"kind":"engine","t":101.25,"target":"a","error":"dial tcp: connect: connection refused"}
`

func TestReads(t *testing.T) {
	for name, data := range map[string][]byte{"plain": []byte(good), "gzipped": zip(t, good)} {
		t.Run(name, func(t *testing.T) {
			pages, passed, err := read(t, data)
			if err != nil {
				t.Fatal(err)
			}
			if len(pages) != 2 || passed["spans"] != 1 {
				t.Fatalf("%d pages, passed over %v", len(pages), passed)
			}
			p := pages[0]
			if p.T != 100.25 || p.Took != 0.01 || p.Target != "a" || string(p.Body) != "up 1\n" || p.Line != 2 {
				t.Errorf("%+v", p)
			}
			if reason, _, failed := pages[1].Failed(); !failed || reason != fact.ReasonRefused {
				t.Errorf("reason %q", reason)
			}
		})
	}
}

func TestReadsMessages(t *testing.T) {
	all, err := readAll(t, []byte(good))
	if err != nil || len(all) != 3 {
		t.Fatalf("%d lines, %v", len(all), err)
	}
	want := Message{Line: 4, T: 100.5, Peer: "10.0.0.1", Body: []byte{0}}
	if m := all[1].Message; all[1].Page != nil || m == nil || !reflect.DeepEqual(*m, want) || all[1].T() != 100.5 {
		t.Errorf("got %+v, want %+v", m, want)
	}
	if all[0].T() != 100.25 || all[0].Message != nil {
		t.Errorf("the first is %+v", all[0])
	}
}

// TestPagesAndMessagesMayCross: who writes a page when it has ended writes a message that came meanwhile before it.
func TestPagesAndMessagesMayCross(t *testing.T) {
	const text = `{"kind":"spans","t":100.3,"body_base64":""}
{"kind":"engine","t":100,"took":0.5,"target":"a","body":""}
{"kind":"spans","t":100.4,"body_base64":""}
`
	if all, err := readAll(t, []byte(text)); err != nil || len(all) != 3 {
		t.Errorf("%d lines, %v", len(all), err)
	}
}

func TestFaultsOfMessages(t *testing.T) {
	first := `{"kind":"spans","t":100,"body_base64":"AA=="}` + "\n"
	for name, c := range map[string]struct{ line, want string }{
		"no body":        {`{"kind":"spans","t":101}`, `rec:2: the key "body_base64" is missing`},
		"not base64":     {`{"kind":"spans","t":101,"body_base64":"A"}`, `rec:2: "body_base64" cannot be read: illegal base64 data`},
		"no time":        {`{"kind":"spans","body_base64":""}`, `rec:2: "t" is 0`},
		"time goes back": {`{"kind":"spans","t":99,"body_base64":""}`, `rec:2: "t" goes back from 100.000 to 99.000`},
	} {
		t.Run(name, func(t *testing.T) {
			all, err := readAll(t, []byte(first+c.line))
			if err == nil || !strings.Contains(err.Error(), c.want) || len(all) != 1 {
				t.Errorf("%d lines and error %v, want %q in it", len(all), err, c.want)
			}
			if _, passed, err := read(t, []byte(first+c.line)); err != nil || passed["spans"] != 2 {
				t.Errorf("who reads pages only meets %v, passing over %v", err, passed)
			}
		})
	}
}

func TestFailedPages(t *testing.T) {
	for name, c := range map[string]struct {
		page Page
		want fact.Reason
	}{
		"a good page":            {Page{Status: 200}, ""},
		"a status":               {Page{Status: 503}, fact.ReasonStatus},
		"an auth status":         {Page{Status: 401}, fact.ReasonAuth},
		"an unfollowed redirect": {Page{Status: 307}, fact.ReasonRedirect},
		"a timeout":              {Page{Err: `Get "http://x/metrics": context deadline exceeded`}, fact.ReasonTimeout},
		"a cut body":             {Page{Err: "unexpected EOF"}, fact.ReasonTruncated},
		"another error":          {Page{Err: "no route to host"}, fact.ReasonConnect},
	} {
		t.Run(name, func(t *testing.T) {
			if got, _, _ := c.page.Failed(); got != c.want {
				t.Errorf("%q, want %q", got, c.want)
			}
		})
	}
}

// Every fault names the file, the line and what is wrong, and the pages before it are had.
func TestFaults(t *testing.T) {
	first := `{"kind":"engine","t":100,"target":"a","body":""}` + "\n"
	cut := zip(t, strings.Repeat(first, 3000))
	for name, c := range map[string]struct {
		data []byte
		want string
	}{
		"an empty file":          {nil, "rec: an empty recording"},
		"not JSON":               {[]byte(first + "{\n"), "rec:2: not a JSON object"},
		"no kind":                {[]byte(first + "{}\n"), `rec:2: the key "kind" is missing`},
		"a version from later":   {[]byte(`{"kind":"header","version":9}` + "\n"), "rec:1: recorded in version 9"},
		"no time":                {[]byte(first + `{"kind":"engine","target":"a","body":""}`), `rec:2: "t" is 0`},
		"time goes back":         {[]byte(first + `{"kind":"engine","t":99,"target":"a","body":""}`), `rec:2: "t" goes back`},
		"took is negative":       {[]byte(first + `{"kind":"engine","t":101,"took":-1,"target":"a","body":""}`), `rec:2: "took" is -1`},
		"no target":              {[]byte(first + `{"kind":"engine","t":101,"body":""}`), `rec:2: the key "target"`},
		"a target like a rank":   {[]byte(first + `{"kind":"engine","t":101,"target":"a/0","body":""}`), `rec:2: "target" is "a/0": a / separates the rank`},
		"neither body nor error": {[]byte(first + `{"kind":"engine","t":101,"target":"a"}`), `rec:2: neither "body" nor "error"`},
		"a file that was cut":    {cut[:len(cut)-20], "the file ends in the middle"},
		"gzip in name only":      {[]byte{0x1f, 0x8b, 0, 0, 0}, "begins as gzip"},
	} {
		t.Run(name, func(t *testing.T) {
			pages, _, err := read(t, c.data)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Fatalf("error %v, want %q in it", err, c.want)
			}
			if strings.HasPrefix(string(c.data), first) && len(pages) != 1 {
				t.Errorf("%d pages before the fault", len(pages))
			}
		})
	}
}

func FuzzReader(f *testing.F) {
	f.Add([]byte(good))
	f.Add([]byte(`{"kind":"gpu","t":100,"source":"dcgm","body":"{}","first":true}` + "\n" + `{"kind":"gpu","t":101,"error":"x","reason":"exited"}`))
	if real, err := os.ReadFile("../../testdata/recordings/vllm-0.32-spec/recording.jsonl.gz"); err == nil {
		f.Add(real[:4096])
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) > 1<<20 {
			return
		}
		r, err := NewReader(io.LimitReader(bytes.NewReader(data), 1<<20), "fuzz")
		if err != nil {
			return
		}
		var page, message, gpu float64
		for range 10000 {
			e, err := r.NextEntry()
			if err != nil {
				return
			}
			last := &page
			there := 0
			if e.Page != nil {
				there++
			}
			if e.Message != nil {
				last, there = &message, there+1
			}
			if e.GPU != nil {
				last, there = &gpu, there+1
			}
			if e.T() < *last || there != 1 || e.Page != nil && e.Page.Target == "" {
				t.Fatalf("accepted %+v after %v", e, *last)
			}
			*last = e.T()
		}
	})
}
