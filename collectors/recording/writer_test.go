package recording

import (
	"bytes"
	"errors"
	"io"
	"reflect"
	"testing"
)

// TestWhatIsWrittenIsRead writes pages of every kind and reads the same ones back.
func TestWhatIsWrittenIsRead(t *testing.T) {
	pages := []Page{
		{Line: 2, T: 1796000744.25, Took: 0.0125, Target: "a", Status: 200, ContentType: "text/plain; version=1.0.0; charset=utf-8", Body: []byte("# HELP x <&>\nx{a=\"ü\\n\"} 1.0\n")},
		{Line: 3, T: 1796000744.5, Took: 0.5, Target: "b", Err: "connect: connection refused"},
		{Line: 4, T: 1796000744.5, Target: "a", Status: 503, ContentType: "text/html", Body: []byte{}},
	}
	var file bytes.Buffer
	w, err := NewWriter(&file)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range pages {
		if err := w.Write(p); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	r, err := NewReader(&file, "written")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range pages {
		got, err := r.Next()
		if err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("read %+v, wrote %+v", got, want)
		}
	}
	if p, err := r.Next(); !errors.Is(err, io.EOF) {
		t.Errorf("read %+v, %v after the last page", p, err)
	}
}

// TestWhatIsWrittenOfMessagesIsRead mixes them with pages.
func TestWhatIsWrittenOfMessagesIsRead(t *testing.T) {
	entries := []Entry{
		{Message: &Message{Line: 2, T: 1.25, Peer: "fd00::1", Path: "/v1/traces", ContentType: "application/x-protobuf", ContentEncoding: "gzip", Body: []byte{0, 1, 255}}},
		{Page: &Page{Line: 3, T: 1.5, Target: "a", Status: 200, Body: []byte("x 1\n")}},
		{Message: &Message{Line: 4, T: 1.75, Body: []byte{}}},
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
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	got, err := readAll(t, file.Bytes())
	if err != nil || !reflect.DeepEqual(got, entries) {
		t.Errorf("read %+v, %v, wrote %+v", got, err, entries)
	}
}

// TestTheLongestMessageFitsIntoALine, and a longer one is refused without harm to the recording.
func TestTheLongestMessageFitsIntoALine(t *testing.T) {
	if testing.Short() {
		t.Skip("writes 64 MiB")
	}
	var file bytes.Buffer
	w, err := NewWriter(&file)
	if err != nil {
		t.Fatal(err)
	}
	body := make([]byte, MaxMessage+1)
	if err := w.WriteMessage(Message{T: 1, Peer: "10.0.0.1", Body: body}); err == nil {
		t.Error("a message that cannot be read back was written")
	}
	if err := errors.Join(w.WriteMessage(Message{T: 2, Body: body[1:]}), w.Close()); err != nil {
		t.Fatal(err)
	}
	if all, err := readAll(t, file.Bytes()); err != nil || len(all) != 1 || len(all[0].Message.Body) != MaxMessage {
		t.Errorf("read %d messages, %v", len(all), err)
	}
}

// TestAWriterThatFailsSaysSo loses nothing silently: a full disk is an error at the latest when the recording ends.
func TestAWriterThatFailsSaysSo(t *testing.T) {
	w, err := NewWriter(full{})
	if err == nil {
		err = w.Write(Page{T: 1, Target: "a", Status: 200, Body: []byte("x 1\n")})
	}
	if err == nil {
		err = w.Close()
	}
	if !errors.Is(err, errFull) {
		t.Errorf("the error is %v", err)
	}
}

var errFull = errors.New("no space left on device")

type full struct{}

func (full) Write([]byte) (int, error) { return 0, errFull }

// TestWhatWasFlushedIsWhole cuts the file at every flush, as a kill would, and reads it without a fault.
func TestWhatWasFlushedIsWhole(t *testing.T) {
	var file bytes.Buffer
	w, err := NewWriter(&file)
	if err != nil {
		t.Fatal(err)
	}
	for n := range 4 {
		if n > 0 {
			if err := w.Write(Page{T: float64(n), Target: "a", Status: 200, Body: []byte("x 1\n")}); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.Flush(); err != nil {
			t.Fatal(err)
		}
		size := file.Len()
		if err := w.Flush(); err != nil || file.Len() != size {
			t.Errorf("flushing nothing writes %d bytes, %v", file.Len()-size, err)
		}
		pages, _, err := read(t, bytes.Clone(file.Bytes()))
		if err != nil || len(pages) != n {
			t.Errorf("after flush %d: %d pages, %v", n, len(pages), err)
		}
	}
	size := file.Len()
	if err := w.Close(); err != nil || file.Len() != size {
		t.Errorf("closing after a flush writes %d bytes, %v", file.Len()-size, err)
	}
}

// TestReasonsSurvive where they are of the closed set; one from elsewhere is told by the words, as without it.
func TestReasonsSurvive(t *testing.T) {
	for name, c := range map[string]struct{ line, want string }{
		"a known one":    {`{"kind":"engine","t":1,"target":"a","error":"the connection ended","reason":"truncated"}`, "truncated"},
		"an unknown":     {`{"kind":"engine","t":1,"target":"a","error":"connection refused","reason":"x\ny"}`, "refused"},
		"none":           {`{"kind":"engine","t":1,"target":"a","error":"connection refused"}`, "refused"},
		"of a good page": {`{"kind":"engine","t":1,"target":"a","status":200,"body":"","reason":"timeout"}`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			pages, _, err := read(t, []byte(c.line))
			if err != nil {
				t.Fatal(err)
			}
			if reason, _, _ := pages[0].Failed(); string(reason) != c.want {
				t.Errorf("%q", reason)
			}
		})
	}
}
