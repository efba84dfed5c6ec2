package fold

import (
	"net/netip"
	"net/url"
	"strings"
	"testing"
)

// FuzzHost: whatever a target's URL or a peer's address is, its host is what net/url and net/netip make of it where they
// make anything, and nothing else counts as an address.
func FuzzHost(f *testing.F) {
	for _, seed := range []string{
		"http://10.0.0.1:8000/metrics", "https://user:p@ss@[2001:db8::1]:8000/metrics?x=@y", "http://[fe80::1%25eth0]/", "http://localhost", "http://[::ffff:10.0.0.1]:1",
		"10.0.0.1", "::1", "", "http://", "http://[", "[]", "%", "http://gpu-7:8000/metrics#x", "http://0.0.0.0:1/", "http://010.0.0.1/", "unix:///x",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if peer := parseHost(s); peer.IsValid() && !strings.Contains(s, "%") {
			literal, err := netip.ParseAddr(s)
			if err != nil && !strings.HasPrefix(strings.ToLower(s), "localhost") || err == nil && !sameHost(peer, literal) {
				t.Errorf("%q is taken for %v, not %v", s, peer, literal)
			}
		}
		u, err := url.Parse(s)
		if err != nil || u.Host == "" || u.Opaque != "" || !strings.HasPrefix(s, "http://") && !strings.HasPrefix(s, "https://") {
			return
		}
		if literal, err := netip.ParseAddr(u.Hostname()); err == nil {
			if got := parseHost(hostOf(s)); !sameHost(got, literal) {
				t.Errorf("the host of %q is taken for %v, not %v", s, got, literal)
			}
		}
	})
}

// sameHost reports whether two literals lead to the same host: the own one has many.
func sameHost(a, b netip.Addr) bool {
	own := func(x netip.Addr) bool { x = x.Unmap(); return x.IsLoopback() || x.IsUnspecified() }
	return a == b.Unmap().WithZone("") || own(a) && own(b)
}
