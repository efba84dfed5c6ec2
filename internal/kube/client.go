package kube

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"sync"
	"time"

	"github.com/goodput-exporter/goodput-exporter/internal/accessfile"
)

// Client asks an API server. It is safe for concurrent use.
type Client struct {
	config Config
	base   *url.URL

	mu   sync.Mutex
	ca   []byte // what http was made of
	http *http.Client

	conns conns
}

// NewClient checks a configuration and its files. It does not ask the server.
func NewClient(c Config) (*Client, error) {
	c, base, err := c.settled()
	if err != nil {
		return nil, err
	}
	cl := &Client{config: c, base: base}
	if _, err := cl.token(); err != nil {
		return nil, err
	}
	if _, err := cl.client(); err != nil {
		return nil, err
	}
	return cl, nil
}

// token reads the token; "" where none is to be sent.
func (c *Client) token() (string, error) {
	if c.config.TokenFile == "" {
		return "", nil
	}
	text, err := accessfile.Read(c.config.TokenFile)
	if err == nil {
		var token string
		if token, err = accessfile.Line(text); err == nil {
			return token, nil
		}
	}
	return "", fmt.Errorf("the token of the Kubernetes API, %s: %w; in a pod, automountServiceAccountToken must not be false", c.config.TokenFile, err)
}

// client is made anew when the authorities have changed. A file that cannot be used leaves those that were read before.
func (c *Client) client() (*http.Client, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	var text []byte
	var pool *x509.CertPool
	if c.config.CAFile != "" {
		var err error
		if text, err = accessfile.Read(c.config.CAFile); err == nil && (c.http == nil || !bytes.Equal(text, c.ca)) {
			pool, err = accessfile.Authorities(text)
		}
		if err != nil {
			if c.http != nil {
				return c.http, nil
			}
			return nil, fmt.Errorf("the authorities of the Kubernetes API, %s: %w", c.config.CAFile, err)
		}
	}
	if c.http != nil {
		if bytes.Equal(text, c.ca) {
			return c.http, nil
		}
		c.http.CloseIdleConnections()
	}
	c.ca, c.http = text, &http.Client{
		Transport: c.transport(pool),
		// An answer that sends us elsewhere is a mistake, and would take the token along.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	return c.http, nil
}

// Close closes all connections, also those that something is being read from. The client can be used again.
func (c *Client) Close() {
	c.mu.Lock()
	if c.http != nil {
		c.http.CloseIdleConnections()
	}
	c.mu.Unlock()
	c.conns.close()
}

// transport has no proxy: the API server of one's own cluster is next door.
func (c *Client) transport(pool *x509.CertPool) *http.Transport {
	dial := c.config.dial
	if dial == nil {
		dial = (&net.Dialer{Timeout: 10 * time.Second, KeepAlive: 15 * time.Second}).DialContext
	}
	return &http.Transport{
		DialContext:            c.conns.kept(dial),
		TLSClientConfig:        &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12},
		TLSHandshakeTimeout:    10 * time.Second,
		ForceAttemptHTTP2:      true,
		MaxIdleConnsPerHost:    2,
		IdleConnTimeout:        90 * time.Second,
		MaxResponseHeaderBytes: 64 << 10,
		// A watch may be silent for minutes: a peer that has vanished is found out by asking it.
		HTTP2: &http.HTTP2Config{SendPingTimeout: 30 * time.Second, PingTimeout: 15 * time.Second},
	}
}

// get sends one request, and once more where the token was changed meanwhile. The caller closes the body. An answer other
// than 200 is a *StatusError.
func (c *Client) get(ctx context.Context, verb string, q Query, params url.Values) (*http.Response, error) {
	token, err := c.token()
	if err != nil {
		return nil, err
	}
	resp, err := c.send(ctx, verb, q, params, token)
	if refused, is := errors.AsType[*StatusError](err); is && refused.Code == http.StatusUnauthorized {
		if again, e := c.token(); e == nil && again != token {
			return c.send(ctx, verb, q, params, again)
		}
	}
	return resp, err
}

func (c *Client) send(ctx context.Context, verb string, q Query, params url.Values, token string) (*http.Response, error) {
	client, err := c.client()
	if err != nil {
		return nil, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, c.base.String()+q.path()+"?"+params.Encode(), nil)
	if err != nil {
		return nil, errors.New("the request cannot be made: check the API server's URL, the namespace, and the selectors")
	}
	req.Header.Set("Accept", "application/json")
	req.Header.Set("User-Agent", c.config.UserAgent)
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	resp, err := client.Do(req)
	if err != nil {
		if cause := context.Cause(ctx); cause != nil {
			return nil, cause
		}
		return nil, c.unreachable(err)
	}
	if resp.StatusCode != http.StatusOK {
		defer resp.Body.Close()
		return nil, refusal(verb, q, resp)
	}
	return resp, nil
}

// done reads what little may be left of an answer, so that its connection can be used again.
func done(body io.ReadCloser) {
	_, _ = io.CopyN(io.Discard, body, 4<<10)
	_ = body.Close()
}
