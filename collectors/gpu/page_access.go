package gpu

import (
	"crypto/sha256"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"slices"
	"sync/atomic"
	"time"

	"github.com/goodput-exporter/goodput-exporter/exporter/fact"
	"github.com/goodput-exporter/goodput-exporter/internal/accessfile"
)

// Access says what is shown to dcgm-exporter and which certificate is believed. Secrets are named by the files that hold
// them. The zero Access shows nothing and believes the system's authorities.
type Access struct {
	BearerTokenFile           string // excludes Username
	Username, PasswordFile    string
	CAFile, CertFile, KeyFile string
	ServerName                string
	InsecureSkipVerify        bool
}

func (a Access) validate() error {
	switch {
	case a.BearerTokenFile != "" && a.Username != "":
		return errors.New("bearer_token_file and a username exclude each other")
	case (a.Username == "") != (a.PasswordFile == ""):
		return errors.New("username and password_file go together")
	case (a.CertFile == "") != (a.KeyFile == ""):
		return errors.New("cert_file and key_file go together")
	}
	return nil
}

// door is an Access at work. Its files are read for each reading, so that a rotated secret holds from the next on; while
// one cannot be used, as in the middle of a rotation, what the files held before holds.
type door struct {
	Access
	timeout time.Duration

	client        *http.Client
	built         [sha256.Size]byte // of the files that client was made with
	authorization string

	broken atomic.Pointer[[]string] // paths, after the last opening
}

// open returns what one request goes through. A URL that has a user does not need the credentials of files.
func (d *door) open(hasUser bool) (*http.Client, string, *failure) {
	err := d.refresh(hasUser)
	broken := []string{}
	if err != nil {
		broken = d.unusable(hasUser)
	}
	d.broken.Store(&broken)
	if err != nil && d.client == nil {
		return nil, "", fail(fact.ReasonAuth, "%v; nothing was sent", err)
	}
	return d.client, d.authorization, nil
}

// unusable lists the files that cannot be used. A certificate and its key are two files, of which either may be the one.
func (a *Access) unusable(hasUser bool) []string {
	var paths []string
	check := func(of func([]byte) error, files ...string) {
		var all []byte
		for _, path := range files {
			text, err := accessfile.Read(path)
			if all = append(append(all, text...), '\n'); err != nil {
				paths = append(paths, path)
				return
			}
		}
		if of(all) != nil {
			paths = append(paths, files...)
		}
	}
	line := func(text []byte) error { _, err := accessfile.Line(text); return err }
	switch {
	case hasUser:
	case a.BearerTokenFile != "":
		check(line, a.BearerTokenFile)
	case a.Username != "":
		check(line, a.PasswordFile)
	}
	if a.CAFile != "" {
		check(func(text []byte) error { _, err := accessfile.Authorities(text); return err }, a.CAFile)
	}
	if a.CertFile != "" {
		check(func(text []byte) error { _, err := accessfile.Pair(text, text); return err }, a.CertFile, a.KeyFile)
	}
	slices.Sort(paths)
	return slices.Compact(paths)
}

// BrokenFiles lists, sorted, the files of the page's access that could not be used when they were last needed. It does not
// wait for a reading.
func (p *Page) BrokenFiles() []string {
	if broken := p.door.broken.Load(); broken != nil {
		return *broken
	}
	return nil
}

func (d *door) refresh(hasUser bool) error {
	authorization := ""
	switch {
	case hasUser:
	case d.BearerTokenFile != "":
		token, err := secretLine(d.BearerTokenFile)
		if err != nil {
			return fmt.Errorf("bearer_token_file %w", err)
		}
		authorization = "Bearer " + token
	case d.Username != "":
		password, err := secretLine(d.PasswordFile)
		if err != nil {
			return fmt.Errorf("password_file %w", err)
		}
		req := http.Request{Header: http.Header{}}
		req.SetBasicAuth(d.Username, password)
		authorization = req.Header.Get("Authorization")
	}
	cfg, sum, err := d.tls()
	if err != nil {
		return err
	}
	d.authorization = authorization
	if d.client == nil || sum != d.built {
		d.close()
		d.client, d.built = d.connect(cfg), sum
	}
	return nil
}

// tls reads the certificates and returns them with a digest by which a change is seen.
func (d *door) tls() (*tls.Config, [sha256.Size]byte, error) {
	cfg := &tls.Config{ServerName: d.ServerName, InsecureSkipVerify: d.InsecureSkipVerify}
	var ca, cert, key []byte
	var err error
	if d.CAFile != "" {
		if ca, err = readFile(d.CAFile); err != nil {
			return nil, [sha256.Size]byte{}, fmt.Errorf("ca_file %w", err)
		}
		if cfg.RootCAs, err = accessfile.Authorities(ca); err != nil {
			return nil, [sha256.Size]byte{}, fmt.Errorf("ca_file %s cannot be used: %w", d.CAFile, err)
		}
	}
	if d.CertFile != "" {
		if cert, err = readFile(d.CertFile); err != nil {
			return nil, [sha256.Size]byte{}, fmt.Errorf("cert_file %w", err)
		}
		if key, err = readFile(d.KeyFile); err != nil {
			return nil, [sha256.Size]byte{}, fmt.Errorf("key_file %w", err)
		}
		pair, err := accessfile.Pair(cert, key)
		if err != nil {
			return nil, [sha256.Size]byte{}, fmt.Errorf("cert_file %s and key_file %s cannot be used: %w", d.CertFile, d.KeyFile, err)
		}
		cfg.Certificates = []tls.Certificate{pair}
	}
	return cfg, sha256.Sum256(fmt.Appendf(nil, "%d %d %s %s %s", len(ca), len(cert), ca, cert, key)), nil
}

func (d *door) connect(cfg *tls.Config) *http.Client {
	return &http.Client{
		Transport: &http.Transport{
			Proxy:                  nil, // the node's own page; an environment's proxy must not see its credentials
			DialContext:            (&net.Dialer{Timeout: d.timeout}).DialContext,
			TLSHandshakeTimeout:    d.timeout,
			TLSClientConfig:        cfg,
			MaxIdleConnsPerHost:    1, // one reading at a time
			IdleConnTimeout:        time.Minute,
			DisableCompression:     true, // so that the limit holds for what comes out
			MaxResponseHeaderBytes: 64 << 10,
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

func (d *door) close() {
	if d.client != nil {
		d.client.CloseIdleConnections()
	}
}

// secretLine is the one line that a file holds.
func secretLine(path string) (string, error) {
	text, err := readFile(path)
	if err != nil {
		return "", err
	}
	s, err := accessfile.Line(text)
	if err != nil {
		return "", fmt.Errorf("%s cannot be used: %w", path, err)
	}
	return s, nil
}

func readFile(path string) ([]byte, error) {
	text, err := accessfile.Read(path)
	if err != nil {
		return nil, fmt.Errorf("%s cannot be used: %w", path, err)
	}
	return text, nil
}
