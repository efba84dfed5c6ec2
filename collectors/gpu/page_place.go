package gpu

import (
	"errors"
	"net/url"

	"github.com/goodput-exporter/goodput-exporter/exporter/fact"
)

// place is where a page is.
type place struct {
	text  string   // as it was given
	url   *url.URL // without user; nil: nowhere
	user  *url.Userinfo
	found string // who is there, where that had to be looked for; for a person
}

// placeOf reads the address of a page.
func placeOf(text string) (place, error) {
	u, err := url.Parse(text)
	if err != nil || u.Host == "" || (u.Scheme != "http" && u.Scheme != "https") {
		return place{}, errors.New("the url is not http or https with a host and a path, such as " + DefaultPageURL)
	}
	p := place{text: text, url: u, user: u.User}
	u.User = nil
	return p, nil
}

// address is what of the URL may be shown: a query can hold a secret.
func (p *place) address() string {
	if p.url == nil {
		return "dcgm-exporter"
	}
	return (&url.URL{Scheme: p.url.Scheme, Host: p.url.Host, Path: p.url.Path}).String()
}

// locate asks where the page is now, if that has to be asked. Another address is another exporter: what is remembered of the
// one before does not hold for it.
func (p *Page) locate() *failure {
	if p.cfg.Locate == nil || p.closed {
		return nil
	}
	text, why := p.cfg.Locate()
	why = clip(why, maxNote)
	if text == "" {
		p.place = place{}
		return fail(fact.ReasonConnect, "there is no page to read: %s", why)
	}
	if text != p.place.text {
		there, err := placeOf(text)
		if err != nil {
			p.place = place{}
			return fail(fact.ReasonConnect, "what was found has no address of a page: %v", err)
		}
		there.user = nil // nobody configured it
		p.place, p.decoder = there, NewDecoder(p.cfg.Node, p.cfg.StuckAfter)
		p.door.close()
	}
	p.place.found = why
	return nil
}

// withoutCredentials is an access that shows nothing of ours to a page, and believes the same certificates.
func (a Access) withoutCredentials() Access {
	return Access{CAFile: a.CAFile, ServerName: a.ServerName, InsecureSkipVerify: a.InsecureSkipVerify}
}
