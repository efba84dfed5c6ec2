//go:build linux && cgo

package main

import (
	"bytes"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/goodput-exporter/goodput-exporter/collectors/gpu/frame"
)

func TestAddresses(t *testing.T) {
	for address, want := range map[string][]string{
		"localhost:5555":               {"localhost:5555", "0"},
		"tcp://10.0.0.1:5555":          {"10.0.0.1:5555", "0"},
		"TCP://[::1]:5555":             {"[::1]:5555", "0"},
		"unix:///run/nvidia/dcgm.sock": {"/run/nvidia/dcgm.sock", "1"},
		"/run/nvidia/dcgm.sock":        {"/run/nvidia/dcgm.sock", "1"},
		"vsock://2:5555":               {"vsock://2:5555"},
	} {
		e, err := parseAddress(address)
		if err != nil || !reflect.DeepEqual(e.args, want) || e.embedded || e.mode() != "standalone" || e.String() != "host engine at "+address {
			t.Errorf("%s: %+v, %v", address, e, err)
		}
	}
}

func TestWrongArgumentsAreRefusedWithTheRemedy(t *testing.T) {
	for args, want := range map[string]string{
		"":                               "say --address of an nv-hostengine (as localhost:5555), or --embedded; see --help",
		"--embedded --address=a:1":       "--embedded and --address exclude each other",
		"--address=localhost":            `--address=localhost: "localhost" is not host:port, as in localhost:5555`,
		"--address=:5555":                `":5555" is not host:port`,
		"--address=a:0":                  "is not host:port",
		"--address=a:70000":              "is not host:port",
		"--address=unix://run/dcgm.sock": "the path of a socket begins with /",
		"--address=vsock://host:5555":    "a vsock is a context id and a port, as in vsock://2:5555",
		"--address=http://a:1":           `the scheme "http" is none of tcp, unix and vsock`,
		"--embedded --interval=10ms":     "--interval=10ms is not between 100ms and 1m0s",
		"--embedded --interval=soon":     "invalid duration",
		"--embedded --fields=155,9999":   `--fields: "9999" is not the number of a field that goodput-exporter understands; those are [1 50`,
		"--embedded --fields=power":      `--fields: "power" is not the number`,
		"--embedded --profiling=no":      "must be one of auto,on,off, got 'no'",
		"--embedded --nvml":              "unknown long flag",
		"serve":                          "unexpected serve",
	} {
		var out, notes bytes.Buffer
		_, status, done := parse(strings.Fields(args), &out, &notes)
		if !done || status != frame.ExitUsage || !strings.Contains(notes.String(), want) || strings.Count(notes.String(), "\n") != 1 {
			t.Errorf("%q: status %d, %v, %q; want %q on one line", args, status, done, notes.String(), want)
		}
	}
}

func TestHelpAndVersionEndTheProgram(t *testing.T) {
	for _, flag := range []string{"--help", "-h", "--version"} {
		var out, notes bytes.Buffer
		if _, status, done := parse([]string{flag}, &out, &notes); !done || status != 0 || !strings.Contains(out.String()+notes.String(), "goodput-dcgm") {
			t.Errorf("%s: status %d, done %v, %q", flag, status, done, out.String()+notes.String())
		}
	}
}

func TestFieldsAreThoseAskedForAndIdentity(t *testing.T) {
	var out bytes.Buffer
	opts, _, done := parse([]string{"--embedded", "--fields=155, 1002,155"}, &out, &out)
	if want := []int{1, 50, 54, 57, 155, 1002}; done || !slices.Equal(opts.fields, want) {
		t.Errorf("%v, want %v", opts.fields, want)
	}
	opts, _, done = parse([]string{"--embedded"}, &out, &out)
	if done || len(opts.fields) != len(frame.CardFields())+len(frame.Profiling()) || !slices.IsSorted(opts.fields) || opts.interval != time.Second {
		t.Errorf("by default %+v", opts)
	}
}

func TestReleases(t *testing.T) {
	for text, want := range map[string]release{
		"4.6.1": {4, 6, 1}, " 4.10.0": {4, 10, 0}, "4.6": nil, "4.6.1.2": nil, "4.x.1": nil, "": nil, "4.-6.1": nil,
	} {
		if got := parseRelease(text); !reflect.DeepEqual(got, want) {
			t.Errorf("%q: %v, want %v", text, got, want)
		}
	}
	if err := compatible(parseRelease("4.10.0"), parseRelease("4.9.0")); err == nil {
		t.Error("4.10 was not taken for newer than 4.9")
	}
}
