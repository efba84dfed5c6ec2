package engine

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"math"
	"math/rand/v2"
	"net"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/goodput-exporter/goodput-exporter/exporter/fact"
)

// The table of names must say of each field what it costs and from where each name is known, and no name may mean two
// things.
func TestTheAliasTableIsWhole(t *testing.T) {
	fields, what, spelled := map[field]bool{}, map[string]bool{}, map[string]bool{}
	for _, a := range aliases {
		if fields[a.field] || what[a.what] || a.what == "" || a.cost == "" || len(a.names) == 0 {
			t.Errorf("row %q of field %d: twice, or without a name or a cost", a.what, a.field)
		}
		fields[a.field], what[a.what] = true, true
		if f := fact.Family(a.field); f < fact.NumFamilies && a.what != f.String() {
			t.Errorf("row %q is called %s elsewhere", a.what, f)
		}
		for m, names := range map[string][]spelling{"": a.names, "sglang:": a.sglang} {
			for _, s := range names {
				if s.source == "" || spelled[m+s.name] || strings.HasSuffix(s.name, "_total") {
					t.Errorf("%s: twice, without a source, or with its suffix", s.name)
				}
				spelled[m+s.name] = true
			}
		}
	}
	if len(fields) != int(numFields) {
		t.Errorf("%d rows for %d fields", len(fields), numFields)
	}
	for _, s := range dating {
		if s.source == "" || s.first == "" || spelled[s.name] {
			t.Errorf("dating row %s: twice, or without a version or a source", s.name)
		}
		spelled[s.name] = true
	}
}

func TestSince(t *testing.T) {
	for f, want := range map[fact.Family]string{fact.TTFT: "", fact.TPOT: "0.11", fact.TokenGap: ""} {
		if got := Since(f); got != want {
			t.Errorf("%s: %q, want %q", f, got, want)
		}
	}
}

func TestVersions(t *testing.T) {
	d := &dialect{since: "0.8.3"}
	for want, present := range map[string][]spelling{
		">=0.8.3":       nil,
		">=0.11":        {{first: "0.9.2"}, {first: "0.11"}, {first: "0.10.2"}},
		">=0.8.3,<0.12": {{gone: "0.15"}, {gone: "0.12"}},
		">=0.11,<0.15":  {{first: "0.11"}, {gone: "0.15"}},
		">=0.31":        {{first: "0.31"}, {gone: "0.20"}}, // a name that was hidden and is switched on again
		">=0.15":        {{first: "0.15"}, {gone: "0.15"}},
	} {
		if got := versions(d, present); got != want {
			t.Errorf("%+v: %s, want %s", present, got, want)
		}
	}
	for _, c := range [][2]string{{"0.8.3", "0.11"}, {"0.9", "0.10"}, {"0.11", "0.11.1"}, {"", "0.1"}, {"0.99", "1.0"}} {
		if !older(c[0], c[1]) || older(c[1], c[0]) || older(c[0], c[0]) {
			t.Errorf("%q must be older than %q", c[0], c[1])
		}
	}
}

// Every number is the one that strconv reads, on the short way and on the long one.
func TestNumbersAreThoseOfStrconv(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	texts := []string{"0", "-0", "5.", ".5", "1e+010", "+3", "Inf", "+inf", "-Inf", "9007199254740993", "123456789012345678901234567890", "0.1", "4.9406564584124654e-324"}
	for range 20000 {
		v := math.Ldexp(random.Float64(), random.IntN(80)-40)
		texts = append(texts, strconv.FormatFloat(v, "efg"[random.IntN(3)], random.IntN(19)-1, 64), "-"+strconv.Itoa(random.Int()))
	}
	for _, text := range texts {
		got, err := number([]byte(text))
		want, wantErr := strconv.ParseFloat(text, 64)
		if err != nil || wantErr != nil || math.Float64bits(got) != math.Float64bits(want) {
			t.Fatalf("%s: %v, %v; strconv says %v, %v", text, got, err, want, wantErr)
		}
	}
	for _, text := range []string{"NaN", "nan", "-nan", "+NaN"} {
		if v, err := number([]byte(text)); err != nil || !math.IsNaN(v) {
			t.Errorf("%s: %v, %v", text, v, err)
		}
	}
	for _, text := range []string{"", "-", ".", "1..2", "1e", "0x10", "1_000", "1e999", "--1", "1,5", "١", strings.Repeat("1", 65)} {
		if v, err := number([]byte(text)); err == nil {
			t.Errorf("%q was read as %v", text, v)
		}
	}
}

// What the system and TLS say of a failed connection is told in words that are ours.
func TestCauses(t *testing.T) {
	certificate := func(err error) error { return &tls.CertificateVerificationError{Err: err} }
	for want, err := range map[string]error{
		"no such host: the name of the target's host has no address": &net.DNSError{Err: "no such host", Name: "x", IsNotFound: true},
		"the name of the target's host could not be looked up":       &net.DNSError{Err: "server misbehaving", Name: "x"},
		"no route to host": &net.OpError{Op: "dial", Err: syscall.EHOSTUNREACH},
		"the server does not speak TLS: the target's url should begin with http://":      tls.RecordHeaderError{Msg: "first record"},
		"the server's certificate is not accepted: it has expired or is not yet valid":   certificate(x509.CertificateInvalidError{Reason: x509.Expired}),
		"the server's certificate is not accepted: it is signed by an unknown authority": certificate(x509.UnknownAuthorityError{}),
		"the server's certificate is not accepted: it is for another host":               certificate(x509.HostnameError{Certificate: &x509.Certificate{}, Host: "x"}),
		"the server's certificate is not accepted: it cannot be verified":                certificate(x509.CertificateInvalidError{Reason: x509.NotAuthorizedToSign}),
		"the connection was closed without an HTTP answer, or what answers is not HTTP":  fmt.Errorf("malformed HTTP response %q", "s3cret-word"),
	} {
		if got := cause(fmt.Errorf("Get %q: %w", "http://a/?token=t0ken-abc", err)); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

// A token may stand in the user's place, and a secret of two letters would be found in every text.
func TestSecretsAreWithheld(t *testing.T) {
	for _, c := range []struct {
		url, text string
		withheld  bool
	}{
		{"http://alice:s3cret-word@a/", "it says s3cret-word", true},
		{"http://alice:s3cret-word@a/", "it says alice", false},
		{"http://alice:s3cret-word@a/", "Basic " + testBasic, true},
		{"http://t0ken-abc@a/", "it says t0ken-abc", true},
		{"http://a/?token=t0ken%2Dabc", "it says t0ken-abc", true},
		{"http://a/?x=1", "line 1", false},
		{"http://a/", "anything", false},
	} {
		if got := withheld(c.url, c.text) != c.text; got != c.withheld {
			t.Errorf("%s, %q: withheld %t", c.url, c.text, got)
		}
	}
}

// A target whose layouts or label values never repeat does not fill the memory.
func TestADecoderForgets(t *testing.T) {
	d := NewDecoder()
	for i := range 3 * maxInterned / maxRows {
		var page strings.Builder
		fmt.Fprintf(&page, "vllm:num_requests_running{"+only+"} 1\n")
		for j := range maxRows {
			fmt.Fprintf(&page, "http_requests_total{handler=\"/%d\",method=\"GET\",status=\"2xx\"} 1\n", i*maxRows+j)
		}
		if _, err := d.Decode([]byte(page.String()), textPlain); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 3 * maxLayouts {
		page := histogramPage(fmt.Sprintf(`bucket{le="%d",`, i)+only+`} 0`, `bucket{le="+Inf",`+only+`} 0`, `count{`+only+`} 0`, `sum{`+only+`} 0`)
		if _, err := d.Decode([]byte(page), textPlain); err != nil {
			t.Fatal(err)
		}
	}
	if len(d.strings) > maxInterned+3*maxRows || len(d.layouts) > maxLayouts {
		t.Errorf("%d strings and %d layouts are kept", len(d.strings), len(d.layouts))
	}
}
