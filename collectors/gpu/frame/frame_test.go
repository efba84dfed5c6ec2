package frame

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"math"
	"reflect"
	"strings"
	"testing"
	"testing/iotest"
)

func sample() *Frame {
	return &Frame{
		At: 1790000000.25, Interval: 1, Intervals: map[int]float64{FieldRecovery: 30}, Mode: "standalone", Library: "4.6.0", Engine: "4.6.0",
		Entities: []Entity{
			{Kind: Card, ID: 0, Values: []Value{
				String(FieldUUID, 0, 1789999999000000, "GPU-11111111-2222-3333-4444-555555555555"),
				Integer(FieldEnergy, 0, 1790000000000000, math.MaxInt64-13),
				Real(FieldPower, 0, 1790000000000000, 612.437),
				Real(FieldSMActive, 0, 1790000000000000, math.NaN()),
				{Field: FieldBusy, Status: -18},
			}},
			{Kind: Instance, ID: 3, Card: 0, Instance: 7, Profile: "1g.10gb", Values: []Value{Real(FieldEngine, 0, 1790000000000000, 0.87)}},
			{Kind: Card, ID: 1, State: "lost"},
		},
		Events:      []Event{{Kind: Card, ID: 0, Field: FieldXID, Time: 1789999999500000, Int: 31}},
		EventsLost:  true,
		Unavailable: []Unavailable{{FieldTensor, "the profiling module is not loaded"}},
	}
}

func written(t testing.TB, frames ...*Frame) []byte {
	t.Helper()
	var b bytes.Buffer
	for _, f := range frames {
		if err := Write(&b, f); err != nil {
			t.Fatal(err)
		}
	}
	return b.Bytes()
}

// framed puts the right length before any text.
func framed(text string) []byte {
	return append(binary.BigEndian.AppendUint32(nil, uint32(len(text))), text...)
}

func TestAFrameComesOutAsItWentIn(t *testing.T) {
	want := sample()
	bytesOf := written(t, want, want)
	if !bytes.HasPrefix(bytesOf[4:], []byte(`{"version":1,`)) {
		t.Errorf("the version does not stand first: %.40q", bytesOf[4:])
	}
	for name, r := range map[string]io.Reader{"at once": bytes.NewReader(bytesOf), "a byte at a time": iotest.OneByteReader(bytes.NewReader(bytesOf))} {
		reader := NewReader(r)
		for range 2 {
			got, err := reader.Next()
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			if !reflect.DeepEqual(got, want) {
				t.Errorf("%s:\ngot  %+v\nwant %+v", name, got, want)
			}
		}
		if _, err := reader.Next(); err != io.EOF {
			t.Errorf("%s: after the last frame: %v, want io.EOF", name, err)
		}
	}
}

func TestNoNumberIsNoNumber(t *testing.T) {
	for _, v := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
		if got := Real(FieldPower, 0, 1, v); got.Kind != Text {
			t.Errorf("%v travels as %+v", v, got)
		}
	}
}

func TestWhatIsNoFrameIsRefused(t *testing.T) {
	whole := written(t, sample())
	for name, c := range map[string]struct {
		in   []byte
		want error
		says string
	}{
		"nothing":                      {nil, io.EOF, ""},
		"a length cut short":           {whole[:3], io.ErrUnexpectedEOF, ""},
		"a length and nothing":         {whole[:4], io.ErrUnexpectedEOF, ""},
		"a frame cut short":            {whole[:len(whole)-1], io.ErrUnexpectedEOF, ""},
		"text of a library":            {[]byte("DCGM initialized\n"), ErrTooLarge, `"DCGM"`},
		"one byte over the limit":      {binary.BigEndian.AppendUint32(nil, MaxBytes+1), ErrTooLarge, "4194305 bytes"},
		"a length of zero":             {framed(""), ErrGarbage, ""},
		"no JSON":                      {framed("hello, world"), ErrGarbage, "does not begin with"},
		"JSON of something else":       {framed(`{"a":1}`), ErrGarbage, "does not begin with"},
		"a version that is no number":  {framed(`{"version":"1"}`), ErrGarbage, "no number"},
		"a newer version":              {framed(`{"version":2,"at":"now"}`), ErrVersion, "writes frames of version 2, this goodput-exporter reads version 1; install both"},
		"a version beyond all numbers": {framed(`{"version":99999999999999999999}`), ErrGarbage, "no number"},
		"a member of another type":     {framed(`{"version":1,"at":"now"}`), ErrGarbage, "at"},
		"text after the frame":         {framed(`{"version":1} {"version":1}`), ErrGarbage, ""},
	} {
		_, err := NewReader(bytes.NewReader(c.in)).Next()
		if !errors.Is(err, c.want) || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: got %v, want %v that says %q", name, err, c.want, c.says)
		}
	}
}

func TestKeysOfALaterReleaseAreIgnored(t *testing.T) {
	f, err := NewReader(bytes.NewReader(framed(`{"version":1,"at":5,"weather":"fine","entities":[{"kind":"card","id":2,"mood":1,"values":[{"f":54,"q":1}]}]}`))).Next()
	if err != nil || f.At != 5 || f.Entities[0].ID != 2 || f.Entities[0].Values[0].Field != FieldUUID {
		t.Errorf("got %+v, %v", f, err)
	}
}

func TestAFrameTooLargeIsNotWritten(t *testing.T) {
	var b bytes.Buffer
	f := &Frame{Entities: []Entity{{Kind: Card, State: strings.Repeat("x", MaxBytes)}}}
	if err := Write(&b, f); !errors.Is(err, ErrTooLarge) || b.Len() != 0 {
		t.Errorf("got %v and %d bytes on the pipe", err, b.Len())
	}
}

func TestAClaimedLengthCostsNoMemory(t *testing.T) {
	r := NewReader(bytes.NewReader(append(binary.BigEndian.AppendUint32(nil, MaxBytes), "short"...)))
	if _, err := r.Next(); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Fatal(err)
	}
	if cap(r.body) > 512<<10 {
		t.Errorf("%d bytes were kept for a frame of which 5 came", cap(r.body))
	}
}

func TestFieldsAreListedOnce(t *testing.T) {
	seen := map[int]bool{}
	last := 0
	for _, f := range append(CardFields(), 0) {
		if f != 0 && f <= last {
			t.Errorf("field %d of a card does not ascend", f)
		}
		seen[f], last = true, f
	}
	for _, f := range Profiling() {
		if seen[f] {
			t.Errorf("field %d is a card's and a profiling field", f)
		}
	}
	if n := len(seen) + len(Profiling()); n > 128 {
		t.Errorf("%d fields do not fit into one field group of DCGM", n)
	}
	for _, f := range InstanceFields() {
		if !seen[f] {
			t.Errorf("field %d is asked of an instance only", f)
		}
	}
}

func FuzzNext(f *testing.F) {
	f.Add(written(f, sample()))
	f.Add(written(f, &Frame{}))
	f.Add([]byte("DCGM initialized\n"))
	f.Add(framed(`{"version":2}`))
	f.Fuzz(func(t *testing.T, in []byte) {
		r := NewReader(bytes.NewReader(in))
		for {
			got, err := r.Next()
			if err != nil {
				if got != nil {
					t.Fatal("a frame beside an error")
				}
				return
			}
			// What was read can be written, and is read as the same.
			again, err := NewReader(bytes.NewReader(written(t, got))).Next()
			if err != nil || !reflect.DeepEqual(again, got) {
				t.Fatalf("%v\nfirst  %+v\nsecond %+v", err, got, again)
			}
		}
	})
}

func BenchmarkNext(b *testing.B) {
	var values []Value
	for _, id := range append(CardFields(), Profiling()...)[:30] {
		values = append(values, Integer(id, 0, 1790000000000000, 71234))
	}
	f := &Frame{At: 1790000000, Interval: 1}
	for id := range 8 {
		f.Entities = append(f.Entities, Entity{Kind: Card, ID: id, Values: values})
	}
	in := written(b, f)
	b.SetBytes(int64(len(in)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := NewReader(bytes.NewReader(in)).Next(); err != nil {
			b.Fatal(err)
		}
	}
}
