//go:build !linux || !cgo

package main

import (
	"fmt"
	"os"

	"github.com/goodput-exporter/goodput-exporter/collectors/gpu/frame"
)

// Without cgo there is no way to libdcgm. The program builds all the same, so that the whole module does.
func main() {
	fmt.Fprintln(os.Stderr, "goodput-dcgm: this binary was built without cgo or not for Linux, so it cannot load libdcgm.so.4; build it on Linux with make build-dcgm, or let goodput-exporter read the page of a dcgm-exporter")
	os.Exit(frame.ExitLibrary)
}
