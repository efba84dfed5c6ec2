//go:build linux && cgo

package main

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/NVIDIA/go-dcgm/pkg/dcgm"

	"github.com/goodput-exporter/goodput-exporter/collectors/gpu/frame"
)

// session is a connection to a host engine, from which there is no way back: after an error the process ends, and the
// parent starts another. DCGM does not reconnect, and groups and watches belong to the connection.
type session struct {
	engine  endpoint
	library release
	host    release // of the host engine; that of the library when embedded
	close   func()
}

// open checks the library, connects or starts the embedded engine, and compares the two versions. It is called once in a
// process: go-dcgm has one handle, and a second Init with another address silently keeps the first.
func open(e endpoint, notes io.Writer) (*session, error) {
	if err := checkLibrary(e); err != nil {
		return nil, err
	}
	mode := dcgm.Standalone
	if e.embedded {
		mode = dcgm.Embedded
	}
	cleanup, err := dcgm.Init(mode, e.args...)
	if err != nil {
		return nil, notConnected(e, err)
	}
	s := &session{engine: e, close: cleanup}
	s.library = versionOf(dcgm.GetVersionInfo())
	s.host = versionOf(dcgm.GetHostengineVersionInfo())
	if err := compatible(s.library, s.host); err != nil {
		cleanup()
		return nil, err
	}
	if note := uneasy(s.library, s.host); note != "" {
		fmt.Fprintf(notes, "goodput-dcgm: %s\n", note)
	}
	return s, nil
}

// notConnected explains why there is no session. go-dcgm gives DCGM's text of the return code, not the code.
func notConnected(e endpoint, err error) error {
	switch {
	case strings.Contains(err.Error(), "version mismatch"):
		return fail(frame.ExitVersion, "%s: %w; install the libdcgm of the host engine's version", e, err)
	case e.embedded:
		return fail(frame.ExitConnect, "%s: %w; it needs the NVIDIA driver and its device files in this container, or use --address of an nv-hostengine", e, err)
	}
	return fail(frame.ExitConnect, "%s: %w; is nv-hostengine running and listening there?", e, err)
}

// lost says what an error of a call means for the session; nil when it may be a passing one.
func lost(call string, err error) error {
	var d *dcgm.Error
	if !errors.As(err, &d) {
		return nil
	}
	switch d.Code {
	case dcgm.DCGM_ST_CONNECTION_NOT_VALID, dcgm.DCGM_ST_UNINITIALIZED:
		return fail(frame.ExitEngine, "%s: the host engine went away: %w", call, err)
	case dcgm.DCGM_ST_VER_MISMATCH, dcgm.DCGM_ST_FUNCTION_NOT_FOUND:
		return fail(frame.ExitVersion, "%s: the host engine does not understand libdcgm: %w; install the libdcgm of its version", call, err)
	}
	return nil
}
