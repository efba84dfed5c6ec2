package engine

import (
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/goodput-exporter/goodput-exporter/exporter/fact"
)

// FetcherConfig is what a Fetcher is told once.
type FetcherConfig struct {
	Timeout   time.Duration // of one poll: connecting, headers and the whole body; required
	MaxBody   int64         // bytes of one page, decompressed; required
	UserAgent string        // "" is goodput-exporter

	Access Access            // of all targets that are not in Of; of those that are Anonymous, without its credentials
	Of     map[string]Access // by target id
}

// The Accept header prefers classic text: the Python front end ignores it, the Rust one always answers OpenMetrics, and
// what stands between may choose.
const accept = "text/plain;version=0.0.4;q=1,text/plain;q=0.9,application/openmetrics-text;version=1.0.0;q=0.5,*/*;q=0.1"

// maxRedirects on the same scheme and host; vLLM before 0.8.3 sends /metrics to /metrics/.
const maxRedirects = 5

// keepBuffer is the largest page buffer that is kept for the next poll: a page is 40 to 80 kB for each rank.
const keepBuffer = 1 << 20

// Fetcher polls targets. It is safe for concurrent use, also for one target, and polls nothing by itself.
//
// Memory: at most twice MaxBody for each poll under way, and a few kilobytes for each target.
type Fetcher struct {
	cfg       FetcherConfig
	entrances map[Access]*entrance
	bare      *entrance // for targets to which nothing secret may be shown
	buffers   sync.Pool // of *[]byte

	mu       sync.Mutex
	decoders map[string]*lockedDecoder // by target id
}

type lockedDecoder struct {
	mu sync.Mutex
	d  *Decoder
}

// New returns a Fetcher. The error names the setting at fault.
func New(cfg FetcherConfig) (*Fetcher, error) {
	if cfg.Timeout <= 0 {
		return nil, fmt.Errorf("engine fetcher: timeout %v must be positive", cfg.Timeout)
	}
	if cfg.MaxBody <= 0 {
		return nil, fmt.Errorf("engine fetcher: body limit %d must be positive", cfg.MaxBody)
	}
	if cfg.UserAgent == "" {
		cfg.UserAgent = "goodput-exporter"
	}
	f := &Fetcher{
		cfg:       cfg,
		entrances: map[Access]*entrance{cfg.Access: newEntrance(cfg.Access, cfg.Timeout)},
		bare:      newEntrance(cfg.Access.withoutCredentials(), cfg.Timeout),
		buffers:   sync.Pool{New: func() any { return new([]byte) }},
		decoders:  map[string]*lockedDecoder{},
	}
	for _, a := range cfg.Of {
		if f.entrances[a] == nil {
			f.entrances[a] = newEntrance(a, cfg.Timeout)
		}
	}
	return f, nil
}

// entrance is where a target is reached through.
func (f *Fetcher) entrance(t fact.Target) *entrance {
	if t.Anonymous {
		return f.bare
	}
	if a, own := f.cfg.Of[t.ID]; own {
		return f.entrances[a]
	}
	return f.entrances[f.cfg.Access]
}

// all are the entrances.
func (f *Fetcher) all() []*entrance { return append(slices.Collect(maps.Values(f.entrances)), f.bare) }

// BrokenFiles lists, sorted, the files of all accesses that could not be read, or held nothing that can be used, when
// they were last needed.
func (f *Fetcher) BrokenFiles() []string {
	var all []string
	for _, e := range f.all() {
		all = append(all, e.brokenFiles()...)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// Poll reads one target once. It returns within the timeout, or earlier when ctx ends, and never without an answer: a
// sample, or a reason with one line for a person. Sent and Received are wall-clock unix seconds; Received is also set
// for a poll that failed.
func (f *Fetcher) Poll(ctx context.Context, target fact.Target) fact.Poll {
	ctx, cancel := context.WithTimeout(ctx, f.cfg.Timeout)
	defer cancel()
	begin := time.Now()
	poll := fact.Poll{Target: target.ID, Sent: unix(begin)}
	buffer := f.buffers.Get().(*[]byte)
	p := f.begin(ctx, (*buffer)[:0])
	contentType, err := p.fetch(ctx, target)
	// Monotonic, so that a step of the wall clock during the poll makes no duration negative.
	poll.Received = poll.Sent + time.Since(begin).Seconds()
	if err == nil {
		poll.Sample, err = f.decode(target.ID, p.body, contentType)
	}
	if err == nil && p.pass.repeatedBy(poll.Sample) {
		err = refuse(fact.ReasonParse, "the page repeats a credential of the target in a label, where everybody would read it")
	}
	if *buffer = p.body; cap(p.body) <= keepBuffer {
		f.buffers.Put(buffer)
	}
	if err != nil {
		poll.Sample, poll.Reason, poll.Detail = nil, ReasonOf(err), publicURL(target.URL)+": "+withheld(target.URL, err.Error(), p.pass.secrets...)
	}
	return poll
}

// Forget drops what is kept for a target. A later poll of the same id begins anew.
func (f *Fetcher) Forget(id string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.decoders, id)
}

// Close closes idle connections. Polls under way are not disturbed.
func (f *Fetcher) Close() {
	for _, e := range f.all() {
		e.close()
	}
}

func (f *Fetcher) decode(id string, body []byte, contentType string) (*fact.EngineSample, error) {
	f.mu.Lock()
	l := f.decoders[id]
	if l == nil {
		l = &lockedDecoder{d: NewDecoder()}
		f.decoders[id] = l
	}
	f.mu.Unlock()
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.d.Decode(body, contentType)
}

// attempt is one poll under way.
type attempt struct {
	*Fetcher
	limit     time.Duration // what is left of the deadline at the start
	connected atomic.Bool
	body      []byte
	pass      *pass
}

func (f *Fetcher) begin(ctx context.Context, buffer []byte) *attempt {
	a := &attempt{Fetcher: f, limit: f.cfg.Timeout, body: buffer, pass: &pass{}}
	if deadline, ok := ctx.Deadline(); ok {
		a.limit = min(a.limit, time.Until(deadline).Round(time.Millisecond))
	}
	return a
}

// fetch reads a page into a.body. Every error is an *Error whose text holds nothing that the target's URL keeps secret
// and nothing that the server sent, since a server can echo a credential.
func (a *attempt) fetch(ctx context.Context, target fact.Target) (contentType string, _ error) {
	u, err := url.Parse(target.URL)
	if err != nil || u.Host == "" || (u.Scheme != "http" && u.Scheme != "https") {
		// The parser's message repeats the URL, so it is not used.
		return "", refuse(fact.ReasonConnect, "the target's url is not http://HOST[:PORT]/PATH or https://...")
	}
	if a.pass, err = a.entrance(target).open(u.User != nil); err != nil {
		a.pass = &pass{}
		return "", err
	}
	user := u.User
	u.User = nil
	trace := &httptrace.ClientTrace{GotConn: func(httptrace.GotConnInfo) { a.connected.Store(true) }}
	req, err := http.NewRequestWithContext(httptrace.WithClientTrace(ctx, trace), http.MethodGet, u.String(), nil)
	if err != nil {
		return "", refuse(fact.ReasonConnect, "the target's url cannot be requested")
	}
	switch {
	case user != nil: // stands nearer to the target than what holds for all
		password, _ := user.Password()
		req.SetBasicAuth(user.Username(), password)
		a.pass.secrets = append(a.pass.secrets, userSecrets(user)...)
	case a.pass.authorization != "":
		req.Header.Set("Authorization", a.pass.authorization)
	}
	req.Header.Set("Accept", accept)
	req.Header.Set("Accept-Encoding", "gzip")
	req.Header.Set("User-Agent", a.cfg.UserAgent)
	resp, err := a.pass.client.Do(req)
	if err != nil {
		return "", a.requestFailed(err)
	}
	defer resp.Body.Close()
	if err := statusError(resp); err != nil {
		return "", err
	}
	if err := a.read(resp); err != nil {
		return "", err
	}
	return resp.Header.Get("Content-Type"), nil
}

// read reads and, where needed, decompresses the page up to the limit, which holds for what comes out: a page that
// unpacks to gigabytes stops there.
func (a *attempt) read(resp *http.Response) error {
	if resp.ContentLength > a.cfg.MaxBody {
		return a.tooLarge(fmt.Sprintf("%d bytes", resp.ContentLength))
	}
	var body io.Reader = resp.Body
	switch strings.ToLower(resp.Header.Get("Content-Encoding")) {
	case "", "identity":
		a.body = slices.Grow(a.body, int(max(0, resp.ContentLength))+1) // one more, to see the end
	case "gzip":
		unpacked, err := gzip.NewReader(body)
		if err != nil {
			return a.bodyFailed(err)
		}
		body = unpacked
	default:
		return refuse(fact.ReasonNotMetrics, "the page has an encoding other than gzip, which is all that was asked for")
	}
	for {
		if len(a.body) == cap(a.body) {
			// Doubling, but never beyond what the limit needs.
			size := min(max(64<<10, 2*int64(cap(a.body))), a.cfg.MaxBody+1)
			a.body = append(make([]byte, 0, size), a.body...)
		}
		n, err := body.Read(a.body[len(a.body):cap(a.body)])
		a.body = a.body[:len(a.body)+n]
		switch {
		case int64(len(a.body)) > a.cfg.MaxBody:
			return a.tooLarge("more bytes than allowed")
		case err == io.EOF:
			return nil
		case err != nil:
			return a.bodyFailed(err)
		}
	}
}

func (a *attempt) tooLarge(size string) error {
	return refuse(fact.ReasonTooLarge, "the page has %s: the limit is %d bytes (poll.max_body, decompressed); raise it, or stop the engine from printing what makes the page so large", size, a.cfg.MaxBody)
}

// The redirects that are not followed.
var (
	errOtherScheme = errors.New("redirect to another scheme")
	errOtherHost   = errors.New("redirect to another host")
	errCircle      = errors.New("too many redirects")
)

// checkRedirect follows to the same scheme and host only: the credentials of a target are for nobody else.
func checkRedirect(next *http.Request, via []*http.Request) error {
	switch from := via[0].URL; {
	case next.URL.Scheme != from.Scheme:
		return errOtherScheme
	case !strings.EqualFold(next.URL.Hostname(), from.Hostname()) || port(next.URL) != port(from):
		return errOtherHost
	case len(via) > maxRedirects:
		return errCircle
	}
	next.Header.Del("Referer") // it would repeat the query
	return nil
}

func port(u *url.URL) string {
	if p := u.Port(); p != "" {
		return p
	}
	if u.Scheme == "https" {
		return "443"
	}
	return "80"
}

func unix(t time.Time) float64 { return float64(t.UnixNano()) / 1e9 }
