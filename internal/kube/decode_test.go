package kube

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
)

func TestDecodeList(t *testing.T) {
	for name, c := range map[string]struct {
		text string
		want string // names, or an error after !
	}{
		"a list":                     {`{"kind":"PodList","metadata":{"resourceVersion":"5"},"items":[{"metadata":{"name":"a"}},{"metadata":{"name":"b"}}]}`, "a b"},
		"items before the metadata":  {`{"items":[{"metadata":{"name":"a"}}],"metadata":{"resourceVersion":"5"}}`, "a"},
		"an empty list":              {`{"metadata":{"resourceVersion":"5"},"items":[]}`, ""},
		"no items":                   {`{"metadata":{"resourceVersion":"5"},"items":null}`, ""},
		"nothing":                    {``, "!EOF"},
		"the half of it":             {`{"metadata":{"resourceVersion":"5"},"items":[{"metadata":{"name":"a"}},{"meta`, "!unexpected EOF"},
		"no list":                    {`[]`, "![ where { should be"},
		"items that are none":        {`{"items":{}}`, "!{ where the items should be"},
		"a number for a name":        {`{"metadata":{"resourceVersion":"5"},"items":[{"metadata":{"name":7}}]}`, "!cannot unmarshal"},
		"a list without a version":   {`{"items":[]}`, "!this is no Kubernetes API"},
		"a status instead of a list": {`{"kind":"Status","metadata":{},"status":"Failure"}`, "!this is no Kubernetes API"},
	} {
		t.Run(name, func(t *testing.T) {
			var names []string
			_, err := decodeList(strings.NewReader(c.text), usual, func(o thing) error { names = append(names, o.Metadata.Name); return nil })
			wrong, isWrong := strings.CutPrefix(c.want, "!")
			switch {
			case isWrong && (err == nil || !strings.Contains(err.Error(), wrong)):
				t.Errorf("error %v, want %q in it", err, wrong)
			case !isWrong && (err != nil || strings.Join(names, " ") != c.want):
				t.Errorf("names %q, error %v", names, err)
			}
		})
	}
}

// endless is a text that goes on.
type endless struct {
	head, then string
	read       int
}

func (e *endless) Read(p []byte) (int, error) {
	rest := e.head
	if e.read < len(e.head) {
		rest = rest[e.read:]
	} else {
		rest = e.then[(e.read-len(e.head))%len(e.then):]
	}
	n := copy(p, rest)
	e.read += n
	return n, nil
}

// TestBounds: what has no end is read up to a limit.
func TestBounds(t *testing.T) {
	none := func(thing) error { return nil }
	object := &endless{head: `{"items":[{"metadata":{"name":"`, then: strings.Repeat("x", 1<<12)}
	if _, err := decodeList(object, small, none); !errors.Is(err, errObjectTooLarge) || int64(object.read) > small.object+1<<10 {
		t.Errorf("an object: %d bytes, %v", object.read, err)
	}
	items := &endless{head: `{"items":[`, then: `{"metadata":{"name":"` + strings.Repeat("x", 1<<15) + `"}},`}
	if _, err := decodeList(items, small, none); !errors.Is(err, errPageTooLarge) || int64(items.read) > small.page {
		t.Errorf("items: %d bytes, %v", items.read, err)
	}
	space := &endless{head: `{`, then: strings.Repeat(" ", 1<<12)}
	if _, err := decodeList(space, small, none); !errors.Is(err, errObjectTooLarge) {
		t.Errorf("white space: %v", err)
	}
	// Many objects of a watch, each of them small.
	var stream bytes.Buffer
	for range 3 {
		stream.WriteString(`{"type":"ADDED","object":"` + strings.Repeat("x", int(small.object)-100) + `"}` + "\n")
	}
	s := newStream(&stream, small)
	for i := range 3 {
		if err := s.value(&event{}); err != nil {
			t.Errorf("event %d: %v", i, err)
		}
	}
}

// FuzzList: whatever a server writes, reading it ends, without a panic, and with a version or an error.
func FuzzList(f *testing.F) {
	f.Add([]byte(`{"kind":"PodList","metadata":{"resourceVersion":"5","continue":"x"},"items":[{"metadata":{"name":"a"}},null]}`))
	f.Add([]byte(`{"items":null}`))
	f.Add([]byte(`{"metadata":{"resourceVersion":5}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		p, err := decodeList(bytes.NewReader(text), usual, func(thing) error { return nil })
		if err == nil && p.ResourceVersion == "" {
			t.Error("neither a version nor an error")
		}
	})
}

// FuzzWatch: likewise for the events of a watch. What is handed over has a name and a version.
func FuzzWatch(f *testing.F) {
	f.Add([]byte(`{"type":"ADDED","object":{"metadata":{"name":"a","resourceVersion":"6"}}}` + "\n" + `{"type":"BOOKMARK","object":{"metadata":{"resourceVersion":"7"}}}`))
	f.Add([]byte(`{"type":"ERROR","object":{"kind":"Status","code":410,"reason":"Expired"}}`))
	f.Add([]byte(`{"type":"DELETED","object":null}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		s := newStream(bytes.NewReader(text), usual)
		calls := told[thing]{
			object: func(_ string, o thing) {
				if o.Metadata.Name == "" || o.Metadata.ResourceVersion == "" {
					t.Errorf("an object %+v", o.Metadata)
				}
			},
			heard: func(version string) {
				if version == "" {
					t.Error("a word without a version")
				}
			},
		}
		for {
			var e event
			if err := s.value(&e); err != nil {
				if end := watchEnd(nil, err, things); end == nil && !errors.Is(err, io.EOF) {
					t.Errorf("%v is taken for an end", err)
				}
				return
			}
			if take(e, things, calls) != nil {
				return
			}
		}
	})
}
