//go:build linux && cgo

package main

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/NVIDIA/go-dcgm/pkg/dcgm"

	"github.com/goodput-exporter/goodput-exporter/collectors/gpu/frame"
)

// release is a version of DCGM: major, minor, patch. nil is unknown, and compares as neither newer nor older.
type release []int

// strict is the first release from which library and engine have to be of one version: since then some requests fail in
// either direction (dcgm-exporter's notes on its release 4.9.0).
var strict = release{4, 7, 1}

// versionOf reads "version:4.6.1;arch:x86_64;...". NVIDIA promises no key, so what is not understood is unknown.
func versionOf(info dcgm.VersionInfo, err error) release {
	if err != nil {
		return nil
	}
	for pair := range strings.SplitSeq(info.RawBuildInfoString, ";") {
		if v, ok := strings.CutPrefix(strings.TrimSpace(pair), "version:"); ok {
			return parseRelease(v)
		}
	}
	return nil
}

func parseRelease(s string) release {
	parts := strings.Split(strings.TrimSpace(s), ".")
	if len(parts) != 3 {
		return nil
	}
	var r release
	for _, p := range parts {
		n, err := strconv.Atoi(p)
		if err != nil || n < 0 {
			return nil
		}
		r = append(r, n)
	}
	return r
}

func (r release) String() string {
	if r == nil {
		return ""
	}
	return fmt.Sprintf("%d.%d.%d", r[0], r[1], r[2])
}

// compatible refuses a library that is newer than the engine: it sends requests that the engine has never heard of, and
// gets an error for every read.
func compatible(library, host release) error {
	if library == nil || host == nil || slices.Compare(library, host) <= 0 {
		return nil
	}
	return fail(frame.ExitVersion, "%s %s is newer than the host engine, %s, which does not know all of its requests; install libdcgm %s here, or update nv-hostengine",
		libraryName, library, host, host)
}

// uneasy is what is to be said of versions that may work together or not; "" when they do.
func uneasy(library, host release) string {
	switch {
	case library == nil || host == nil:
		return fmt.Sprintf("the versions of %s (%q) and of the host engine (%q) are not both known, so they were not compared", libraryName, library, host)
	case slices.Compare(library, host) < 0 && slices.Compare(host, strict) >= 0:
		return fmt.Sprintf("%s %s is older than the host engine, %s; from DCGM %s on they are to be of one version, and some requests may fail", libraryName, library, host, strict)
	}
	return ""
}
