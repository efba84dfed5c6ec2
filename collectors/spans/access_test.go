package spans

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
)

func isErrListeners(err error) bool { return errors.Is(err, ErrListeners) }

func secretFile(t testing.TB, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "secret")
	write(t, path, text)
	return path
}

func write(t testing.TB, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// certified is the files of a certificate that vouches for itself, for 127.0.0.1, and what a client makes of them.
type certified struct {
	cert, key string
	pair      tls.Certificate
	pool      *x509.CertPool
}

func certificates(t testing.TB) certified {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	serial, err := rand.Int(rand.Reader, big.NewInt(1<<62))
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: serial, Subject: pkix.Name{CommonName: "test"}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	certPEM := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	keyPEM := pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: secret})
	c := certified{cert: secretFile(t, string(certPEM)), key: secretFile(t, string(keyPEM)), pool: x509.NewCertPool()}
	c.pool.AppendCertsFromPEM(certPEM)
	if c.pair, err = tls.X509KeyPair(certPEM, keyPEM); err != nil {
		t.Fatal(err)
	}
	return c
}

// client trusts a server, and shows a certificate if one is given. It makes a new connection each time.
func client(server certified, shown ...tls.Certificate) (*http.Client, *tls.Config) {
	c := &tls.Config{RootCAs: server.pool, Certificates: shown}
	return &http.Client{Transport: &http.Transport{TLSClientConfig: c, DisableKeepAlives: true}}, c.Clone()
}

// tries sends one message over each protocol and returns what became of them: an HTTP status and a gRPC code.
func tries(t *testing.T, r *Receiver, h *http.Client, c *tls.Config, authorization string) (int, codes.Code) {
	t.Helper()
	data := export(nil, fresh(request(0))...)
	q, err := http.NewRequest(http.MethodPost, strings.Replace(r.url(), "http:", "https:", 1), strings.NewReader(string(wire(t, data))))
	if err != nil {
		t.Fatal(err)
	}
	q.Header.Set("Content-Type", "application/x-protobuf")
	ctx := t.Context()
	if authorization != "" {
		q.Header.Set("Authorization", authorization)
		ctx = metadata.AppendToOutgoingContext(ctx, "authorization", authorization)
	}
	httpStatus := 0
	if a, err := h.Do(q); err == nil {
		a.Body.Close()
		httpStatus = a.StatusCode
	}
	conn := dial(t, r, grpc.WithTransportCredentials(credentials.NewTLS(c)))
	defer conn.Close()
	err = conn.Invoke(ctx, exportMethod, data, data)
	return httpStatus, status.Code(err)
}

func TestOnlyWhoMaySendIsHeard(t *testing.T) {
	server, sender, stranger := certificates(t), certificates(t), certificates(t)
	for name, c := range map[string]struct {
		mutual, token bool
		trusts        certified
		shown         []tls.Certificate
		authorization string
		http          int
		grpc          codes.Code
	}{
		"TLS alone":                         {trusts: server, http: 200, grpc: codes.OK},
		"a server that is not trusted":      {trusts: stranger, http: 0, grpc: codes.Unavailable},
		"a certificate of the authority":    {mutual: true, trusts: server, shown: []tls.Certificate{sender.pair}, http: 200, grpc: codes.OK},
		"no certificate":                    {mutual: true, trusts: server, http: 0, grpc: codes.Unavailable},
		"a certificate of another":          {mutual: true, trusts: server, shown: []tls.Certificate{stranger.pair}, http: 0, grpc: codes.Unavailable},
		"the token":                         {token: true, trusts: server, authorization: "Bearer s3cret", http: 200, grpc: codes.OK},
		"the token, scheme in lower case":   {token: true, trusts: server, authorization: "bearer s3cret", http: 200, grpc: codes.OK},
		"no token":                          {token: true, trusts: server, http: 401, grpc: codes.Unauthenticated},
		"another token":                     {token: true, trusts: server, authorization: "Bearer s3cre", http: 401, grpc: codes.Unauthenticated},
		"the token in another scheme":       {token: true, trusts: server, authorization: "Basic s3cret", http: 401, grpc: codes.Unauthenticated},
		"the token without a scheme":        {token: true, trusts: server, authorization: "s3cret", http: 401, grpc: codes.Unauthenticated},
		"the token, but no certificate":     {token: true, mutual: true, trusts: server, authorization: "Bearer s3cret", http: 0, grpc: codes.Unavailable},
		"both":                              {token: true, mutual: true, trusts: server, shown: []tls.Certificate{sender.pair}, authorization: "Bearer s3cret", http: 200, grpc: codes.OK},
		"an empty bearer, where one is set": {token: true, trusts: server, authorization: "Bearer ", http: 401, grpc: codes.Unauthenticated},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			log := &notes{}
			config := usualConfig()
			config.CertFile, config.KeyFile, config.Logger = server.cert, server.key, log.logger()
			if c.mutual {
				config.ClientCAFile = sender.cert
			}
			if c.token {
				config.TokenFile = secretFile(t, "s3cret\n")
			}
			r := serving(t, config)
			h, tlsConfig := client(c.trusts, c.shown...)
			gotHTTP, gotGRPC := tries(t, r, h, tlsConfig, c.authorization)
			if gotHTTP != c.http || gotGRPC != c.grpc {
				t.Errorf("HTTP %d, gRPC %s; want %d, %s", gotHTTP, gotGRPC, c.http, c.grpc)
			}
			taken := uint64(len(r.Drain()))
			if want := uint64(map[bool]int{true: 2}[c.http == 200]); taken != want {
				t.Errorf("%d spans taken, want %d", taken, want)
			}
			if strings.Contains(log.String(), "s3cre") {
				t.Errorf("the log holds a token: %s", log)
			}
		})
	}
}

func TestRotatedFilesHoldAtOnceAndBrokenOnesDoNot(t *testing.T) {
	first, second, sender := certificates(t), certificates(t), certificates(t)
	config := usualConfig()
	config.CertFile, config.KeyFile, config.ClientCAFile, config.TokenFile = first.cert, first.key, secretFile(t, pemOf(t, sender)), secretFile(t, "one")
	r := serving(t, config)
	check := func(when string, server certified, authorization string, http int, code codes.Code, broken ...string) {
		t.Helper()
		h, c := client(server, sender.pair)
		gotHTTP, gotGRPC := tries(t, r, h, c, authorization)
		if gotHTTP != http || gotGRPC != code {
			t.Errorf("%s: HTTP %d, gRPC %s; want %d, %s", when, gotHTTP, gotGRPC, http, code)
		}
		slices.Sort(broken)
		if got := r.Stats().BrokenFiles; !slices.Equal(got, broken) {
			t.Errorf("%s: broken %q, want %q", when, got, broken)
		}
	}
	check("at first", first, "Bearer one", 200, codes.OK)

	write(t, config.TokenFile, "two")
	check("with the old token after a rotation", first, "Bearer one", 401, codes.Unauthenticated)
	check("with the new token", first, "Bearer two", 200, codes.OK)
	write(t, config.TokenFile, "\n")
	check("while the token's file is empty", first, "Bearer two", 200, codes.OK, config.TokenFile)

	write(t, config.CertFile, pemOf(t, second))
	check("between the certificate and its key", first, "Bearer two", 200, codes.OK, config.TokenFile, config.CertFile, config.KeyFile)
	if err := r.Reconfigure(config); err != nil {
		t.Errorf("a reload of other things in the middle of a rotation: %v", err)
	}
	key, err := os.ReadFile(second.key)
	if err != nil {
		t.Fatal(err)
	}
	write(t, config.KeyFile, string(key))
	write(t, config.TokenFile, "two")
	check("with the new certificate", second, "Bearer two", 200, codes.OK)
	check("for those who trust the old one only", first, "Bearer two", 0, codes.Unavailable)

	if err := os.Remove(config.ClientCAFile); err != nil {
		t.Fatal(err)
	}
	check("while the authorities are gone", second, "Bearer two", 200, codes.OK, config.ClientCAFile)
	write(t, config.ClientCAFile, pemOf(t, first))
	check("with other authorities", second, "Bearer two", 0, codes.Unavailable)
}

func pemOf(t *testing.T, c certified) string {
	t.Helper()
	text, err := os.ReadFile(c.cert)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
