package engine

import (
	"bytes"
	"context"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/goodput-exporter/goodput-exporter/exporter/fact"
)

// Raw is a page as it was served, before anything was read from it; or a reason why there is none.
type Raw struct {
	Took        time.Duration // until the last byte
	ContentType string
	Body        []byte
	Reason      fact.Reason // "" for a page
	Detail      string      // one line for a person; holds no secret

	secrets []string // of the target, which the page may repeat
}

// Mask puts <secret> in the place of every secret of the target that a text of its page repeats. Texts of one or two
// characters guard nothing and are left alone.
func (r *Raw) Mask(text string) string {
	for _, s := range r.secrets {
		text = strings.ReplaceAll(text, s, "<secret>")
	}
	return text
}

// Raw fetches a target's page once, as Poll does, and reads nothing from it. It asks no more of the engine than a poll.
func (f *Fetcher) Raw(ctx context.Context, target fact.Target) Raw {
	ctx, cancel := context.WithTimeout(ctx, f.cfg.Timeout)
	defer cancel()
	begin := time.Now()
	p := f.begin(ctx, nil)
	contentType, err := p.fetch(ctx, target)
	r := Raw{Took: time.Since(begin), ContentType: contentType, secrets: repeatable(target.URL, p.pass.secrets)}
	if err != nil {
		r.Reason, r.Detail, r.ContentType = ReasonOf(err), publicURL(target.URL)+": "+withheld(target.URL, err.Error(), p.pass.secrets...), ""
		return r
	}
	r.Body = bytes.Clone(p.body)
	return r
}

// repeatable are the secrets of a target that are looked for, the longest first, so that what holds another is replaced
// whole.
func repeatable(rawURL string, beside []string) []string {
	all := slices.Clone(beside)
	if u, err := url.Parse(rawURL); err == nil {
		all = append(all, secrets(u)...)
	}
	all = slices.DeleteFunc(all, func(s string) bool { return len(s) < minSecret })
	slices.SortFunc(all, func(a, b string) int {
		if len(a) != len(b) {
			return len(b) - len(a)
		}
		return strings.Compare(a, b)
	})
	return slices.Compact(all)
}
