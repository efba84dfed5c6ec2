//go:build race && linux && cgo

package main

// childFlags build the child with the race detector when the tests have it.
var childFlags = []string{"-race", "-ldflags", "-extldflags=-Wl,-z,lazy"}
