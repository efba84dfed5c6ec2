// Package spans accepts OTLP traces over HTTP and gRPC and hands over finished requests from a bounded buffer. It does
// not know engines or objectives: whose a span is and what it is worth is for others to say.
//
// Memory is bounded by what the configuration says, whatever is sent: the buffer holds at most Buffer spans of at most
// about 2 kB, the messages of one protocol that come in hold maxHeld bytes, or MaxMessage if that is more, of which there
// are up to three copies over gRPC, and at most maxDecoding messages are decoded at once.
package spans

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/goodput-exporter/goodput-exporter/exporter/fact"
)

// Config is what a Receiver is told. Names and the limits are required, and at least one of the addresses.
type Config struct {
	HTTP, GRPC string   // addresses to listen at; "" not
	Names      []string // of the spans that stand for a request
	Attributes []string // keys that are kept for classes: of the span, or else of its resource
	Buffer     int      // spans that may wait for Drain
	MaxMessage int64    // bytes of a message, decompressed; at most 1 GiB

	CertFile, KeyFile string // what both listeners show of themselves; "" is no TLS
	ClientCAFile      string // senders must show a certificate of it; "" asks for none
	TokenFile         string // senders must show what it holds as a bearer token; "" asks for none

	// Tap, if not nil, sees every message of an admitted sender as it came in, before decompression and whatever becomes
	// of it: one that is refused as a whole is seen again when the sender repeats it. It is called from many goroutines
	// at once, keeps the body if it likes, and must not block.
	Tap func(Message)

	Logger *slog.Logger // nothing is logged by default
}

// maxMaxMessage bounds the limit itself: a message length on gRPC's wire has 32 bits, and nothing that has more than
// this is a batch of spans.
const maxMaxMessage = 1 << 30

// ErrListeners is what Reconfigure fails with when the change asks for new listeners, hence for a new Receiver.
var ErrListeners = errors.New("this change needs new listeners")

// Receiver takes spans in while Run runs. Its methods are safe for concurrent use; Run is called once.
type Receiver struct {
	http, grpc net.Listener // nil: not listened
	grpcLimit  int64        // bytes; what the gRPC server was made with, which cannot be changed
	log        *slog.Logger
	tap        func(Message)

	mu       sync.Mutex // of Reconfigure
	warned   bool       // that anyone can send
	settings atomic.Pointer[settings]
	door     door
	buffer   buffer
	counts   counts
	news     news
	full     atomic.Bool // the last message found no room

	receiving sync.WaitGroup // goroutines that wait for a message over gRPC
}

// settings is what may change while the receiver runs. It is never written to after it was stored.
type settings struct {
	Config
	decoder *Decoder
	access  *access
}

// Listen checks the configuration, reads the files that it names and opens the listeners. The caller must then call
// Run, which closes them; with a context that is done it does nothing else. Errors name the configuration key, the address and what can be done.
func Listen(c Config) (*Receiver, error) {
	s, err := newSettings(c, nil)
	if err != nil {
		return nil, err
	}
	r := &Receiver{log: c.Logger, tap: c.Tap, grpcLimit: c.MaxMessage, door: newDoor(c.MaxMessage)}
	if r.log == nil {
		r.log = slog.New(slog.DiscardHandler)
	}
	r.settings.Store(s)
	r.buffer.room = c.Buffer
	if r.http, err = open("spans.listen", c.HTTP); err != nil {
		return nil, err
	}
	if r.grpc, err = open("spans.grpc_listen", c.GRPC); err != nil {
		if r.http != nil {
			r.http.Close()
		}
		return nil, err
	}
	r.warnIfOpen(s)
	return r, nil
}

// newSettings keeps the access before it if that is by the same files: what they were counts while they cannot be read.
func newSettings(c Config, before *access) (*settings, error) {
	var errs []error
	need := func(ok bool, format string, args ...any) {
		if !ok {
			errs = append(errs, fmt.Errorf("spans"+format, args...))
		}
	}
	need(c.HTTP != "" || c.GRPC != "", ": neither listen nor grpc_listen is set; set one, such as listen: 127.0.0.1:4318")
	need(len(c.Names) > 0, ".names: empty, so that no span would be taken; vLLM's are called llm_request")
	need(c.Buffer > 0, ".buffer: %d spans; it must be positive", c.Buffer)
	need(c.MaxMessage > 0 && c.MaxMessage <= maxMaxMessage, ".max_message: %d bytes; it must be between 1 and %d", c.MaxMessage, maxMaxMessage)
	need((c.CertFile == "") == (c.KeyFile == ""), ".tls_config: cert_file and key_file belong together; set both or none")
	need(c.ClientCAFile == "" || c.CertFile != "", ".tls_config.client_ca_file: senders can show a certificate only over TLS; set cert_file and key_file")
	if len(errs) > 0 {
		return nil, errors.Join(errs...)
	}
	a := before
	if a == nil || !a.of(c) {
		var err error
		if a, err = newAccess(c); err != nil {
			return nil, err
		}
	}
	c.Names, c.Attributes = slices.Clone(c.Names), slices.Clone(c.Attributes)
	return &settings{Config: c, decoder: NewDecoder(c.Names, c.Attributes, c.MaxMessage), access: a}, nil
}

// Reconfigure changes what can be changed without a new listener: names, attributes, limits and files. Messages under
// way end under what was said before. An error leaves everything as it was; ErrListeners is among its causes if another
// configuration can only be followed by a new Receiver. Tap and Logger stay those of Listen.
func (r *Receiver) Reconfigure(c Config) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := r.settings.Load()
	switch {
	case c.HTTP != now.HTTP || c.GRPC != now.GRPC:
		return fmt.Errorf("spans.listen, spans.grpc_listen: the addresses change: %w", ErrListeners)
	case (c.CertFile == "") != (now.CertFile == ""):
		return fmt.Errorf("spans.tls_config: TLS begins or ends: %w", ErrListeners)
	case r.grpc != nil && c.MaxMessage > r.grpcLimit:
		return fmt.Errorf("spans.max_message: the limit of the gRPC listener cannot rise above the %d bytes that it began with: %w", r.grpcLimit, ErrListeners)
	}
	s, err := newSettings(c, now.access)
	if err != nil {
		return err
	}
	r.settings.Store(s)
	r.buffer.resize(c.Buffer)
	r.warnIfOpen(s)
	return nil
}

// Drain hands over, oldest first, the spans that have not been handed over yet. The caller owns the slice.
func (r *Receiver) Drain() []fact.Span { return r.buffer.drain() }

// Addrs are the addresses that are listened at, with the port that was given for a port of 0; "" not.
func (r *Receiver) Addrs() (http, grpc string) {
	if r.http != nil {
		http = r.http.Addr().String()
	}
	if r.grpc != nil {
		grpc = r.grpc.Addr().String()
	}
	return http, grpc
}

// Run serves until the context is done, and then gives the messages under way a moment to end. It closes the listeners
// and leaves no goroutine behind. The error is that of a listener that failed; the end of the context is none.
func (r *Receiver) Run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var serve []func(context.Context) error
	if r.http != nil {
		serve = append(serve, r.serveHTTP)
	}
	if r.grpc != nil {
		serve = append(serve, r.serveGRPC)
	}
	errs := make([]error, len(serve))
	var all sync.WaitGroup
	for i, f := range serve {
		all.Go(func() {
			defer cancel() // one that fails ends the other
			errs[i] = f(ctx)
		})
	}
	all.Wait()
	return errors.Join(errs...)
}
