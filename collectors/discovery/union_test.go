package discovery

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"

	"github.com/goodput-exporter/goodput-exporter/exporter/fact"
)

// changing is a lister whose list a test may change.
type changing struct{ list []Found }

func (c *changing) List() []Found { return c.list }

func found(from string, pairs ...string) (all []Found) {
	for i := 0; i < len(pairs); i += 2 {
		all = append(all, Found{fact.Target{ID: pairs[i], URL: pairs[i+1]}, from})
	}
	return all
}

func ids(targets []fact.Target) string {
	var all []string
	for _, t := range targets {
		all = append(all, t.ID)
	}
	return strings.Join(all, " ")
}

func TestUnion(t *testing.T) {
	for name, c := range map[string]struct {
		fixed, files []Found
		want         string
		why          []string // what is said about those that are not taken
	}{
		"all are taken":            {found("c", "a", "http://h:1/metrics"), found("f:2", "b", "http://h:2/metrics"), "a b", nil},
		"of one id the first":      {found("engines.targets", "a", "http://h:1/metrics"), found("f:2", "a", "http://h:2/metrics"), "a", []string{"its id is taken by engines.targets: give it another, in a file with the label goodput_id"}},
		"of one page the first":    {found("engines.targets", "a", "http://h/metrics"), found("f:2", "b", "http://u:p@H:80/metrics"), "a", []string{"its page is that of a (engines.targets), whose requests would be counted twice: remove one of the two"}},
		"of one file the first":    {nil, found("f:1", "a", "http://h/m", "a", "http://h/m", "b", "http://h/n"), "a b", []string{"its id is taken by f:1"}},
		"another query is another": {nil, found("f:1", "a", "http://h/m?x=1", "b", "http://h/m?x=2"), "a b", nil},
		"none":                     {nil, nil, "", nil},
	} {
		t.Run(name, func(t *testing.T) {
			var log bytes.Buffer
			u := NewUnion(slog.New(slog.NewTextHandler(&log, nil)), &changing{c.fixed}, &changing{c.files})
			for range 3 {
				if got := ids(u.Targets()); got != c.want {
					t.Errorf("targets %q, want %q", got, c.want)
				}
			}
			if u.Refused() != len(c.why) || strings.Count(log.String(), "is not polled") != len(c.why) {
				t.Errorf("%d refused, want %d; log\n%s", u.Refused(), len(c.why), log.String())
			}
			for i, why := range c.why {
				if got := u.Refusals()[i]; !strings.Contains(got, " is not polled: "+why) {
					t.Errorf("refusal %q", got)
				}
				if !strings.Contains(log.String(), why) {
					t.Errorf("%q is not in the log\n%s", why, log.String())
				}
			}
			if strings.Contains(log.String(), "u:p") {
				t.Error("the log tells a secret")
			}
		})
	}
}

// TestUnionFollows: what changes in one list is seen, and a refusal is said once while it lasts.
func TestUnionFollows(t *testing.T) {
	var log bytes.Buffer
	fixed, files := &changing{found("c", "a", "http://h:1/m")}, &changing{found("f:1", "a", "http://h:2/m")}
	u := NewUnion(slog.New(slog.NewTextHandler(&log, nil)), fixed, files)
	u.Targets()
	files.list = found("f:1", "a", "http://h:2/m", "b", "http://h:3/m")
	if got := ids(u.Targets()); got != "a b" || u.Refused() != 1 {
		t.Errorf("targets %q, %d refused", got, u.Refused())
	}
	fixed.list = nil
	if got := u.Targets(); ids(got) != "a b" || got[0].URL != "http://h:2/m" || u.Refused() != 0 {
		t.Errorf("targets %v, %d refused", got, u.Refused())
	}
	if n := strings.Count(log.String(), "is not polled"); n != 1 {
		t.Errorf("said %d times\n%s", n, log.String())
	}
}

// TestUnionJoinsOnce: as long as no list changes, the targets are the same list, and no address is taken apart again.
func TestUnionJoinsOnce(t *testing.T) {
	fixed, err := NewStatic([]fact.Target{{ID: "a", URL: "http://h:1/m"}})
	if err != nil {
		t.Fatal(err)
	}
	files := &changing{found("f:1", "b", "http://h:2/m")}
	u := NewUnion(slog.New(slog.DiscardHandler), fixed, files)
	u.Targets()
	if n := testing.AllocsPerRun(10, func() { u.Targets() }); n > 1 {
		t.Errorf("%v allocations for targets that have not changed", n)
	}
	if list := fixed.List(); len(list) != 1 || list[0].From != "engines.targets" {
		t.Errorf("list %v", list)
	}
}
