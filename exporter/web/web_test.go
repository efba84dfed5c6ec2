package web

import (
	"crypto/sha256"
	"encoding/base64"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"testing"
)

func get(p http.Handler, method, path string) (*httptest.ResponseRecorder, string) {
	r := httptest.NewRecorder()
	p.ServeHTTP(r, httptest.NewRequest(method, path, nil))
	return r, r.Body.String()
}

func TestRoutes(t *testing.T) {
	p := pages(t, viewOf(engine("a", "m", 0, steady, chat()), engine("x/y z", "m", 0, steady), engine("..", "m", 0, steady)))
	for name, c := range map[string]struct {
		method, path string
		status       int
		words        string
	}{
		"the first page":                   {"GET", "/", 200, "goodput-exporter"},
		"its head":                         {"HEAD", "/", 200, ""},
		"nothing is written to":            {"POST", "/", 405, ""},
		"an engine":                        {"GET", "/engine/a", 200, "engine a:"},
		"an engine with a slash":           {"GET", "/engine/x%2Fy%20z", 200, "engine x/y z:"},
		"the same, in the query":           {"GET", "/engine/?name=x%2Fy+z", 200, "engine x/y z:"},
		"a name that a path cannot hold":   {"GET", "/engine/?name=..", 200, "engine ..:"},
		"an objective":                     {"GET", "/slo/chat", 200, "SLO chat:"},
		"an engine that is not there":      {"GET", "/engine/b", 404, "There is no engine called “b”"},
		"an objective that is not there":   {"GET", "/slo/b", 404, "There is no SLO called “b”"},
		"a name that wants to be markup":   {"GET", "/engine/%3Cscript%3E", 404, "“&lt;script&gt;”"},
		"no name":                          {"GET", "/engine/", 404, "There is no engine called “”"},
		"anything else":                    {"GET", "/etc", 404, ""},
		"an objective cannot be changed":   {"DELETE", "/slo/chat", 405, ""},
		"refreshing can be switched off":   {"GET", "/?refresh=off", 200, "refresh again"},
		"and stays with a name in a query": {"GET", "/engine/?name=..", 200, `href="?name=..&amp;refresh=off"`},
	} {
		t.Run(name, func(t *testing.T) {
			r, body := get(p, c.method, c.path)
			if r.Code != c.status || !strings.Contains(body, c.words) {
				t.Errorf("status %d:\n%s", r.Code, body)
			}
		})
	}
	if _, body := get(p, "GET", "/?refresh=off"); strings.Contains(body, "http-equiv") {
		t.Error("a page that is paused refreshes")
	}
	if _, body := get(p, "GET", "/"); !strings.Contains(body, `http-equiv="refresh" content="15"`) {
		t.Error("the page does not refresh")
	}
}

// TestLinksLeadBack: every link to an engine or an objective leads to its page, whatever the name is.
func TestLinksLeadBack(t *testing.T) {
	for seed := range uint64(40) {
		v, objectives := random(seed)
		if v.Snapshot == nil {
			continue
		}
		p := pages(t, v)
		for i := range v.Snapshot.Engines {
			if r, _ := get(p, "GET", "/"+link("engine", v.Snapshot.Engines[i].ID)); r.Code != 200 {
				t.Errorf("%s of %q: %d", link("engine", v.Snapshot.Engines[i].ID), v.Snapshot.Engines[i].ID, r.Code)
			}
		}
		for _, o := range objectives {
			p.config.Objectives = append(p.config.Objectives, *o)
			if r, _ := get(p, "GET", "/"+link("slo", o.Name)); r.Code != 200 {
				t.Errorf("%s of %q: %d", link("slo", o.Name), o.Name, r.Code)
			}
		}
		_, body := get(p, "GET", "/")
		for _, m := range regexp.MustCompile(`href="([^"#]*)"`).FindAllStringSubmatch(body, -1) {
			address := strings.ReplaceAll(m[1], "&amp;", "&")
			if u, err := url.Parse(address); err != nil || u.IsAbs() && u.Scheme != "data" {
				t.Errorf("link %q", address)
			} else if strings.HasPrefix(address, "engine/") || strings.HasPrefix(address, "slo/") {
				if r, _ := get(p, "GET", "/"+address); r.Code != 200 {
					t.Errorf("the link %q leads to %d", address, r.Code)
				}
			}
		}
	}
}

func TestThePolicyAllowsTheStyleAndNothingElse(t *testing.T) {
	r, body := get(pages(t, viewOf()), "GET", "/")
	style := regexp.MustCompile(`(?s)<style>(.*)</style>`).FindStringSubmatch(body)
	if style == nil {
		t.Fatal("no style")
	}
	sum := sha256.Sum256([]byte(style[1]))
	policy := r.Header().Get("Content-Security-Policy")
	if !strings.Contains(policy, "'sha256-"+base64.StdEncoding.EncodeToString(sum[:])+"'") {
		t.Errorf("the policy %q does not allow the page's style", policy)
	}
	if !strings.HasPrefix(policy, "default-src 'none'") || strings.Contains(policy, "script-src") || strings.Contains(policy, "unsafe") {
		t.Errorf("policy %q", policy)
	}
}

func TestNewSaysWhatIsMissing(t *testing.T) {
	if _, err := New(Config{}); err == nil {
		t.Error("pages about nothing")
	}
}
