package cluster

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"math/big"
	"net"
	"net/http"
	"path/filepath"
	"testing"
	"time"
)

// issuer is whom tokens of service accounts are from and for.
const issuer = "https://kubernetes.default.svc"

// authority signs certificates of servers and tokens of service accounts.
type authority struct {
	t        testing.TB
	cert     *x509.Certificate
	key      *ecdsa.PrivateKey
	pool     *x509.CertPool
	pair     tls.Certificate // of servers on loopback
	accounts *ecdsa.PrivateKey
}

// newAuthority writes ca.crt, server.crt, server.key and accounts.key into a directory.
func newAuthority(t testing.TB, dir string) *authority {
	t.Helper()
	a := &authority{t: t, key: newKey(t), accounts: newKey(t), pool: x509.NewCertPool()}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "tests"}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	a.cert = a.sign(template, template, &a.key.PublicKey)
	a.pool.AddCert(a.cert)
	key := newKey(t)
	leaf := a.sign(&x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: "kube-apiserver"}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, DNSNames: []string{"localhost"}, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}, a.cert, &key.PublicKey)
	a.pair = tls.Certificate{Certificate: [][]byte{leaf.Raw}, PrivateKey: key}
	put := func(name, kind string, der []byte) {
		write(t, filepath.Join(dir, name), string(pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der})))
	}
	put("ca.crt", "CERTIFICATE", a.cert.Raw)
	put("server.crt", "CERTIFICATE", leaf.Raw)
	put("server.key", "EC PRIVATE KEY", encoded(t, key))
	put("accounts.key", "EC PRIVATE KEY", encoded(t, a.accounts))
	return a
}

func newKey(t testing.TB) *ecdsa.PrivateKey {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func encoded(t testing.TB, key *ecdsa.PrivateKey) []byte {
	t.Helper()
	der, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	return der
}

func (a *authority) sign(template, parent *x509.Certificate, key *ecdsa.PublicKey) *x509.Certificate {
	a.t.Helper()
	der, err := x509.CreateCertificate(rand.Reader, template, parent, key, a.key)
	if err != nil {
		a.t.Fatal(err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		a.t.Fatal(err)
	}
	return cert
}

// client trusts what the authority signed.
func (a *authority) client() *http.Client {
	return &http.Client{Timeout: 30 * time.Second, Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: a.pool}}}
}

// leeway is how long the API server takes a token for after it has ended.
const leeway = time.Minute

// token is a service account's, as the API server itself would sign it, but for as short a time as is asked: the server
// gives none for less than 10 minutes.
func (a *authority) token(namespace, account, uid string, life time.Duration) string {
	a.t.Helper()
	part := func(v any) string {
		text, err := json.Marshal(v)
		if err != nil {
			a.t.Fatal(err)
		}
		return base64.RawURLEncoding.EncodeToString(text)
	}
	now := time.Now()
	signed := part(object{"alg": "ES256", "typ": "JWT"}) + "." + part(object{
		"iss": issuer, "aud": []string{issuer}, "sub": "system:serviceaccount:" + namespace + ":" + account,
		"iat": now.Add(-time.Hour).Unix(), "nbf": now.Add(-time.Hour).Unix(), "exp": now.Add(life - leeway).Unix(),
		"kubernetes.io": object{"namespace": namespace, "serviceaccount": object{"name": account, "uid": uid}},
	})
	sum := sha256.Sum256([]byte(signed))
	r, s, err := ecdsa.Sign(rand.Reader, a.accounts, sum[:])
	if err != nil {
		a.t.Fatal(err)
	}
	signature := make([]byte, 64)
	r.FillBytes(signature[:32])
	s.FillBytes(signature[32:])
	return signed + "." + base64.RawURLEncoding.EncodeToString(signature)
}
