package config

import (
	"fmt"
	"net/url"
	"strings"

	"gopkg.in/yaml.v3"
)

// Access says how an engine is reached: what the exporter shows of itself, and whom it believes. Paths are as written: see
// Config.Path.
type Access struct {
	BearerTokenFile string
	BasicAuth       *BasicAuth // nil: none
	TLS             TLS
	Proxy           Proxy
}

// BasicAuth is a user with a password in a file.
type BasicAuth struct {
	Username, PasswordFile string
}

// TLS says which certificates are believed and shown.
type TLS struct {
	CAFile, CertFile, KeyFile string
	ServerName                string
	InsecureSkipVerify        bool
}

// Proxy is the address of a proxy.
type Proxy struct {
	Address string // what may be shown: no userinfo
	URL     Secret // the whole URL; empty: no proxy
}

// credentials reports whether something is sent that only the engine should see.
func (a *Access) credentials() bool { return a.BearerTokenFile != "" || a.BasicAuth != nil }

// settleAccess refuses two answers to one question.
func settleAccess(r *reader, path string, a *Access) {
	if a.BearerTokenFile != "" && a.BasicAuth != nil {
		r.at(join(path, "basic_auth"), "stands beside bearer_token_file, and there is one Authorization header", "keep one of the two")
	}
}

// settlePair refuses a certificate without its key and a key without its certificate, and reports whether they agree.
func settlePair(r *reader, path, cert, key string) bool {
	if (cert == "") == (key == "") {
		return true
	}
	given, lacking := "cert_file", "key_file"
	if cert == "" {
		given, lacking = lacking, given
	}
	if r.sound(join(path, lacking)) {
		r.at(join(path, given), "stands without "+lacking, "give both: a certificate is shown with its key")
	}
	return false
}

// settleTLS refuses what cannot work or has no effect.
func settleTLS(r *reader, path string, t *TLS) {
	settlePair(r, path, t.CertFile, t.KeyFile)
	if t.InsecureSkipVerify && (t.CAFile != "" || t.ServerName != "") {
		r.at(join(path, "insecure_skip_verify"), "accepts every certificate, so that ca_file and server_name say nothing", "remove it, or remove them")
	}
}

// settleTarget compares a target's own access with its URL.
func settleTarget(r *reader, path string, t *Target) {
	u, err := url.Parse(t.URL.Reveal())
	if err != nil || u.Host == "" || t.Access == nil {
		return
	}
	if u.User != nil && t.Access.credentials() {
		r.at(join(path, "access"), "has credentials, and the url has a user too", "keep one of the two")
	}
	if u.Scheme == "http" && t.Access.TLS != (TLS{}) {
		r.at(join(path, "access")+".tls_config", "says nothing about a url that begins with http://", "write https://, or remove it")
	}
}

// badPath refuses what can be no file.
func badPath(s string) (what, remedy string) {
	if s == "" || len(s) > 4096 || strings.HasSuffix(s, "/") {
		return "is not the path of a file", "write it like /etc/goodput/token"
	}
	return "", ""
}

func badUser(s string) (what, remedy string) {
	if s == "" || len(s) > 256 || strings.Contains(s, ":") {
		return "is not a user name", "use 1 to 256 bytes without a colon"
	}
	return "", ""
}

func badServerName(s string) (what, remedy string) {
	if s == "" || len(s) > 253 || strings.ContainsAny(s, " /:") {
		return quote(s) + " is not a host name", "write the name in the engine's certificate, such as vllm.example"
	}
	return "", ""
}

// proxyAddress is a proxy's URL.
func proxyAddress() codec[Proxy] {
	const example = "http://127.0.0.1:3128"
	return codec[Proxy]{
		kind: "http, https or socks5 URL",
		read: func(r *reader, at place, p *Proxy) bool {
			s, ok := r.word(at, "URL", example)
			if !ok {
				return false
			}
			u, err := url.Parse(s)
			if err != nil || u.Hostname() == "" || strings.ContainsFunc(s, unprintable) || strings.Trim(u.Path, "/") != "" || u.RawQuery != "" || u.Fragment != "" {
				return r.add(at.line, at.path, "is not the URL of a proxy", "write it like "+example)
			}
			switch u.Scheme {
			case "http", "https", "socks5":
			default:
				return r.add(at.line, at.path, "does not begin with http://, https:// or socks5://", "write it like "+example)
			}
			p.Address, p.URL = fmt.Sprintf("%s://%s", u.Scheme, u.Host), NewSecret(s)
			if u.User == nil && u.Path == "" {
				p.URL = NewSecret(p.Address)
			}
			return true
		},
		write: func(_ writer, p Proxy) *yaml.Node {
			if p.Address == "" {
				return nil
			}
			n := &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: p.Address}
			if p.URL.Reveal() != p.Address {
				n.LineComment = "user and password are not shown"
			}
			return n
		},
	}
}
