package gpu

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"

	"github.com/goodput-exporter/goodput-exporter/exporter/fact"
)

// DefaultPageURL is where dcgm-exporter is on its own node.
const DefaultPageURL = "http://127.0.0.1:9400/metrics"

// PageConfig is what a Page is told once.
type PageConfig struct {
	URL string // http or https; a user and password in it are sent as basic authentication; required without Locate
	// Locate says where the page is now and what was found there, or "" and why there is none, for a page that moves, such as
	// that of a pod. It excludes URL, is asked at each reading and must not wait. What it finds is shown the credentials of
	// Access only if Trusted: whoever may label a pod could have it found.
	Locate  func() (address, why string)
	Trusted bool

	Timeout    time.Duration // of one reading: connecting, headers and the whole body; required
	MaxBody    int64         // bytes of a page; required. 8 cards with their pods take about 70 kB
	Access     Access
	Node       string        // for GPUs of which the page does not tell the node
	StuckAfter time.Duration // see NewDecoder
	Keep       bool          // what readings are made from, for Kept
	UserAgent  string        // "" is goodput-exporter
}

// Page reads the page of a dcgm-exporter. It asks when it is read, and by itself never: dcgm-exporter collects on its own
// clock, by default every 30 s, so that a value may be that much older than the reading.
type Page struct {
	cfg  PageConfig
	door *door

	mu      sync.Mutex
	place   place
	decoder *Decoder
	body    []byte // reused
	kept    []Raw
	closed  bool
}

// NewPage returns a Page. The error names the setting at fault and holds no secret.
func NewPage(cfg PageConfig) (*Page, error) {
	var at place
	var err error
	if cfg.Locate == nil {
		if at, err = placeOf(cfg.URL); err != nil {
			return nil, fmt.Errorf("gpu page: %w", err)
		}
	}
	switch {
	case cfg.Locate != nil && cfg.URL != "":
		return nil, errors.New("gpu page: a url and a way to find one exclude each other")
	case cfg.Timeout <= 0:
		return nil, fmt.Errorf("gpu page: timeout %v must be positive", cfg.Timeout)
	case cfg.MaxBody <= 0:
		return nil, fmt.Errorf("gpu page: body limit %d must be positive", cfg.MaxBody)
	}
	if err := cfg.Access.validate(); err != nil {
		return nil, fmt.Errorf("gpu page: %w", err)
	}
	if cfg.UserAgent == "" {
		cfg.UserAgent = "goodput-exporter"
	}
	access := cfg.Access
	if cfg.Locate != nil && !cfg.Trusted {
		access = access.withoutCredentials()
	}
	return &Page{cfg: cfg, place: at, door: &door{Access: access, timeout: cfg.Timeout}, decoder: NewDecoder(cfg.Node, cfg.StuckAfter)}, nil
}

// Name is NamePage.
func (p *Page) Name() string { return NamePage }

// Read fetches the page once. When it fails, Detail begins with the page's address, without what is secret in it; where the
// page had to be looked for, Detail says what was found.
func (p *Page) Read(ctx context.Context) fact.GPUReading {
	p.mu.Lock()
	defer p.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, p.cfg.Timeout)
	defer cancel()
	begin := time.Now()
	p.kept = nil
	err := p.locate()
	if err == nil {
		err = p.fetch(ctx)
	}
	// Monotonic, so that a step of the wall clock meanwhile does no harm.
	at := unix(begin) + time.Since(begin).Seconds()
	if err != nil {
		return fact.GPUReading{Source: NamePage, At: at, Reason: err.reason, Detail: p.where() + ": " + err.text}
	}
	p.keep(begin)
	r := p.decoder.Decode(p.body, at)
	switch {
	case r.Reason != "":
		r.Detail = p.where() + ": " + r.Detail
	case p.place.found != "":
		r.Detail = "the page of " + p.place.found
	}
	return r
}

// where is the page for a person.
func (p *Page) where() string {
	if p.place.found == "" {
		return p.place.address()
	}
	return p.place.address() + " (" + p.place.found + ")"
}

// failure is why a page was not fetched. Its text holds nothing that the server sent and no secret.
type failure struct {
	reason fact.Reason
	text   string
}

func fail(reason fact.Reason, format string, args ...any) *failure {
	return &failure{reason, fmt.Sprintf(format, args...)}
}

// fetch reads the page into p.body.
func (p *Page) fetch(ctx context.Context) *failure {
	if p.closed {
		return fail(fact.ReasonNoSource, "closed")
	}
	client, authorization, failed := p.door.open(p.place.user != nil)
	if failed != nil {
		return failed
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, p.place.url.String(), nil)
	if err != nil {
		return fail(fact.ReasonConnect, "the url cannot be requested")
	}
	if user := p.place.user; user != nil {
		password, _ := user.Password()
		req.SetBasicAuth(user.Username(), password)
	} else if authorization != "" {
		req.Header.Set("Authorization", authorization)
	}
	req.Header.Set("Accept", "text/plain;version=0.0.4")
	req.Header.Set("User-Agent", p.cfg.UserAgent)
	resp, err := client.Do(req)
	if err != nil {
		return p.unanswered(err)
	}
	defer resp.Body.Close()
	if failed := statusFailure(resp.StatusCode); failed != nil {
		return failed
	}
	return p.read(resp.Body)
}

// read reads the body into p.body, whose room is kept as long as it is not excessive.
func (p *Page) read(body io.Reader) *failure {
	const keep = 1 << 20
	if cap(p.body) > keep {
		p.body = nil
	}
	p.body = p.body[:0]
	for {
		if len(p.body) == cap(p.body) {
			size := min(max(64<<10, 2*int64(cap(p.body))), p.cfg.MaxBody+1)
			p.body = append(make([]byte, 0, size), p.body...)
		}
		n, err := body.Read(p.body[len(p.body):cap(p.body)])
		p.body = p.body[:len(p.body)+n]
		switch {
		case int64(len(p.body)) > p.cfg.MaxBody:
			return fail(fact.ReasonTooLarge, "the page has more than the %d bytes that are allowed (gpu.max_body); raise it, or let dcgm-exporter copy fewer labels of pods", p.cfg.MaxBody)
		case err == io.EOF:
			return nil
		case errors.Is(err, context.Canceled):
			return fail(fact.ReasonTimeout, "given up before the page was whole")
		case timedOut(err):
			return p.late()
		case err != nil:
			return fail(fact.ReasonTruncated, "the connection ended in the middle of the page, after %d bytes: the page is thrown away whole", len(p.body))
		}
	}
}

// Close closes idle connections; later readings say that the source is closed.
func (p *Page) Close() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	p.door.close()
	return nil
}
