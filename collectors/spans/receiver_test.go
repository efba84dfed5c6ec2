package spans

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/types/known/emptypb"
)

func usualConfig() Config {
	return Config{HTTP: "127.0.0.1:0", GRPC: "127.0.0.1:0", Names: []string{"llm_request"}, Buffer: 100, MaxMessage: 1 << 20}
}

// serving is a receiver that runs until the test ends.
func serving(t testing.TB, c Config) *Receiver {
	t.Helper()
	r, err := Listen(c)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- r.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("Run: %v", err)
		}
	})
	return r
}

// fresh makes the requests of a test begin now, since receivers have a clock.
func fresh(spans ...*tracepb.Span) []*tracepb.Span {
	for _, s := range spans {
		s.StartTimeUnixNano = uint64(time.Now().UnixNano()) - second
		s.EndTimeUnixNano = s.StartTimeUnixNano + second
	}
	return spans
}

// post sends a message over HTTP and returns the answer with its body.
func post(t testing.TB, client *http.Client, url string, body []byte, header ...string) (*http.Response, string) {
	t.Helper()
	q, err := http.NewRequest(http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	q.Header.Set("Content-Type", "application/x-protobuf")
	for i := 0; i < len(header); i += 2 {
		q.Header.Set(header[i], header[i+1])
	}
	a, err := client.Do(q)
	if err != nil {
		t.Fatal(err)
	}
	defer a.Body.Close()
	text, err := io.ReadAll(a.Body)
	if err != nil {
		t.Fatal(err)
	}
	return a, string(text)
}

func (r *Receiver) url() string {
	address, _ := r.Addrs()
	return "http://" + address + tracesPath
}

// dial connects to a receiver over gRPC.
func dial(t testing.TB, r *Receiver, options ...grpc.DialOption) *grpc.ClientConn {
	t.Helper()
	_, address := r.Addrs()
	options = append([]grpc.DialOption{grpc.WithTransportCredentials(insecure.NewCredentials())}, options...)
	c, err := grpc.NewClient("passthrough:///"+address, options...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

// invoke calls a method with a message of the official types.
func invoke(t testing.TB, c *grpc.ClientConn, method string, data *tracepb.TracesData, options ...grpc.CallOption) (rejected uint64, detail string, _ error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	var answer emptypb.Empty // keeps the fields that it does not know as they came
	err := c.Invoke(ctx, method, data, &answer, options...)
	if err == nil {
		rejected, detail = partialSuccess(t, wire(t, &answer))
	}
	return rejected, detail, err
}

// partialSuccess reads an ExportTraceServiceResponse, whose Go package would bring a gateway along.
func partialSuccess(t testing.TB, body []byte) (rejected uint64, detail string) {
	t.Helper()
	var f field
	for len(body) > 0 {
		var err *Error
		if body, err = f.next(body); err != nil {
			t.Fatal(err)
		}
		if f.is(1, protowire.BytesType) {
			for inner := f.bytes; len(inner) > 0; {
				if inner, err = f.next(inner); err != nil {
					t.Fatal(err)
				}
				switch f.number {
				case 1:
					rejected = f.value
				case 2:
					detail = string(f.bytes)
				}
			}
		}
	}
	return rejected, detail
}

// messages is the counter of messages as one text a line, for comparisons.
func (s Stats) messages() map[string]uint64 {
	all := map[string]uint64{}
	for _, m := range s.Messages {
		all[m.Protocol+" "+m.Outcome] = m.Count
	}
	return all
}

func (s Stats) spans() map[string]uint64 {
	all := map[string]uint64{}
	for _, x := range s.Spans {
		all[x.What] = x.Count
	}
	return all
}

func equal(t *testing.T, what string, got, want map[string]uint64) {
	t.Helper()
	if !maps.Equal(got, want) {
		t.Errorf("%s: got %v, want %v", what, got, want)
	}
}

// notes is a log that can be read while it is written.
type notes struct {
	mu  sync.Mutex
	all bytes.Buffer
}

func (n *notes) Write(line []byte) (int, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.all.Write(line)
}

func (n *notes) String() string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.all.String()
}

func (n *notes) logger() *slog.Logger { return slog.New(slog.NewTextHandler(n, nil)) }

func TestListenSaysWhatIsWrong(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	for name, c := range map[string]struct {
		change func(*Config)
		want   []string // parts of the error
	}{
		"no address":              {func(c *Config) { c.HTTP, c.GRPC = "", "" }, []string{"spans: neither listen nor grpc_listen is set", "127.0.0.1:4318"}},
		"no names":                {func(c *Config) { c.Names = nil }, []string{"spans.names", "llm_request"}},
		"no buffer and no limit":  {func(c *Config) { c.Buffer, c.MaxMessage = 0, 0 }, []string{"spans.buffer: 0 spans", "spans.max_message: 0 bytes"}},
		"a port that is taken":    {func(c *Config) { c.HTTP = taken.Addr().String() }, []string{"spans.listen: cannot listen at " + taken.Addr().String(), "address already in use", "choose another port"}},
		"the same for gRPC":       {func(c *Config) { c.GRPC = taken.Addr().String() }, []string{"spans.grpc_listen: cannot listen at " + taken.Addr().String(), "choose another port"}},
		"no port":                 {func(c *Config) { c.HTTP = "127.0.0.1" }, []string{"spans.listen: cannot listen at 127.0.0.1", "missing port", "give HOST:PORT"}},
		"an address of elsewhere": {func(c *Config) { c.HTTP = "192.0.2.1:4318" }, []string{"spans.listen: cannot listen at 192.0.2.1:4318", "no such address"}},
		"a key alone":             {func(c *Config) { c.KeyFile = "k" }, []string{"spans.tls_config: cert_file and key_file belong together"}},
		"authorities without TLS": {func(c *Config) { c.ClientCAFile = "ca" }, []string{"spans.tls_config.client_ca_file", "set cert_file and key_file"}},
		"a token that is nowhere": {func(c *Config) { c.TokenFile = "testdata/none" }, []string{"spans.bearer_token_file: testdata/none cannot be used: no such file"}},
		"a token in a directory":  {func(c *Config) { c.TokenFile = "." }, []string{"spans.bearer_token_file: . cannot be used: it is not a regular file"}},
		"a certificate that is":   {func(c *Config) { c.CertFile, c.KeyFile = "spans.go", "wire.go" }, []string{"spans.tls_config: cert_file spans.go and key_file wire.go cannot be used: they are not a PEM certificate and its key"}},
	} {
		t.Run(name, func(t *testing.T) {
			config := usualConfig()
			c.change(&config)
			r, err := Listen(config)
			if err == nil {
				r.http.Close()
				t.Fatal("no error")
			}
			for _, part := range c.want {
				if !strings.Contains(err.Error(), part) {
					t.Errorf("%q does not say %q", err, part)
				}
			}
		})
	}
}

func TestReconfigureChangesWhatNeedsNoListener(t *testing.T) {
	c := usualConfig()
	r := serving(t, c)
	one := wire(t, export(with{"tier": "gold"}, fresh(request(0))...))
	post(t, http.DefaultClient, r.url(), one)
	c.Attributes, c.Buffer = []string{"tier"}, 1
	if err := r.Reconfigure(c); err != nil {
		t.Fatal(err)
	}
	if a, _ := post(t, http.DefaultClient, r.url(), one); a.StatusCode != http.StatusServiceUnavailable {
		t.Errorf("status %d with a buffer of 1 that holds 1", a.StatusCode)
	}
	if got := r.Drain(); len(got) != 1 || got[0].Attributes != nil {
		t.Errorf("drained %+v", got)
	}
	post(t, http.DefaultClient, r.url(), one)
	if got := r.Drain(); len(got) != 1 || got[0].Attributes[0].Value != "gold" {
		t.Errorf("drained %+v, want the attribute that is kept from now on", got)
	}
	c.Names = []string{"chat"}
	if err := r.Reconfigure(c); err != nil {
		t.Fatal(err)
	}
	post(t, http.DefaultClient, r.url(), one)
	equal(t, "spans", r.Stats().spans(), map[string]uint64{"taken": 2, "full": 1, "other_name": 1})
}

func TestReconfigureRefusesWhatNeedsAnotherListener(t *testing.T) {
	certified := certificates(t)
	for name, change := range map[string]func(*Config){
		"another address":     func(c *Config) { c.HTTP = "127.0.0.1:1" },
		"no gRPC any more":    func(c *Config) { c.GRPC = "" },
		"TLS":                 func(c *Config) { c.CertFile, c.KeyFile = certified.cert, certified.key },
		"larger gRPC message": func(c *Config) { c.MaxMessage++ },
	} {
		t.Run(name, func(t *testing.T) {
			c := usualConfig()
			r := serving(t, c)
			change(&c)
			if err := r.Reconfigure(c); !isErrListeners(err) {
				t.Errorf("got %v, want ErrListeners", err)
			}
		})
	}
	c := usualConfig()
	r := serving(t, c)
	c.Buffer = 0
	if err := r.Reconfigure(c); err == nil || isErrListeners(err) || r.Stats().Room != 100 {
		t.Errorf("got %v and room %d, want an error and nothing changed", err, r.Stats().Room)
	}
}

func TestAPeerIsAnAddressThatCanBeCompared(t *testing.T) {
	for address, want := range map[string]string{
		"10.1.2.3:4567": "10.1.2.3", "[::ffff:10.1.2.3]:4567": "10.1.2.3", "[fe80::1%eth0]:1": "fe80::1", "[2001:DB8:0:0::1]:1": "2001:db8::1",
		"::1": "::1", "@": "", "": "", "pipe": "",
	} {
		if got := peer(address); got != want {
			t.Errorf("%q: %q, want %q", address, got, want)
		}
	}
}

func TestAnOpenDoorIsSaidOnce(t *testing.T) {
	token := secretFile(t, "s3cret")
	for name, c := range map[string]struct {
		address, token string
		want           int
	}{
		"on all addresses":              {"0.0.0.0:0", "", 1},
		"on all addresses with a token": {"0.0.0.0:0", token, 0},
		"on loopback":                   {"127.0.0.1:0", "", 0},
		"on the other loopback":         {"[::1]:0", "", 0},
	} {
		t.Run(name, func(t *testing.T) {
			log := &notes{}
			config := usualConfig()
			config.HTTP, config.GRPC, config.TokenFile, config.Logger = c.address, c.address, c.token, log.logger()
			r, err := Listen(config)
			if err != nil && strings.Contains(c.address, "::") {
				t.Skip("no IPv6 here")
			}
			if err != nil {
				t.Fatal(err)
			}
			r.http.Close()
			r.grpc.Close()
			if n := strings.Count(log.String(), "anyone who reaches this address"); n != c.want {
				t.Errorf("said %d times, want %d: %s", n, c.want, log)
			}
		})
	}
}
