package gpu

import (
	"cmp"
	"encoding/base64"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/goodput-exporter/goodput-exporter/collectors/gpu/frame"
	"github.com/goodput-exporter/goodput-exporter/exporter/fact"
)

// The content types of what is kept.
const (
	TypePage  = "text/plain; version=0.0.4"
	TypeFrame = "application/vnd.goodput.dcgm-frame+json" // a frame of goodput-dcgm, without its length
)

// Raw is what a source had, before anything was made of it.
type Raw struct {
	At          float64       // when the page was asked for, or the frame came, unix seconds
	Took        time.Duration // until the last byte of a page
	ContentType string        // TypePage or TypeFrame
	Body        []byte
	First       bool // the first frame of a child: what the one before said of entity ids does not hold any more

	secrets []string // of the page, which it may repeat
}

// Mask puts <secret> in the place of every secret of the page that a text of it repeats.
func (r *Raw) Mask(text string) string {
	for _, s := range r.secrets {
		text = strings.ReplaceAll(text, s, "<secret>")
	}
	return text
}

// Keeper is a source that keeps what its readings were made from, when it was told to.
type Keeper interface {
	// Kept hands over what has come since it was called last, in the order of its times: the page of the last reading, or
	// the frames, each of which tells of other events. Nothing of it is there where the reading has nothing but a reason.
	Kept() []Raw
}

// maxKept is how many frames are kept at most for whoever does not ask for them; the oldest go.
const maxKept = 128

// Kept is the page of the last reading.
func (p *Page) Kept() []Raw {
	p.mu.Lock()
	defer p.mu.Unlock()
	kept := p.kept
	p.kept = nil
	return kept
}

// keep notes the page that was just fetched.
func (p *Page) keep(begin time.Time) {
	if p.cfg.Keep {
		p.kept = []Raw{{
			At: unix(begin), Took: time.Since(begin), ContentType: TypePage, Body: slices.Clone(p.body),
			secrets: repeatable(&p.place, p.door.authorization),
		}}
	}
}

// repeatable are the secrets that a page is searched for, the longest first, so that what holds another is replaced whole.
// Shorter ones than three characters guard nothing.
func repeatable(at *place, authorization string) []string {
	scheme, credential, _ := strings.Cut(authorization, " ")
	all := []string{credential}
	if basic, err := base64.StdEncoding.DecodeString(credential); err == nil && scheme == "Basic" {
		_, password, _ := strings.Cut(string(basic), ":")
		all = append(all, password)
	}
	if at.user != nil {
		password, _ := at.user.Password()
		all = append(all, password)
	}
	for _, values := range at.url.Query() {
		all = append(all, values...)
	}
	all = slices.DeleteFunc(all, func(s string) bool { return len(s) < 3 })
	slices.SortFunc(all, func(a, b string) int { return cmp.Or(len(b)-len(a), strings.Compare(a, b)) })
	return slices.Compact(all)
}

// Kept are the frames that have come.
func (c *Child) Kept() []Raw {
	c.mu.Lock()
	defer c.mu.Unlock()
	kept := c.kept
	c.kept = nil
	return kept
}

// keep notes a frame. It is called by the supervising goroutine, before the frame is judged.
func (c *Child) keep(f *frame.Frame) {
	if !c.cfg.Keep {
		return
	}
	text, err := frame.Encode(f)
	if err != nil {
		return // a frame that was read from JSON can be written so
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.kept) == maxKept {
		c.kept = c.kept[1:]
	}
	c.kept = append(c.kept, Raw{At: unix(time.Now()), ContentType: TypeFrame, Body: text, First: c.judge.fresh})
}

// Kept is what the choice kept.
func (a *Auto) Kept() []Raw {
	a.mu.Lock()
	defer a.mu.Unlock()
	if keeper, ok := a.chosen.(Keeper); ok {
		return keeper.Kept()
	}
	return nil
}

// Kept is what the source below kept.
func (f *Files) Kept() []Raw {
	if keeper, ok := f.Source.(Keeper); ok {
		return keeper.Kept()
	}
	return nil
}

// Replayer makes readings from what was kept, as the source made them. It is not safe for concurrent use.
type Replayer struct {
	pages *Decoder
	judge *judge
}

// NewReplayer returns a Replayer, for what one node's sources kept.
func NewReplayer() *Replayer { return &Replayer{pages: NewDecoder("", 0), judge: newJudge("")} }

// Read makes a reading. What was kept must come in its order.
func (p *Replayer) Read(r *Raw) fact.GPUReading {
	at := r.At + r.Took.Seconds()
	if r.ContentType != TypeFrame {
		return p.pages.Decode(r.Body, at)
	}
	f, err := frame.Decode(r.Body)
	if err != nil {
		reason := fact.ReasonParse
		if errors.Is(err, frame.ErrVersion) {
			reason = fact.ReasonDialect
		}
		return fact.GPUReading{Source: NameChild, At: at, Reason: reason, Detail: clip(err.Error(), maxNote)}
	}
	if r.First {
		p.judge.begin()
	}
	return p.judge.reading(f)
}
