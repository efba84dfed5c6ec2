package main

import (
	"compress/gzip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/goodput-exporter/goodput-exporter/exporter/sim"
)

func TestTraceSaysWhatClientsDid(t *testing.T) {
	ended := []asked{ // in the order in which they ended
		{ID: "b", At: 101, E2E: 1, Prompt: 20, MaxTokens: 5, N: 1, Outcome: "ok"},
		{ID: "unseen", At: 100.5, Prompt: 30, MaxTokens: 6, N: 1, Outcome: "cancelled"},
		{ID: "a", At: 100, E2E: 4, Prompt: 10, MaxTokens: 4, N: 2, Outcome: "ok"},
		{ID: "bad", At: 102, E2E: 0.01, Prompt: 40, MaxTokens: 7, N: 1, Outcome: "rejected"},
		{ID: "seen", At: 103, E2E: 0.25, Chunks: 3, Prompt: 50, MaxTokens: 8, N: 1, Outcome: "cancelled"},
	}
	r, err := newRecording(ended, []served{{ID: "cmpl-a-0"}, {ID: "cmpl-a-0"}, {ID: "cmpl-b-0"}})
	if err != nil {
		t.Fatal(err)
	}
	want := []sim.Sent{
		{At: 0, Prompt: 10, Output: 4, N: 2},
		{At: 0.5, Prompt: 30, Output: 6, N: 1, CancelAfter: 2.5}, // between the ends at 102 and at 104
		{At: 1, Prompt: 20, Output: 5, N: 1},
		{At: 2, Prompt: 40, Output: 7, N: 1, Bad: true},
		{At: 3, Prompt: 50, Output: 8, N: 1, CancelAfter: 0.25},
	}
	if got := r.trace(r.end); !slices.Equal(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
	if got := r.trace(101); len(got) != 3 {
		t.Errorf("up to 101 s there are %d requests, want 3", len(got))
	}
}

func TestReadRecordingSaysWhatIsWrong(t *testing.T) {
	request, sequence := `{"id":"a","t_arrival":1,"outcome":"ok"}`, `{"id":"cmpl-a-0"}`
	for name, c := range map[string]struct{ truth, engine, want string }{
		"a whole one is read":              {request, sequence, ""},
		"a line that is no JSON":           {request + "\n{", sequence, "truth.jsonl.gz: line 2"},
		"nothing was asked":                {"", sequence, "is empty"},
		"nothing was finished":             {request, "", "is empty"},
		"a sequence that nobody asked for": {request, `{"id":"cmpl-b-0"}`, "which no client asked for"},
	} {
		t.Run(name, func(t *testing.T) {
			folder := t.TempDir()
			write(t, filepath.Join(folder, "truth.jsonl.gz"), c.truth)
			write(t, filepath.Join(folder, "engine_truth.jsonl.gz"), c.engine)
			_, err := readRecording(folder)
			switch {
			case c.want == "" && err != nil:
				t.Error(err)
			case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
				t.Errorf("got %v, want an error with %q", err, c.want)
			}
		})
	}
}

func write(t *testing.T, path, text string) {
	t.Helper()
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	z := gzip.NewWriter(f)
	if _, err := z.Write([]byte(text)); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
}
