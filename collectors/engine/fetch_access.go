package engine

import (
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"sync"
	"sync/atomic"
	"time"

	"github.com/goodput-exporter/goodput-exporter/exporter/fact"
	"github.com/goodput-exporter/goodput-exporter/internal/accessfile"
)

// Access says how a target is reached: what is shown to it, and which certificate is believed. Secrets are named by the
// files that hold them. The zero Access shows nothing and believes the system's authorities.
type Access struct {
	BearerTokenFile           string // excludes Username
	Username, PasswordFile    string
	CAFile, CertFile, KeyFile string
	ServerName                string
	InsecureSkipVerify        bool
	Proxy                     string // URL, may hold a password; "" is no proxy, whatever the environment says
}

// withoutCredentials is the same way without what tells who asks: a certificate of the exporter's is no less of a credential
// than a token. What its proxy is shown stays, since that is no target.
func (a Access) withoutCredentials() Access {
	a.BearerTokenFile, a.Username, a.PasswordFile, a.CertFile, a.KeyFile = "", "", "", "", ""
	return a
}

// entrance is one Access at work: the connections that are made under it, and what its files held when they last could
// be used.
type entrance struct {
	Access
	timeout time.Duration

	mu     sync.Mutex
	files  map[string]*accessFile // by path
	client *http.Client
	built  [sha256.Size]byte // of the certificates and the key that client was made with

	broken atomic.Pointer[[]string] // paths, after the last opening; beside mu, which is held while files are read
}

// accessFile is a file as it was when it could last be used.
type accessFile struct {
	text   []byte
	usable bool
	broken bool // the last reading did not bring anything that can be used
}

func newEntrance(a Access, timeout time.Duration) *entrance {
	return &entrance{Access: a, timeout: timeout, files: map[string]*accessFile{}}
}

// pass is what one poll goes through an entrance with.
type pass struct {
	client        *http.Client
	authorization string   // value of the header; "" none
	secrets       []string // what must not be repeated
}

// open reads the files again, so that a rotated secret holds from the next poll on, and returns what they hold. A file
// that is gone or of no use for the moment, as in the middle of a rotation, counts as what it was before. Files are read
// for each poll: that takes microseconds, and no event can be missed.
//
// A target whose URL has a user does not need the credentials of all.
func (e *entrance) open(hasUser bool) (*pass, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	defer e.noteBroken()
	p := &pass{}
	switch {
	case hasUser:
	case e.BearerTokenFile != "":
		token, err := e.secret(e.BearerTokenFile, "bearer_token_file")
		if err != nil {
			return nil, err
		}
		p.authorization, p.secrets = "Bearer "+token, []string{token}
	case e.Username != "":
		password, err := e.secret(e.PasswordFile, "password_file")
		if err != nil {
			return nil, err
		}
		both := base64.StdEncoding.EncodeToString([]byte(e.Username + ":" + password))
		p.authorization, p.secrets = "Basic "+both, []string{password, both}
	}
	if u, err := url.Parse(e.Proxy); err == nil && u.User != nil {
		password, _ := u.User.Password()
		p.secrets = append(p.secrets, password)
	}
	if err := e.refresh(); err != nil {
		return nil, err
	}
	p.client = e.client
	return p, nil
}

// secret is the one line that a file holds.
func (e *entrance) secret(path, key string) (string, error) {
	text, err := e.read(path, func(text []byte) error {
		_, err := accessfile.Line(text)
		return err
	})
	if err != nil {
		return "", refuse(fact.ReasonAuth, "%s %s cannot be used: %v; nothing was sent", key, path, err)
	}
	return accessfile.Line(text)
}

// read returns what a file holds, or held when it could last be used.
func (e *entrance) read(path string, fit func([]byte) error) ([]byte, error) {
	f := e.files[path]
	if f == nil {
		f = &accessFile{}
		e.files[path] = f
	}
	text, err := accessfile.Read(path)
	if err == nil {
		err = fit(text)
	}
	if f.broken = err != nil; !f.broken {
		f.text, f.usable = text, true
	}
	if f.usable {
		return f.text, nil
	}
	return nil, err
}

// refresh makes a new client when the certificates or the key have changed; connections under the old ones are closed
// as soon as they are idle.
func (e *entrance) refresh() error {
	var ca, cert, key []byte
	var err error
	if e.CAFile != "" {
		ca, err = e.read(e.CAFile, func(text []byte) error {
			_, err := accessfile.Authorities(text)
			return err
		})
		if err != nil {
			return refuse(fact.ReasonConnect, "ca_file %s cannot be used: %v; nothing was sent", e.CAFile, err)
		}
	}
	if e.CertFile != "" {
		if cert, key, err = e.pair(); err != nil {
			return refuse(fact.ReasonConnect, "cert_file %s and key_file %s cannot be used: %v; nothing was sent", e.CertFile, e.KeyFile, err)
		}
	}
	hash := sha256.New()
	for _, part := range [][]byte{ca, cert, key} {
		fmt.Fprintf(hash, "%d ", len(part))
		hash.Write(part)
	}
	sum := [sha256.Size]byte(hash.Sum(nil))
	if e.client != nil && sum == e.built {
		return nil
	}
	before := e.client
	e.client, e.built = e.connect(ca, cert, key), sum
	if before != nil {
		before.CloseIdleConnections()
	}
	return nil
}

// pair is the certificate with its key. They are two files, so that a rotation has a moment in which they do not belong
// together: until they do again, the pair before holds.
func (e *entrance) pair() (cert, key []byte, err error) {
	cert, err = accessfile.Read(e.CertFile)
	if err == nil {
		key, err = accessfile.Read(e.KeyFile)
	}
	if err == nil {
		_, err = accessfile.Pair(cert, key)
	}
	for path, text := range map[string][]byte{e.CertFile: cert, e.KeyFile: key} {
		f := e.files[path]
		if f == nil {
			f = &accessFile{}
			e.files[path] = f
		}
		if f.broken = err != nil; !f.broken {
			f.text, f.usable = text, true
		}
	}
	if c, k := e.files[e.CertFile], e.files[e.KeyFile]; c.usable && k.usable {
		return c.text, k.text, nil
	}
	return nil, nil, err
}

// connect makes a client. Its inputs have been found to be sound.
func (e *entrance) connect(ca, cert, key []byte) *http.Client {
	transport := &http.Transport{
		Proxy:                  nil, // an engine is asked directly; an environment's proxy must not see its credentials
		DialContext:            (&net.Dialer{Timeout: e.timeout}).DialContext,
		TLSHandshakeTimeout:    e.timeout,
		TLSClientConfig:        &tls.Config{ServerName: e.ServerName, InsecureSkipVerify: e.InsecureSkipVerify},
		MaxIdleConnsPerHost:    1, // one poll at a time
		IdleConnTimeout:        time.Minute,
		DisableCompression:     true, // read decompresses itself, so that the limit holds for what comes out
		MaxResponseHeaderBytes: 64 << 10,
	}
	if u, err := url.Parse(e.Proxy); err == nil && e.Proxy != "" {
		transport.Proxy = http.ProxyURL(u)
	}
	if ca != nil {
		transport.TLSClientConfig.RootCAs = x509.NewCertPool()
		transport.TLSClientConfig.RootCAs.AppendCertsFromPEM(ca)
	}
	if cert != nil {
		if c, err := tls.X509KeyPair(cert, key); err == nil {
			transport.TLSClientConfig.Certificates = []tls.Certificate{c}
		}
	}
	return &http.Client{Transport: transport, CheckRedirect: checkRedirect}
}

func (e *entrance) noteBroken() {
	var paths []string
	for path, f := range e.files {
		if f.broken {
			paths = append(paths, path)
		}
	}
	e.broken.Store(&paths)
}

// brokenFiles does not wait for files: whoever scrapes the exporter asks it, and a disk that hangs costs the targets behind
// it only.
func (e *entrance) brokenFiles() []string {
	if paths := e.broken.Load(); paths != nil {
		return *paths
	}
	return nil
}

func (e *entrance) close() {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.client != nil {
		e.client.CloseIdleConnections()
	}
}
