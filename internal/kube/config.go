package kube

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"net/url"
	"os"
	"strings"
)

// Config says where the API server is and how it is spoken to. The zero value is the cluster that this pod runs in.
type Config struct {
	// Server is its URL; "" is the one that the environment of a pod names (KUBERNETES_SERVICE_HOST and _PORT).
	Server string
	// TokenFile and CAFile are read anew for each request. Both are "" for those of the pod's service account where Server
	// is "" too; where a server is named, "" is no token, and the system's authorities.
	TokenFile, CAFile string
	UserAgent         string       // "goodput-exporter" by default
	Logger            *slog.Logger // nothing is logged by default

	// Tests have their own.
	getenv func(string) string
	dial   func(ctx context.Context, network, addr string) (net.Conn, error)
	limits limits
}

// Where the kubelet puts the credentials of a pod's service account.
const (
	serviceAccountToken = "/var/run/secrets/kubernetes.io/serviceaccount/token"
	serviceAccountCA    = "/var/run/secrets/kubernetes.io/serviceaccount/ca.crt"
)

// Check says what is wrong with a configuration itself, whatever the machine it is read on.
func (c Config) Check() error {
	if c.Server == "" {
		return nil
	}
	_, err := serverURL(c.Server, c.TokenFile != "")
	return err
}

// settled is the configuration with its defaults, and the server's address.
func (c Config) settled() (Config, *url.URL, error) {
	if c.getenv == nil {
		c.getenv = os.Getenv
	}
	if c.limits == (limits{}) {
		c.limits = usual
	}
	if c.UserAgent == "" {
		c.UserAgent = "goodput-exporter"
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	if c.Server == "" {
		host, port := strings.Trim(c.getenv("KUBERNETES_SERVICE_HOST"), "[]"), c.getenv("KUBERNETES_SERVICE_PORT")
		if host == "" || port == "" {
			return c, nil, errors.New("the Kubernetes API: KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT are not set, so this is no pod: run in one, or give the API server's URL in engines.kubernetes.api.server")
		}
		c.Server = "https://" + net.JoinHostPort(host, port)
		if c.TokenFile == "" {
			c.TokenFile = serviceAccountToken
		}
		if c.CAFile == "" {
			c.CAFile = serviceAccountCA
		}
	}
	base, err := serverURL(c.Server, c.TokenFile != "")
	return c, base, err
}

// serverURL takes apart the address of an API server. A token is sent over TLS, or stays on this machine.
func serverURL(raw string, token bool) (*url.URL, error) {
	u, err := url.Parse(raw)
	switch {
	case err != nil:
		return nil, errors.New("the API server's URL cannot be read: write https://HOST:PORT") // the parser repeats it, with a password in it
	case u.User != nil:
		return nil, errors.New("the API server's URL holds a user: name a file with a token instead")
	case u.Scheme != "https" && u.Scheme != "http" || u.Hostname() == "" || u.RawQuery != "" || u.Fragment != "":
		return nil, errors.New("the API server's URL is not one of a server: write https://HOST:PORT, without ? and #")
	case u.Scheme == "http" && token && !loopback(u.Hostname()):
		return nil, fmt.Errorf("the API server's URL, of the host %s, would have the token sent in the clear: write https", u.Host)
	}
	u.Path = strings.TrimSuffix(u.Path, "/")
	return u, nil
}

func loopback(host string) bool {
	addr, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && addr.IsLoopback()
}
