package spans

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/netip"
	"sync"
	"syscall"
)

// maxConnections is how many senders one listener keeps: an engine has one to a few, and each costs some 20 kB. More
// wait in the system's queue until others leave.
const maxConnections = 1024

// open listens at the address of a configuration key; nil for no address.
func open(key, address string) (net.Listener, error) {
	if address == "" {
		return nil, nil
	}
	l, err := net.Listen("tcp", address)
	if err == nil {
		return &crowd{Listener: l, slots: make(chan struct{}, maxConnections), closed: make(chan struct{})}, nil
	}
	remedy := "give HOST:PORT, such as 127.0.0.1:4318"
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		remedy = "another program, such as an OpenTelemetry Collector, listens there: choose another port, and let the senders know"
	case errors.Is(err, syscall.EADDRNOTAVAIL):
		remedy = "this machine has no such address: use one that it has, or 0.0.0.0"
	case errors.Is(err, fs.ErrPermission):
		remedy = "this user may not listen there: use a port above 1023"
	}
	if o, ok := errors.AsType[*net.OpError](err); ok {
		err = o.Err // without the address, which stands before it
	}
	return nil, fmt.Errorf("%s: cannot listen at %s: %w; %s", key, address, err, remedy)
}

// crowd is a listener with a bounded number of open connections.
type crowd struct {
	net.Listener
	slots  chan struct{}
	closed chan struct{}
	once   sync.Once
}

// Accept waits for a connection, and for room for it.
func (c *crowd) Accept() (net.Conn, error) {
	select {
	case c.slots <- struct{}{}:
	case <-c.closed:
		return nil, net.ErrClosed
	}
	conn, err := c.Listener.Accept()
	if err != nil {
		<-c.slots
		return nil, err
	}
	return &guest{Conn: conn, leave: sync.OnceFunc(func() { <-c.slots })}, nil
}

// Close ends an Accept that waits, for a connection or for room.
func (c *crowd) Close() error {
	c.once.Do(func() { close(c.closed) })
	return c.Listener.Close()
}

type guest struct {
	net.Conn
	leave func()
}

// Close makes room for another.
func (g *guest) Close() error {
	defer g.leave()
	return g.Conn.Close()
}

// peer is an address without port and zone, in its shortest form, so that it can be compared with a target's.
func peer(address string) string {
	if ap, err := netip.ParseAddrPort(address); err == nil {
		return ap.Addr().Unmap().WithZone("").String()
	}
	if a, err := netip.ParseAddr(address); err == nil {
		return a.Unmap().WithZone("").String()
	}
	return ""
}

// warnIfOpen says once that anyone who reaches the listeners can send.
func (r *Receiver) warnIfOpen(s *settings) {
	if r.warned || s.TokenFile != "" || s.ClientCAFile != "" {
		return
	}
	for key, l := range map[string]net.Listener{"spans.listen": r.http, "spans.grpc_listen": r.grpc} {
		if l == nil {
			continue
		}
		if a, ok := l.Addr().(*net.TCPAddr); ok && !a.IP.IsLoopback() {
			r.log.Warn("anyone who reaches this address can send spans, and so say how well an engine does; set spans.bearer_token_file or spans.tls_config.client_ca_file, or let a network policy admit the engines only",
				"key", key, "address", l.Addr().String())
			r.warned = true
			return
		}
	}
}
