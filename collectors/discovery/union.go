package discovery

import (
	"log/slog"
	"net/url"
	"slices"
	"strings"
	"sync"

	"github.com/goodput-exporter/goodput-exporter/exporter/fact"
)

// Found is a target and where it is named, for people: engines.targets, or a file and a line.
type Found struct {
	fact.Target
	From string
}

// Lister knows some of the targets. A list that was handed out is not written to, and as long as nothing changes the
// same one is handed out.
type Lister interface {
	List() []Found
}

// Union joins what several listers know. Of two targets with one id, or with one page, the first is taken: the other's
// requests would be counted under the wrong name, or twice. It is safe for concurrent use.
type Union struct {
	log     *slog.Logger
	listers []Lister

	mu      sync.Mutex
	lists   [][]Found // that targets was made of
	targets []fact.Target
	refused map[string]string // why a target is not taken, by id and origin
}

// NewUnion joins listers; those that come first go before the others.
func NewUnion(log *slog.Logger, listers ...Lister) *Union {
	return &Union{log: log, listers: listers}
}

// Targets are the targets of this moment; the list must not be written to.
func (u *Union) Targets() []fact.Target {
	u.mu.Lock()
	defer u.mu.Unlock()
	lists := make([][]Found, len(u.listers))
	for i, l := range u.listers {
		lists[i] = l.List()
	}
	if u.lists == nil || !slices.EqualFunc(lists, u.lists, same) {
		u.lists = lists
		u.join()
	}
	return u.targets
}

// Refused is the number of targets that are not taken.
func (u *Union) Refused() int {
	u.mu.Lock()
	defer u.mu.Unlock()
	return len(u.refused)
}

// Refusals says of each target that is not taken why, sorted.
func (u *Union) Refusals() []string {
	u.mu.Lock()
	defer u.mu.Unlock()
	all := make([]string, 0, len(u.refused))
	for who, why := range u.refused {
		id, from, _ := strings.Cut(who, " ")
		all = append(all, from+": "+id+" is not polled: "+why)
	}
	slices.Sort(all)
	return all
}

// same reports whether two lists are one.
func same(a, b []Found) bool {
	return len(a) == len(b) && (len(a) == 0 || &a[0] == &b[0])
}

func (u *Union) join() {
	u.targets = nil
	refused := map[string]string{}
	ids, pages := map[string]string{}, map[string]Found{}
	for _, list := range u.lists {
		for _, f := range list {
			page := pageOf(f.URL)
			before, isTwin := pages[page]
			switch from, taken := ids[f.ID]; {
			case taken:
				refused[f.ID+" "+f.From] = "its id is taken by " + from + ": give it another, in a file with the label goodput_id"
			case isTwin:
				refused[f.ID+" "+f.From] = "its page is that of " + before.ID + " (" + before.From + "), whose requests would be counted twice: remove one of the two"
			default:
				ids[f.ID], pages[page] = f.From, f
				u.targets = append(u.targets, f.Target)
				continue
			}
			if key := f.ID + " " + f.From; u.refused[key] != refused[key] {
				u.log.Warn("a target is not polled", "engine", f.ID, "from", f.From, "why", refused[key])
			}
		}
	}
	u.refused = refused
}

// pageOf is an address without the user: two users see the same engine.
func pageOf(raw string) string {
	u, err := url.Parse(raw)
	if err != nil {
		return raw
	}
	port := u.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[u.Scheme]
	}
	return strings.Join([]string{u.Scheme, strings.ToLower(u.Hostname()), port, u.EscapedPath(), u.RawQuery}, " ")
}
