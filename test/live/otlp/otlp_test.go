package otlp

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"testing"
)

const recordings = "../../../testdata/recordings"

// lines reads gzipped JSON lines, those that hold a text.
func lines[T any](t testing.TB, path, text string) (out []T) {
	t.Helper()
	f, err := os.Open(filepath.Join(recordings, path))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	unzipped, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	scan := bufio.NewScanner(unzipped)
	scan.Buffer(nil, 16<<20)
	for scan.Scan() {
		if !bytes.Contains(scan.Bytes(), []byte(text)) {
			continue // most of a recording are pages, which take long to read
		}
		var v T
		if err := json.Unmarshal(scan.Bytes(), &v); err != nil {
			t.Fatal(err)
		}
		out = append(out, v)
	}
	if err := scan.Err(); err != nil {
		t.Fatal(err)
	}
	return out
}

type batch struct {
	Kind string `json:"kind"`
	Body []byte `json:"body_base64"`
}

// batches are what a real engine sent in a recording.
func batches(t testing.TB, name string) (out [][]byte) {
	for _, l := range lines[batch](t, name+"/recording.jsonl.gz", `"spans"`) {
		if l.Kind == "spans" {
			out = append(out, l.Body)
		}
	}
	return out
}

// TestSpansOfRealEngines reads the batches that engines sent, and compares with what was read from them when they were
// recorded. vllm-0.11-day has thousands of spans of other kinds among them.
func TestSpansOfRealEngines(t *testing.T) {
	for _, name := range []string{"vllm-0.32-dp2", "vllm-0.11-day"} {
		t.Run(name, func(t *testing.T) {
			type record struct {
				ID                                string
				TTFT, E2E, Queue, Prefill, Decode float64
				Prompt                            int `json:"prompt_tokens"`
				Completion                        int `json:"completion_tokens"`
			}
			type started struct {
				record
				Start float64
			}
			want := map[record][]float64{}
			for _, r := range lines[started](t, name+"/engine_truth.jsonl.gz", "") {
				want[r.record] = append(want[r.record], r.Start)
			}
			n := 0
			for _, b := range batches(t, name) {
				spans, err := Decode(b)
				if err != nil {
					t.Fatal(err)
				}
				for _, s := range spans {
					n++
					r := record{s.ID, s.TTFT, s.E2E, s.Queue, s.Prefill, s.Decode, s.Prompt, s.Completion}
					if len(want[r]) == 0 || math.Abs(want[r][0]-s.Start) > 2e-6 { // written down in microseconds
						t.Fatalf("a span that was not recorded, or at %v: %+v", want[r], s)
					}
					want[r] = want[r][1:]
					if s.End != s.Start+s.E2E {
						t.Fatalf("%+v ends at %v", s, s.End)
					}
				}
			}
			left := 0
			for _, k := range want {
				left += len(k)
			}
			if n == 0 || left > 0 {
				t.Errorf("%d spans were read, and %d of the recorded ones were not found", n, left)
			}
		})
	}
}

func TestTPOT(t *testing.T) {
	if v, has := (&Span{Completion: 5, Decode: 0.2}).TPOT(); !has || v != 0.05 {
		t.Errorf("%v, %v", v, has)
	}
	if _, has := (&Span{Completion: 1}).TPOT(); has {
		t.Error("one token has no time per further token")
	}
}

// FuzzDecode: whatever comes over the wire, the receiver does not fall over, and what is no message is an error.
func FuzzDecode(f *testing.F) {
	for i, b := range batches(f, "vllm-0.32-spec") {
		if len(b) < 4096 || i == 0 {
			f.Add(b)
		}
	}
	f.Add([]byte{0x0a, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01})
	f.Add([]byte{0x0b})
	f.Fuzz(func(t *testing.T, data []byte) {
		spans, err := Decode(data)
		if err != nil && spans != nil {
			t.Errorf("%d spans beside the error %v", len(spans), err)
		}
	})
}
