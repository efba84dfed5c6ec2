package otlp

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// authority is a certificate authority of a test, and what it has signed: the exporter's certificate and a sender's.
type authority struct {
	ca, cert, key         string // files
	senderCert, senderKey string
	pool                  *x509.CertPool
	sender                tls.Certificate
}

func newAuthority(t testing.TB) *authority {
	t.Helper()
	dir := t.TempDir()
	caKey, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(t, err)
	ca := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "an authority for tests"}, IsCA: true, BasicConstraintsValid: true,
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), KeyUsage: x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, ca, ca, &caKey.PublicKey, caKey)
	must(t, err)
	a := &authority{pool: x509.NewCertPool(), ca: filepath.Join(dir, "ca.pem")}
	a.pool.AddCert(parsed(t, der))
	must(t, os.WriteFile(a.ca, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o600))
	sign := func(name string, serial int64) (cert, key string) {
		own, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
		must(t, err)
		der, err := x509.CreateCertificate(rand.Reader, &x509.Certificate{
			SerialNumber: big.NewInt(serial), Subject: pkix.Name{CommonName: name}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
			NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
			KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
		}, ca, &own.PublicKey, caKey)
		must(t, err)
		secret, err := x509.MarshalPKCS8PrivateKey(own)
		must(t, err)
		cert, key = filepath.Join(dir, name+".pem"), filepath.Join(dir, name+".key")
		must(t, os.WriteFile(cert, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o600))
		must(t, os.WriteFile(key, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: secret}), 0o600))
		return cert, key
	}
	a.cert, a.key = sign("exporter", 2)
	a.senderCert, a.senderKey = sign("sender", 3)
	a.sender, err = tls.LoadX509KeyPair(a.senderCert, a.senderKey)
	must(t, err)
	return a
}

func parsed(t testing.TB, der []byte) *x509.Certificate {
	t.Helper()
	cert, err := x509.ParseCertificate(der)
	must(t, err)
	return cert
}
