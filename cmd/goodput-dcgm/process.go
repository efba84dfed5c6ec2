//go:build linux && cgo

package main

import (
	"fmt"
	"io"
	"os"
	"syscall"
)

// claimStdout keeps standard output for frames: what a C library prints there goes to standard error, and not between two
// frames, where it would end the parent's trust.
func claimStdout() (*os.File, error) {
	fd, err := syscall.Dup(1)
	if err != nil {
		return nil, fmt.Errorf("standard output cannot be kept for frames: %w", err)
	}
	syscall.CloseOnExec(fd)
	if err := syscall.Dup3(2, 1, 0); err != nil {
		return nil, fmt.Errorf("standard output cannot be kept for frames: %w", err)
	}
	return os.NewFile(uintptr(fd), "frames"), nil
}

// untilEOF returns when nobody holds the other end of in any more: the parent has gone, or wants this process to go.
func untilEOF(in io.Reader) { _, _ = io.Copy(io.Discard, in) }

// dieWithParent asks the kernel for SIGTERM when the thread that started this process ends. It is there for a parent that
// was killed while a third process holds the pipe to our standard input. The request belongs to the calling thread. It can
// come too late, when the parent has died already: then the end of standard input tells.
func dieWithParent() {
	_, _, _ = syscall.RawSyscall(syscall.SYS_PRCTL, syscall.PR_SET_PDEATHSIG, uintptr(syscall.SIGTERM), 0)
}
