// Package accessfile reads the files that hold tokens, passwords, certificates and keys. No error of it repeats what a file
// holds, and none names the path, which the caller does.
package accessfile

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
)

// Max bounds what is read of a file, in bytes: the authorities of a whole system are about 220 kB.
const Max = 1 << 20

// Read returns what a file holds.
func Read(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, withoutPath(err)
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, Max+1))
	switch {
	case err != nil:
		return nil, withoutPath(err)
	case len(text) > Max:
		return nil, fmt.Errorf("it is larger than %d bytes", Max)
	}
	return text, nil
}

// ReadRegular is Read for whoever cannot wait: it does not open what would wait for a writer.
func ReadRegular(path string) ([]byte, error) {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return nil, withoutPath(err)
	case !info.Mode().IsRegular():
		return nil, errors.New("it is not a regular file")
	}
	return Read(path)
}

func withoutPath(err error) error {
	if p, ok := errors.AsType[*fs.PathError](err); ok {
		return p.Err
	}
	return err
}

// Line is the one line of a file that holds a secret, without the white space around it.
func Line(text []byte) (string, error) {
	s := strings.TrimSpace(string(text))
	switch {
	case s == "":
		return "", errors.New("the file is empty")
	case strings.ContainsFunc(s, func(c rune) bool { return c < ' ' || c == 0x7f }):
		return "", errors.New("the file holds more than one line")
	}
	return s, nil
}

// Pair is a certificate with its key, both in PEM.
func Pair(cert, key []byte) (tls.Certificate, error) {
	pair, err := tls.X509KeyPair(cert, key)
	if err != nil {
		return tls.Certificate{}, errors.New("they are not a PEM certificate and its key") // the parser's text could hold what is in the files
	}
	return pair, nil
}

// Authorities are the certificates of a PEM file.
func Authorities(text []byte) (*x509.CertPool, error) {
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(text) {
		return nil, errors.New("it holds no PEM certificate")
	}
	return pool, nil
}
