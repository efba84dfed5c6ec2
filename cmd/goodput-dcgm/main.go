//go:build linux && cgo

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime"
	"runtime/debug"
	"syscall"
	"time"

	"github.com/goodput-exporter/goodput-exporter/collectors/gpu/frame"
)

// farewell bounds the clean-up after the program was asked to end. A call of libdcgm cannot be cancelled, and may hang
// for a minute, or for ever when DCGM is embedded.
const farewell = 2 * time.Second

// Each value passes through 8 KiB of buffers, so that eight cards make 2.6 MB of garbage a tick, of which nothing is kept.
// With a target of 50 the collector is the larger part of a tick; with 300 it is not, and 8 MiB more are resident
// (BenchmarkChild). The limit, in bytes, is where it begins to work hard whatever the target.
const (
	collectorTarget = 300
	memoryLimit     = 24 << 20
)

func main() {
	debug.SetGCPercent(collectorTarget)
	debug.SetMemoryLimit(memoryLimit)
	os.Exit(run(os.Args[1:], os.Stdin, os.Stderr))
}

// run is the program: it returns the exit status, one of frame's Exit codes or 0 when it was asked to end.
func run(args []string, in io.Reader, notes io.Writer) int {
	opts, status, done := parse(args, os.Stdout, notes)
	if done {
		return status
	}
	out, err := claimStdout()
	if err != nil {
		return tell(notes, err)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		untilEOF(in)
		cancel()
	}()

	ended := make(chan error, 1)
	go func() {
		// One thread calls libdcgm and no other; it is also the thread that asks to be told of the parent's death, so it must
		// not end while the process lives.
		runtime.LockOSThread()
		dieWithParent()
		ended <- read(ctx, opts, out, notes)
	}()
	select {
	case err = <-ended:
	case <-ctx.Done():
		select {
		case err = <-ended:
		case <-time.After(farewell):
			err = nil
			fmt.Fprintf(notes, "goodput-dcgm: asked to end while libdcgm did not return; ended after %s without saying goodbye to the host engine\n", farewell)
		}
	}
	return tell(notes, err)
}

// failure is an error with the exit status that tells the parent its kind.
type failure struct {
	status int
	err    error
}

func (f *failure) Error() string { return f.err.Error() }
func (f *failure) Unwrap() error { return f.err }

func fail(status int, format string, args ...any) error {
	return &failure{status, fmt.Errorf(format, args...)}
}

// tell writes why the program ends, as the last line of notes, and returns the exit status.
func tell(notes io.Writer, err error) int {
	if err == nil {
		return 0
	}
	fmt.Fprintf(notes, "goodput-dcgm: %v\n", err)
	var f *failure
	if errors.As(err, &f) {
		return f.status
	}
	return frame.ExitEngine
}
