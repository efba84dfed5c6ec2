package spans

import (
	"crypto/sha256"
	"crypto/subtle"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/goodput-exporter/goodput-exporter/internal/accessfile"
)

// access is who may send. Files are read again for each handshake and each message, so that a rotated secret holds at
// once: that takes microseconds, and no event can be missed. A file that is gone or of no use for the moment, as in the
// middle of a rotation, counts as what it was before.
type access struct {
	certFile, keyFile, clientCAFile, tokenFile string

	mu    sync.Mutex
	cert  tls.Certificate
	pool  *x509.CertPool
	built [3][sha256.Size]byte // of the certificate, the key and the authorities that cert and pool were made from
	token [sha256.Size]byte    // digest: its comparison takes the same time whatever the length

	bad    map[string]bool
	broken atomic.Pointer[[]string] // sorted; beside mu, which is held while files are read
}

func newAccess(c Config) (*access, error) {
	a := &access{certFile: c.CertFile, keyFile: c.KeyFile, clientCAFile: c.ClientCAFile, tokenFile: c.TokenFile, bad: map[string]bool{}}
	if err := a.readPair(); err != nil {
		return nil, fmt.Errorf("spans.tls_config: cert_file %s and key_file %s cannot be used: %w; give a PEM certificate and its key", a.certFile, a.keyFile, err)
	}
	if err := a.readPool(); err != nil {
		return nil, fmt.Errorf("spans.tls_config.client_ca_file: %s cannot be used: %w; give PEM certificates", a.clientCAFile, err)
	}
	if err := a.readToken(); err != nil {
		return nil, fmt.Errorf("spans.bearer_token_file: %s cannot be used: %w; give a file with the token on one line", a.tokenFile, err)
	}
	return a, nil
}

// of reports whether a configuration names the same files.
func (a *access) of(c Config) bool {
	return a.certFile == c.CertFile && a.keyFile == c.KeyFile && a.clientCAFile == c.ClientCAFile && a.tokenFile == c.TokenFile
}

// admits judges the Authorization header of a message.
func (a *access) admits(authorization string) bool {
	if a.tokenFile == "" {
		return true
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.note(a.readToken(), a.tokenFile)
	scheme, shown, _ := strings.Cut(authorization, " ")
	digest := sha256.Sum256([]byte(strings.TrimSpace(shown)))
	return strings.EqualFold(scheme, "bearer") && subtle.ConstantTimeCompare(digest[:], a.token[:]) == 1
}

// handshake is the TLS of the next connection. Sessions are not resumed: one would outlive the authority that vouched
// for it, and senders keep their connections.
func (a *access) handshake(protocol string) *tls.Config {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.note(a.readPair(), a.certFile, a.keyFile)
	a.note(a.readPool(), a.clientCAFile)
	c := &tls.Config{
		MinVersion: tls.VersionTLS12, NextProtos: []string{protocol}, SessionTicketsDisabled: true, Certificates: []tls.Certificate{a.cert},
	}
	if a.pool != nil {
		c.ClientCAs, c.ClientAuth = a.pool, tls.RequireAndVerifyClientCert
	}
	return c
}

// readPair reads the certificate with its key. They are two files, so that a rotation has a moment in which they do not
// belong together.
func (a *access) readPair() error {
	if a.certFile == "" {
		return nil
	}
	cert, err := accessfile.ReadRegular(a.certFile)
	if err != nil {
		return err
	}
	key, err := accessfile.ReadRegular(a.keyFile)
	if err != nil {
		return err
	}
	if sums := [2][sha256.Size]byte{sha256.Sum256(cert), sha256.Sum256(key)}; sums != [2][sha256.Size]byte(a.built[:2]) {
		pair, err := accessfile.Pair(cert, key)
		if err != nil {
			return err
		}
		a.cert, a.built[0], a.built[1] = pair, sums[0], sums[1]
	}
	return nil
}

func (a *access) readPool() error {
	if a.clientCAFile == "" {
		return nil
	}
	text, err := accessfile.ReadRegular(a.clientCAFile)
	if err != nil {
		return err
	}
	if sum := sha256.Sum256(text); sum != a.built[2] {
		pool, err := accessfile.Authorities(text)
		if err != nil {
			return err
		}
		a.pool, a.built[2] = pool, sum
	}
	return nil
}

func (a *access) readToken() error {
	if a.tokenFile == "" {
		return nil
	}
	text, err := accessfile.ReadRegular(a.tokenFile)
	if err != nil {
		return err
	}
	token, err := accessfile.Line(text)
	if err != nil {
		return err
	}
	a.token = sha256.Sum256([]byte(token))
	return nil
}

// note keeps which files could not be used.
func (a *access) note(err error, paths ...string) {
	for _, p := range paths {
		if (err != nil) == a.bad[p] || p == "" {
			continue
		}
		a.bad[p] = err != nil
		var all []string
		for path, bad := range a.bad {
			if bad {
				all = append(all, path)
			}
		}
		slices.Sort(all)
		a.broken.Store(&all)
	}
}

// brokenFiles does not wait for files: whoever scrapes the exporter asks it.
func (a *access) brokenFiles() []string {
	if all := a.broken.Load(); all != nil {
		return slices.Clone(*all)
	}
	return nil
}
