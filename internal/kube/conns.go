package kube

import (
	"context"
	"net"
	"sync"
)

type dialFunc = func(ctx context.Context, network, address string) (net.Conn, error)

// conns are the open connections of a client. HTTP/2 leaves that of a watch that was given up open, and in use for a moment, so
// that it is not among the idle ones that a transport closes.
type conns struct {
	mu   sync.Mutex
	open map[*conn]struct{}
}

type conn struct {
	net.Conn
	of *conns
}

// kept is a way to connect whose connections are known.
func (c *conns) kept(dial dialFunc) dialFunc {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		raw, err := dial(ctx, network, address)
		if err != nil {
			return nil, err
		}
		k := &conn{Conn: raw, of: c}
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.open == nil {
			c.open = map[*conn]struct{}{}
		}
		c.open[k] = struct{}{}
		return k, nil
	}
}

func (c *conn) Close() error {
	c.of.mu.Lock()
	delete(c.of.open, c)
	c.of.mu.Unlock()
	return c.Conn.Close()
}

// close closes all of them.
func (c *conns) close() {
	c.mu.Lock()
	all := c.open
	c.open = nil
	c.mu.Unlock()
	for k := range all {
		_ = k.Conn.Close()
	}
}
