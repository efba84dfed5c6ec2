package main

import (
	"bytes"
	"errors"
	"io"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// screen is what a terminal's line shows after some output: a carriage return goes back to its beginning.
func screen(output string) string {
	var line []byte
	at := 0
	for _, c := range []byte(output) {
		if c == '\r' {
			at = 0
			continue
		}
		if at < len(line) {
			line[at] = c
		} else {
			line = append(line, c)
		}
		at++
	}
	return strings.TrimRight(string(line), " ")
}

func TestProgressOnATerminal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		p := newProgress(io.Discard, "replaying")
		p.out = &out // a terminal
		p.at(0.01)
		if out.Len() > 0 {
			t.Errorf("work that may be over at once says %q", out.String())
		}
		time.Sleep(10 * time.Second)
		p.at(0.25)
		if got := screen(out.String()); got != "replaying:  25 %, 30s to go" {
			t.Errorf("a quarter after 10 s shows %q", got)
		}
		before := out.Len()
		p.at(0.26)
		if out.Len() != before {
			t.Error("it writes more often than anybody can read")
		}
		time.Sleep(time.Second)
		p.at(1.5) // a file that has grown meanwhile
		if got := screen(out.String()); got != "replaying: 100 %" {
			t.Errorf("the end shows %q", got)
		}
		p.done()
		if got := screen(out.String()); got != "" || strings.Contains(out.String(), "\n") {
			t.Errorf("it leaves %q behind", got)
		}
	})
}

// TestProgressIsSilentWhereNobodyWatches: not a byte in a pipe or a file.
func TestProgressIsSilentWhereNobodyWatches(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	p := newProgress(w, "replaying")
	p.next = time.Time{}
	p.at(0.5)
	p.done()
	w.Close()
	got, err := io.ReadAll(r)
	if err != nil || len(got) > 0 {
		t.Errorf("a pipe gets %q, %v", got, err)
	}
}

// TestReplayKnowsHowFarItIs: the share that progress shows goes from 0 to 1 with what has been read of all files.
func TestReplayKnowsHowFarItIs(t *testing.T) {
	pages, err := openRecordings([]string{recordingPath("vllm-0.32-spec"), recordingPath("vllm-0.32-restart")})
	if err != nil {
		t.Fatal(err)
	}
	defer pages.Close()
	last := 0.0
	for {
		_, err := pages.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if s := pages.share(); s < last || s > 1 {
			t.Fatalf("the share goes from %v to %v", last, s)
		} else {
			last = s
		}
	}
	if last < 0.99 {
		t.Errorf("at the end %v has been read", last)
	}
}
