//go:build !race && linux && cgo

package main

// childFlags are those of make build-dcgm.
var childFlags = []string{"-trimpath", "-ldflags", "-s -w -extldflags=-Wl,-z,lazy"}
