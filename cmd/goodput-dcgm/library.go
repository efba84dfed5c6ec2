//go:build linux && cgo

package main

/*
#cgo LDFLAGS: -ldl
#include <dlfcn.h>
#include <stdlib.h>

static void *open_library(const char *name) { return dlopen(name, RTLD_LAZY | RTLD_GLOBAL); }
*/
import "C"

import (
	"strings"
	"unsafe"

	"github.com/goodput-exporter/goodput-exporter/collectors/gpu/frame"
)

// libraryName is the one name that go-dcgm opens.
const libraryName = "libdcgm.so.4"

// needed are the functions of libdcgm that this program calls, directly or within go-dcgm. Calling one that the library
// lacks ends the process with status 127 before any Go code can say a word, so they are looked for first.
var needed = []string{
	"errorString", "dcgmInit", "dcgmShutdown", "dcgmVersionInfo", "dcgmHostengineVersionInfo",
	"dcgmGetEntityGroupEntities", "dcgmGetGpuInstanceHierarchy", "dcgmGetGpuStatus", "dcgmProfGetSupportedMetricGroups",
	"dcgmGroupCreate", "dcgmGroupAddEntity", "dcgmGroupDestroy", "dcgmFieldGroupCreate", "dcgmFieldGroupDestroy",
	"dcgmWatchFields", "dcgmUnwatchFields", "dcgmUpdateAllFields", "dcgmEntitiesGetLatestValues", "dcgmGetValuesSince_v2",
}

// symbols are those of needed and the ones that begin and end a session with the engine.
func symbols(e endpoint) []string {
	if e.embedded {
		return append([]string{"dcgmStartEmbedded", "dcgmStopEmbedded"}, needed...)
	}
	return append([]string{e.symbol, "dcgmDisconnect"}, needed...)
}

// checkLibrary loads libdcgm and looks for what will be called. go-dcgm loads it again, which is free, but would not say
// what the loader said.
func checkLibrary(e endpoint) error {
	name := C.CString(libraryName)
	defer C.free(unsafe.Pointer(name))
	handle := C.open_library(name)
	if handle == nil {
		return fail(frame.ExitLibrary, "%s cannot be loaded (%s); install the package datacenter-gpu-manager-4-core of the host engine's version, or mount it from the host and set LD_LIBRARY_PATH",
			libraryName, C.GoString(C.dlerror()))
	}
	var missing []string
	for _, s := range symbols(e) {
		symbol := C.CString(s)
		if C.dlsym(handle, symbol) == nil {
			missing = append(missing, s)
		}
		C.free(unsafe.Pointer(symbol))
	}
	if missing == nil {
		return nil
	}
	release := "DCGM 4.0"
	if missing[0] == "dcgmConnect_v3" {
		release = "DCGM 4.5"
	}
	return fail(frame.ExitLibrary, "%s lacks %s; %s or newer is needed", libraryName, strings.Join(missing, ", "), release)
}
