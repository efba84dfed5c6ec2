package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/goodput-exporter/goodput-exporter/collectors/engine"
	"github.com/goodput-exporter/goodput-exporter/collectors/recording"
	"github.com/goodput-exporter/goodput-exporter/exporter/config"
	"github.com/goodput-exporter/goodput-exporter/exporter/fact"
)

// checkedPage is one page to hold objectives against.
type checkedPage struct {
	name   string // for a person; holds no secret
	engine string // id of its target, "" when it belongs to none
	sample *fact.EngineSample
}

// checkedPages reads the source: one page, or for a recording the last good page of each of its targets.
func checkedPages(ctx context.Context, cfg *config.Config, source string, notes io.Writer) ([]checkedPage, error) {
	switch {
	case strings.HasPrefix(source, "http://"), strings.HasPrefix(source, "https://"):
		return pageAt(ctx, cfg, source)
	case strings.HasSuffix(source, ".jsonl"), strings.HasSuffix(source, ".jsonl.gz"):
		return recordedPages(ctx, source, notes)
	}
	return pageIn(cfg, "check", source)
}

// targetAt is the target of a URL. One that is a configured target's address stands for that target, with its
// credentials unless the URL brings its own; known says so.
func targetAt(cfg *config.Config, source string) (t config.Target, known bool, err error) {
	if t, err = config.NewTarget("check", source); err != nil {
		return t, false, err
	}
	for _, configured := range cfg.Engines.Targets {
		if configured.Address != t.Address {
			continue
		}
		if t.URL.Reveal() == t.Address {
			return configured, true, nil
		}
		t.ID = configured.ID
		return t, true, nil
	}
	return t, false, nil
}

// pageFetcher asks the configuration's engines as the exporter would. What is none of them is shown none of the
// configuration's credentials: the URL may be mistyped, and then they would be somebody else's.
func pageFetcher(cfg *config.Config, known bool) (*engine.Fetcher, error) {
	c := fetcherConfig(cfg)
	if !known {
		c.Of = nil
		c.Access.BearerTokenFile, c.Access.Username, c.Access.PasswordFile = "", "", ""
		c.Access.CertFile, c.Access.KeyFile = "", ""
	}
	return engine.New(c)
}

// whyUnasked says why a stranger's page that wants credentials got none; "" when that was not it.
func whyUnasked(known bool, reason fact.Reason) string {
	if known || reason != fact.ReasonAuth {
		return ""
	}
	return "; the URL is of no target of the configuration, so none of its credentials were shown"
}

// pageAt polls an engine once.
func pageAt(ctx context.Context, cfg *config.Config, source string) ([]checkedPage, error) {
	t, known, err := targetAt(cfg, source)
	if err != nil {
		return nil, fmt.Errorf("check: %w", err)
	}
	page := checkedPage{name: t.Address}
	if known {
		page.engine = t.ID
	}
	fetcher, err := pageFetcher(cfg, known)
	if err != nil {
		return nil, fmt.Errorf("check %s: %w", page.name, err)
	}
	defer fetcher.Close()
	poll := fetcher.Poll(ctx, fact.Target{ID: t.ID, URL: t.URL.Reveal()})
	if poll.Sample == nil {
		return nil, fmt.Errorf("check %s: %s: %s%s", page.name, poll.Reason, poll.Detail, whyUnasked(known, poll.Reason))
	}
	page.sample = poll.Sample
	return []checkedPage{page}, nil
}

// pageIn reads a page that was saved to a file, for a command.
func pageIn(cfg *config.Config, command, path string) ([]checkedPage, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("%s: %w; give the URL or a file of an engine's page, or a recording that ends in .jsonl or .jsonl.gz", command, err)
	}
	defer f.Close()
	body, err := io.ReadAll(io.LimitReader(f, cfg.Poll.MaxBody+1))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", command, err)
	}
	if int64(len(body)) > cfg.Poll.MaxBody {
		return nil, fmt.Errorf("%s %s: the page is larger than poll.max_body (%d bytes); raise it if this is a page", command, path, cfg.Poll.MaxBody)
	}
	sample, err := engine.Decode(body, "") // the body says which grammar it is
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w", command, path, err)
	}
	return []checkedPage{{name: path, sample: sample}}, nil
}

// recordedPages finds the last good page of each target of a recording, in the order in which the targets appear.
func recordedPages(ctx context.Context, path string, notes io.Writer) ([]checkedPage, error) {
	f, err := openMeasured(path)
	if err != nil {
		return nil, fmt.Errorf("check: %w", err)
	}
	defer f.Close()
	bar := newProgress(notes, "reading "+path)
	defer bar.done()
	r, err := recording.NewReader(f, path)
	if err != nil {
		return nil, fmt.Errorf("check: %w", err)
	}
	var pages []checkedPage
	decoders := map[string]*engine.Decoder{}
	failure := "it holds no page of an engine"
	for ctx.Err() == nil {
		bar.at(f.share())
		p, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, fmt.Errorf("check: %w", err)
		}
		if decoders[p.Target] == nil {
			decoders[p.Target] = engine.NewDecoder()
		}
		poll := recordedPoll(p, decoders[p.Target])
		if poll.Sample == nil {
			failure = fmt.Sprintf("no page of it can be used; the last says: %s: %s", poll.Reason, poll.Detail)
			continue
		}
		page := checkedPage{name: fmt.Sprintf("%s line %d", path, p.Line), engine: p.Target, sample: poll.Sample}
		if i := slices.IndexFunc(pages, func(c checkedPage) bool { return c.engine == p.Target }); i >= 0 {
			pages[i] = page
		} else {
			pages = append(pages, page)
		}
	}
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("check stopped: %w", err)
	}
	if len(pages) == 0 {
		return nil, fmt.Errorf("check %s: %s", path, failure)
	}
	return pages, nil
}
