//go:build linux && cgo

package main

import (
	"fmt"
	"net"
	"strconv"
	"strings"
)

// endpoint is where the host engine is.
type endpoint struct {
	embedded bool
	args     []string // what go-dcgm's Init takes for a connection
	shown    string   // the address as it was given
	symbol   string   // the function of libdcgm that connects
}

func (e endpoint) mode() string {
	if e.embedded {
		return "embedded"
	}
	return "standalone"
}

// String names the engine in a message.
func (e endpoint) String() string {
	if e.embedded {
		return "embedded host engine"
	}
	return "host engine at " + e.shown
}

// parseAddress takes the forms that DCGM's own tools take. TCP and unix sockets are connected to by dcgmConnect_v2,
// which every libdcgm 4 has; only vsock needs dcgmConnect_v3, of DCGM 4.5.
func parseAddress(s string) (endpoint, error) {
	scheme, rest, found := strings.Cut(s, "://")
	if !found {
		scheme, rest = "tcp", s
		if strings.HasPrefix(s, "/") {
			scheme = "unix"
		}
	}
	switch strings.ToLower(scheme) {
	case "tcp":
		if err := hostPort(rest); err != nil {
			return endpoint{}, fmt.Errorf("--address=%s: %w", s, err)
		}
		return endpoint{args: []string{rest, "0"}, shown: s, symbol: "dcgmConnect_v2"}, nil
	case "unix":
		if !strings.HasPrefix(rest, "/") {
			return endpoint{}, fmt.Errorf("--address=%s: the path of a socket begins with /, as in unix:///run/nvidia/dcgm.sock", s)
		}
		return endpoint{args: []string{rest, "1"}, shown: s, symbol: "dcgmConnect_v2"}, nil
	case "vsock":
		cid, port, ok := strings.Cut(rest, ":")
		if !ok || !isNumber(cid, 32) || !isNumber(port, 32) {
			return endpoint{}, fmt.Errorf("--address=%s: a vsock is a context id and a port, as in vsock://2:5555", s)
		}
		return endpoint{args: []string{"vsock://" + rest}, shown: s, symbol: "dcgmConnect_v3"}, nil
	}
	return endpoint{}, fmt.Errorf("--address=%s: the scheme %q is none of tcp, unix and vsock", s, scheme)
}

func hostPort(s string) error {
	host, port, err := net.SplitHostPort(s)
	if err != nil || host == "" || !isNumber(port, 16) || port == "0" {
		return fmt.Errorf("%q is not host:port, as in localhost:5555", s)
	}
	return nil
}

func isNumber(s string, bits int) bool {
	_, err := strconv.ParseUint(s, 10, bits)
	return err == nil
}
