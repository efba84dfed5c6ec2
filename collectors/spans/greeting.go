package spans

import (
	"bytes"
	"crypto/tls"
	"net"
	"slices"
)

// greeted is a listener that looks at how its connections begin: who speaks another protocol than is spoken here is
// hung up on by the servers without a word.
type greeted struct {
	net.Listener
	heard func(conn net.Conn, first []byte)
}

func (g greeted) Accept() (net.Conn, error) {
	c, err := g.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &greeter{Conn: c, heard: g.heard}, nil
}

// greeting is how many bytes tell the protocols apart.
const greeting = 4

// greeter keeps the first bytes that are read. It waits for nothing that the server does not wait for; servers read a
// connection from one goroutine at a time.
type greeter struct {
	net.Conn
	first []byte
	heard func(net.Conn, []byte) // nil: was told
}

func (g *greeter) Read(to []byte) (int, error) {
	n, err := g.Conn.Read(to)
	if g.heard != nil && n > 0 {
		g.first = append(g.first, to[:min(n, greeting-len(g.first))]...)
		if len(g.first) == greeting {
			heard := g.heard
			g.heard = nil
			heard(g.Conn, g.first)
		}
	}
	return n, err
}

// greet looks at the connections of a listener. What speaks the wrong protocol is counted as a message, for it would have
// been one.
func (r *Receiver) greet(l net.Listener, protocol string) net.Listener {
	secure := r.settings.Load().CertFile != ""
	return greeted{l, func(c net.Conn, first []byte) {
		if wrong, ok := misspoken(protocol, secure, first); ok {
			r.finish(protocol, peer(c.RemoteAddr().String()), wrong)
		}
	}}
}

// misspoken judges the first bytes of a connection. gRPC to HTTP is not told here: the handler gets it and can answer.
func misspoken(protocol string, secure bool, first []byte) (answer, bool) {
	const handshake = 0x16 // the type of TLS's first record; the version's major part is 3
	hello := first[0] == handshake && first[1] == 3
	http := slices.ContainsFunc([]string{"POST", "GET ", "PUT ", "HEAD", "OPTI"}, func(s string) bool { return string(first) == s })
	switch {
	case hello && !secure:
		return tlsToPlain, true
	case secure && (http || bytes.Equal(first, []byte("PRI "))):
		return plainToTLS, true
	case http && protocol == GRPC:
		return httpToGRPC, true
	}
	return answer{}, false
}

// misoffered judges the protocols that a TLS client offers. Every gRPC offers h2.
func misoffered(protocol string, offered []string) (answer, bool) {
	switch {
	case protocol == HTTP && slices.Contains(offered, "h2") && !slices.Contains(offered, "http/1.1"):
		return grpcToHTTP, true
	case protocol == GRPC && !slices.Contains(offered, "h2"):
		return httpToGRPC, true
	}
	return answer{}, false
}

// tls asks for the certificates of the settings in force at each handshake.
func (r *Receiver) tls(protocol string) *tls.Config {
	next := map[string]string{HTTP: "http/1.1", GRPC: "h2"}[protocol]
	return &tls.Config{
		NextProtos: []string{next}, MinVersion: tls.VersionTLS12,
		GetConfigForClient: func(hello *tls.ClientHelloInfo) (*tls.Config, error) {
			if wrong, ok := misoffered(protocol, hello.SupportedProtos); ok {
				r.finish(protocol, peer(hello.Conn.RemoteAddr().String()), wrong)
			}
			return r.settings.Load().access.handshake(next), nil
		},
	}
}
