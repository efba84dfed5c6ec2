package fold

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/goodput-exporter/goodput-exporter/exporter/fact"
)

// at is a target at a URL.
func at(id, url string) fact.Target { return fact.Target{ID: id, URL: url} }

// inPod is a target at a URL, of a pod of which uid, name and namespace are known, or "".
func inPod(id, url, uid, name, namespace string) fact.Target {
	t := at(id, url)
	t.Labels = map[string]string{"tier": "gold"}
	for key, v := range map[string]string{"pod_uid": uid, "pod_name": name, "pod_namespace": namespace} {
		if v != "" {
			t.Labels[key] = v
		}
	}
	return t
}

// ask is one call of Match and what must come of it: a target and how, or "" and why.
type ask struct {
	at      float64
	targets []fact.Target
	from    fact.Origin
	target  string
	how     string // or why
}

func (a ask) check(t *testing.T, m *Matcher) {
	t.Helper()
	target, how, why := m.Match(a.targets, &a.from, a.at)
	if target != a.target || how+why != a.how || (how == "") != (target == "") || (why == "") == (how == "") {
		t.Errorf("%+v at %v: matched to %q by %q, unmatched for %q; want %q, %q", a.from, a.at, target, how, why, a.target, a.how)
	}
}

const page1, page2 = "http://10.0.0.1:8000/metrics", "http://10.0.0.2:8000/metrics"

var (
	two  = []fact.Target{at("a", page1), at("b", page2)}
	pods = []fact.Target{inPod("a", page1, "u1", "vllm-0", "prod"), inPod("b", page2, "u2", "vllm-1", "prod")}
	// One pod with two engines, each on a port of its own, and a pod with one.
	shared = []fact.Target{
		inPod("a", page1, "u1", "vllm-0", "prod"), inPod("a2", "http://10.0.0.1:8001/metrics", "u1", "vllm-0", "prod"), inPod("b", page2, "u2", "vllm-1", "prod"),
	}
	namesakes = []fact.Target{inPod("a", page1, "", "vllm-0", "prod"), inPod("b", page2, "", "vllm-0", "test")}
)

func TestOneSpanIsMatched(t *testing.T) {
	for name, a := range map[string]ask{
		"its resource names the target":                    {targets: two, from: fact.Origin{Engine: "b"}, target: "b", how: ByEngine},
		"the name goes before everything else":             {targets: pods, from: fact.Origin{Engine: "b", PodUID: "u1", PodName: "vllm-0", Peer: "10.0.0.1"}, target: "b", how: ByEngine},
		"a name that no target has is never tried further": {targets: two[:1], from: fact.Origin{Engine: "x", Peer: "10.0.0.1"}, how: UnmatchedEngine},
		"the name of a rank is not that of a target":       {targets: two, from: fact.Origin{Engine: "a/0"}, how: UnmatchedEngine},
		"without targets there is nothing to match":        {from: fact.Origin{Engine: "a", Peer: "10.0.0.1"}, how: UnmatchedNoTarget},
		"the pod's uid":                                        {targets: pods, from: fact.Origin{PodUID: "u2"}, target: "b", how: ByPod},
		"the uid goes before the name":                         {targets: pods, from: fact.Origin{PodUID: "u2", PodName: "vllm-0"}, target: "b", how: ByPod},
		"the pod goes before the address":                      {targets: pods, from: fact.Origin{PodUID: "u2", Peer: "10.0.0.1"}, target: "b", how: ByPod},
		"the pod's name":                                       {targets: pods, from: fact.Origin{PodName: "vllm-1"}, target: "b", how: ByPod},
		"the name in its namespace":                            {targets: namesakes, from: fact.Origin{PodName: "vllm-0", PodNamespace: "test"}, target: "b", how: ByPod},
		"the name in a namespace that no target is in":         {targets: namesakes, from: fact.Origin{PodName: "vllm-0", PodNamespace: "dev", Peer: "10.0.0.1"}, how: UnmatchedPod},
		"the name of a target that does not say its namespace": {targets: []fact.Target{inPod("a", page1, "", "vllm-0", ""), two[1]}, from: fact.Origin{PodName: "vllm-0", PodNamespace: "dev"}, target: "a", how: ByPod},
		"a name in two namespaces":                             {targets: namesakes, from: fact.Origin{PodName: "vllm-0"}, how: UnmatchedAmbiguous},
		"a name in two namespaces, from the address of one":    {targets: namesakes, from: fact.Origin{PodName: "vllm-0", Peer: "10.0.0.2"}, target: "b", how: ByAddress},
		"a name in two namespaces, from elsewhere":             {targets: namesakes, from: fact.Origin{PodName: "vllm-0", Peer: "10.0.0.9"}, how: UnmatchedAmbiguous},
		"a name of two, from the address of one, and the other is at a name": {
			targets: []fact.Target{namesakes[0], inPod("b", "http://gpu-7:8000/metrics", "", "vllm-0", "test")}, from: fact.Origin{PodName: "vllm-0", Peer: "10.0.0.1"}, how: UnmatchedAmbiguous,
		},
		"a namesake that was replaced has another uid":              {targets: pods[:1], from: fact.Origin{PodUID: "u0", PodName: "vllm-0", PodNamespace: "prod", Peer: "10.0.0.1"}, how: UnmatchedPod},
		"the name where targets have no uid":                        {targets: namesakes, from: fact.Origin{PodUID: "u7", PodName: "vllm-0", PodNamespace: "prod"}, target: "a", how: ByPod},
		"two engines in one pod":                                    {targets: shared, from: fact.Origin{PodUID: "u1", Peer: "10.0.0.1"}, how: UnmatchedAmbiguous},
		"the other pod beside them":                                 {targets: shared, from: fact.Origin{PodUID: "u2", Peer: "10.0.0.1"}, target: "b", how: ByPod},
		"a pod that no target is of":                                {targets: pods, from: fact.Origin{PodUID: "u9", Peer: "10.0.0.1"}, how: UnmatchedPod},
		"a pod that the only target is not of":                      {targets: pods[:1], from: fact.Origin{PodName: "vllm-9"}, how: UnmatchedPod},
		"a pod where no target says which it is of, by the address": {targets: two, from: fact.Origin{PodUID: "u9", PodName: "vllm-9", Peer: "10.0.0.2"}, target: "b", how: ByAddress},
		"a pod where the only target does not say which it is of":   {targets: two[:1], from: fact.Origin{PodUID: "u9"}, target: "a", how: ByOnly},
		"a uid where the only target has a name":                    {targets: namesakes[:1], from: fact.Origin{PodUID: "u9"}, target: "a", how: ByOnly},
		"a namespace alone says nothing":                            {targets: pods, from: fact.Origin{PodNamespace: "dev", Peer: "10.0.0.2"}, target: "b", how: ByAddress},
		"one target says no pod, the other another":                 {targets: []fact.Target{pods[0], two[1]}, from: fact.Origin{PodUID: "u9", Peer: "10.0.0.2"}, how: UnmatchedPod},
		"the address of one target":                                 {targets: two, from: fact.Origin{Peer: "10.0.0.2"}, target: "b", how: ByAddress},
		"the address of none of several":                            {targets: two, from: fact.Origin{Peer: "10.0.0.3"}, how: UnmatchedNothing},
		"the address of two":                                        {targets: []fact.Target{at("a", page1), at("b", "http://10.0.0.1:8001/metrics")}, from: fact.Origin{Peer: "10.0.0.1"}, how: UnmatchedAmbiguous},
		"the address of one, and another is at a name":              {targets: []fact.Target{at("a", page1), at("b", "http://gpu-7:8000/metrics")}, from: fact.Origin{Peer: "10.0.0.1"}, how: UnmatchedAmbiguous},
		"the address of none, and one is at a name":                 {targets: []fact.Target{at("a", page1), at("b", "http://gpu-7:8000/metrics")}, from: fact.Origin{Peer: "10.0.0.9"}, how: UnmatchedNothing},
		"the address with credentials before it":                    {targets: []fact.Target{at("a", "https://user:p@ss@10.0.0.1/metrics?x=@10.0.0.2"), two[1]}, from: fact.Origin{Peer: "10.0.0.1"}, target: "a", how: ByAddress},
		"an IPv4 address in the form of IPv6":                       {targets: two, from: fact.Origin{Peer: "::ffff:10.0.0.2"}, target: "b", how: ByAddress},
		"a target's IPv4 address in the form of IPv6":               {targets: []fact.Target{two[0], at("b", "http://[::ffff:10.0.0.2]:8000/metrics")}, from: fact.Origin{Peer: "10.0.0.2"}, target: "b", how: ByAddress},
		"an IPv6 address in brackets":                               {targets: []fact.Target{at("a", "http://[2001:db8::1]:8000/metrics"), at("b", "http://[2001:db8::2]:8000/metrics")}, from: fact.Origin{Peer: "2001:db8:0:0::2"}, target: "b", how: ByAddress},
		"an IPv6 address without a port":                            {targets: []fact.Target{at("a", "http://[2001:db8::1]/metrics"), two[1]}, from: fact.Origin{Peer: "2001:DB8::1"}, target: "a", how: ByAddress},
		"an IPv6 address with a zone":                               {targets: []fact.Target{at("a", "http://[fe80::1%25eth0]:8000/metrics"), two[1]}, from: fact.Origin{Peer: "fe80::1%ens3"}, target: "a", how: ByAddress},
		"localhost is the own host":                                 {targets: []fact.Target{at("a", "http://LocalHost:8000/metrics"), two[1]}, from: fact.Origin{Peer: "127.0.0.1"}, target: "a", how: ByAddress},
		"localhost to its full stop":                                {targets: []fact.Target{at("a", "http://localhost.:8000/metrics"), two[1]}, from: fact.Origin{Peer: "127.0.0.1"}, target: "a", how: ByAddress},
		"the own host, listened at over IPv4 and sent from over v6": {targets: []fact.Target{at("a", "http://127.0.0.1:8000/metrics"), two[1]}, from: fact.Origin{Peer: "::1"}, target: "a", how: ByAddress},
		"any address is the own host's":                             {targets: []fact.Target{at("a", "http://0.0.0.0:8000/metrics"), two[1]}, from: fact.Origin{Peer: "127.0.0.1"}, target: "a", how: ByAddress},
		"two on the own host, at different addresses of it":         {targets: []fact.Target{at("a", "http://127.0.0.1:8000/metrics"), at("b", "http://[::1]:8000/metrics")}, from: fact.Origin{Peer: "127.0.0.1"}, how: UnmatchedAmbiguous},
		"the only target, from wherever it comes":                   {targets: two[:1], from: fact.Origin{Peer: "10.0.0.9"}, target: "a", how: ByOnly},
		"the only target, which is at no known address":             {targets: []fact.Target{at("engine-0", "")}, from: fact.Origin{Peer: "127.0.0.1"}, target: "engine-0", how: ByOnly},
		"the only target, and nothing on the span":                  {targets: two[:1], target: "a", how: ByOnly},
		"the only target at the address":                            {targets: two[:1], from: fact.Origin{Peer: "10.0.0.1"}, target: "a", how: ByAddress},
		"nothing on the span, and several targets":                  {targets: two, how: UnmatchedNothing},
		"an unknown process, and several targets":                   {targets: two, from: fact.Origin{Instance: "i"}, how: UnmatchedNothing},
		"a peer that is no address":                                 {targets: two, from: fact.Origin{Peer: "@"}, how: UnmatchedNothing},
		"a peer with a name is not resolved":                        {targets: []fact.Target{at("a", "http://gpu-7:8000/metrics"), two[1]}, from: fact.Origin{Peer: "gpu-7"}, how: UnmatchedNothing},
	} {
		t.Run(name, func(t *testing.T) { a.check(t, &Matcher{}) })
	}
}

func TestWhatWasLearntOfAProcess(t *testing.T) {
	const i = "instance"
	collector := fact.Origin{Instance: i, Peer: "10.0.0.9"} // what a Collector hands on
	direct := fact.Origin{Instance: i, Peer: "10.0.0.1"}
	learn := ask{targets: two, from: direct, target: "a", how: ByAddress}
	moved := []fact.Target{at("a", "http://10.0.0.7:8000/metrics"), two[1]}
	for name, asks := range map[string][]ask{
		"a process is remembered by its address": {learn, {at: 1, targets: two, from: collector, target: "a", how: ByInstance}},
		"what the address says too is by the address": {
			learn, {at: 1, targets: two, from: direct, target: "a", how: ByAddress},
		},
		"by the name of its engine": {
			{targets: two, from: fact.Origin{Instance: i, Engine: "b"}, target: "b", how: ByEngine}, {at: 1, targets: two, from: collector, target: "b", how: ByInstance},
		},
		"by its pod": {
			{targets: pods, from: fact.Origin{Instance: i, PodUID: "u2"}, target: "b", how: ByPod}, {at: 1, targets: pods, from: collector, target: "b", how: ByInstance},
		},
		"not because there was only one target": {
			{targets: two[1:], from: collector, target: "b", how: ByOnly}, {at: 1, targets: two, from: collector, how: UnmatchedNothing},
		},
		"for an hour after it was last heard of": {
			learn, {at: 3600, targets: two, from: collector, target: "a", how: ByInstance}, {at: 7200, targets: two, from: collector, target: "a", how: ByInstance},
			{at: 10801, targets: two, from: collector, how: UnmatchedNothing},
		},
		"an address that says something else makes it doubtful, for replicas may have been given one name": {
			learn, {at: 1, targets: two, from: fact.Origin{Instance: i, Peer: "10.0.0.2"}, how: UnmatchedAmbiguous},
			{at: 2, targets: two, from: direct, target: "a", how: ByAddress},
		},
		"until the other replica is gone": {
			learn, {at: 1, targets: two[1:], from: fact.Origin{Instance: i, Peer: "10.0.0.2"}, target: "b", how: ByAddress},
		},
		"it goes before an address at which several are": {
			{targets: append(two[:2:2], at("c", "http://10.0.0.2:8001/metrics")), from: direct, target: "a", how: ByAddress},
			{at: 1, targets: append(two[:2:2], at("c", "http://10.0.0.2:8001/metrics")), from: fact.Origin{Instance: i, Peer: "10.0.0.2"}, target: "a", how: ByInstance},
		},
		"it tells which of two engines of a pod's name": {
			{targets: namesakes, from: fact.Origin{Instance: i, PodName: "vllm-0", Peer: "10.0.0.2"}, target: "b", how: ByAddress},
			{at: 1, targets: namesakes, from: fact.Origin{Instance: i, PodName: "vllm-0", Peer: "10.0.0.9"}, target: "b", how: ByInstance},
		},
		"what the span says of itself goes before it, and is what is remembered then": {
			learn, {at: 1, targets: two, from: fact.Origin{Instance: i, Engine: "b", Peer: "10.0.0.1"}, target: "b", how: ByEngine},
			{at: 2, targets: two, from: collector, target: "b", how: ByInstance},
		},
		"another pod's name goes before it": {
			{targets: pods, from: direct, target: "a", how: ByAddress}, {at: 1, targets: pods, from: fact.Origin{Instance: i, PodName: "vllm-1"}, target: "b", how: ByPod},
			{at: 2, targets: pods, from: collector, target: "b", how: ByInstance},
		},
		"a pod that is no target's contradicts it": {
			{targets: pods, from: direct, target: "a", how: ByAddress}, {at: 1, targets: pods, from: fact.Origin{Instance: i, PodName: "vllm-9"}, how: UnmatchedPod},
		},
		"a pod's name of which it is not contradicts it": {
			{targets: append([]fact.Target{two[0]}, inPod("b", page2, "", "x", "prod"), inPod("c", "http://10.0.0.3", "", "x", "test")), from: direct, target: "a", how: ByAddress},
			{at: 1, targets: append([]fact.Target{two[0]}, inPod("b", page2, "", "x", "prod"), inPod("c", "http://10.0.0.3", "", "x", "test")), from: fact.Origin{Instance: i, PodName: "x"}, how: UnmatchedAmbiguous},
		},
		"a new process is another": {
			learn, {at: 1, targets: two, from: fact.Origin{Instance: "other", Peer: "10.0.0.9"}, how: UnmatchedNothing},
			{at: 2, targets: two, from: fact.Origin{Instance: "other", Peer: "10.0.0.1"}, target: "a", how: ByAddress},
			{at: 3, targets: two, from: fact.Origin{Instance: "other", Peer: "10.0.0.9"}, target: "a", how: ByInstance},
		},
		"it ends when the target goes, though it comes back": {
			learn, {at: 1, targets: two[1:], from: fact.Origin{Engine: "b"}, target: "b", how: ByEngine}, {at: 2, targets: two, from: collector, how: UnmatchedNothing},
		},
		"it ends when the target moves": {
			learn, {at: 1, targets: moved, from: collector, how: UnmatchedNothing}, {at: 2, targets: two, from: collector, how: UnmatchedNothing},
		},
		"it ends when the pod is replaced at the same address": {
			{targets: pods, from: direct, target: "a", how: ByAddress},
			{at: 1, targets: []fact.Target{inPod("a", page1, "u3", "vllm-0", "prod"), pods[1]}, from: collector, how: UnmatchedNothing},
		},
		"also where no uid says so": {
			{targets: namesakes, from: direct, target: "a", how: ByAddress},
			{at: 1, targets: []fact.Target{inPod("a", page1, "", "vllm-2", "prod"), namesakes[1]}, from: collector, how: UnmatchedNothing},
		},
		"also where only the namespace is another": {
			{targets: namesakes, from: direct, target: "a", how: ByAddress},
			{at: 1, targets: []fact.Target{inPod("a", page1, "", "vllm-0", "dev"), namesakes[1]}, from: collector, how: UnmatchedNothing},
		},
		"a pod is followed though the name of an engine was learnt": {
			{targets: pods, from: fact.Origin{Instance: i, Engine: "a"}, target: "a", how: ByEngine}, {at: 1, targets: pods, from: fact.Origin{Instance: i, PodUID: "u2"}, target: "b", how: ByPod},
			{at: 2, targets: pods, from: collector, target: "b", how: ByInstance},
		},
		"it stays when the target's credentials change": {
			learn, {at: 1, targets: []fact.Target{at("a", "http://u:p@10.0.0.1:8000/metrics?key=x"), two[1]}, from: collector, target: "a", how: ByInstance},
		},
		"an address that another target takes over is not the dead one's": {
			learn, {at: 1, targets: []fact.Target{at("c", page1), two[1]}, from: fact.Origin{Instance: "new", Peer: "10.0.0.1"}, target: "c", how: ByAddress},
			{at: 2, targets: []fact.Target{at("c", page1), two[1]}, from: collector, how: UnmatchedNothing},
		},
		"an address learnt alone is forgotten when a second engine turns out to be at it": {
			learn, {at: 1, targets: append(two[:2:2], at("c", "http://10.0.0.1:8001/metrics")), from: direct, how: UnmatchedAmbiguous},
			{at: 2, targets: two, from: collector, how: UnmatchedNothing},
		},
		"and when one turns up that may be at it": {
			learn, {at: 1, targets: append(two[:2:2], at("c", "http://gpu-7:8001/metrics")), from: collector, how: UnmatchedNothing},
		},
		"a pod learnt with one engine is forgotten when it shows a second": {
			{targets: pods, from: fact.Origin{Instance: i, PodUID: "u1"}, target: "a", how: ByPod},
			{at: 1, targets: shared, from: fact.Origin{Instance: i, PodUID: "u1"}, how: UnmatchedAmbiguous},
		},
		"the engine's name outlives a second engine at its address, though the address was learnt as well": {
			learn, {at: 1, targets: two, from: fact.Origin{Instance: i, Engine: "a"}, target: "a", how: ByEngine}, {at: 2, targets: two, from: direct, target: "a", how: ByAddress},
			{at: 3, targets: append(two[:2:2], at("c", "http://10.0.0.1:8001/metrics")), from: direct, target: "a", how: ByInstance},
		},
		"other targets come and go": {
			learn, {at: 1, targets: append(two[:2:2], at("c", "http://10.0.0.3:8000/metrics")), from: collector, target: "a", how: ByInstance},
			{at: 2, targets: two[:1], from: collector, target: "a", how: ByInstance},
		},
		"who is left alone is not the only one while spans of the one that went may come": {
			{targets: two, how: UnmatchedNothing}, {at: 10, targets: two[:1], how: UnmatchedNothing}, {at: 310, targets: two[:1], how: UnmatchedNothing},
			{at: 310.5, targets: two[:1], target: "a", how: ByOnly},
		},
		"the only one, which was away for a while": {
			{targets: two[:1], target: "a", how: ByOnly}, {at: 1, how: UnmatchedNoTarget}, {at: 2, targets: two[:1], target: "a", how: ByOnly},
		},
		"what was never told of two targets is not told of one that takes both's place": {
			{targets: two, how: UnmatchedNothing}, {at: 10, targets: []fact.Target{at("c", page1)}, how: UnmatchedNothing},
		},
	} {
		t.Run(name, func(t *testing.T) {
			m := &Matcher{}
			for _, a := range asks {
				a.check(t, m)
			}
		})
	}
}

// TestNoMoreProcessesAreRememberedThanFit: the one that was heard of longest ago goes first.
func TestNoMoreProcessesAreRememberedThanFit(t *testing.T) {
	m := &Matcher{}
	send := func(i int, peer string) (target, how string) {
		target, how, _ = m.Match(two, &fact.Origin{Instance: fmt.Sprint(i), Peer: peer}, float64(i)/1e6)
		return target, how
	}
	for i := range maxInstances {
		send(i, "10.0.0.1")
	}
	send(0, "10.0.0.1") // heard of again
	for i := range 10 {
		send(maxInstances+i, "10.0.0.2")
	}
	equal(t, "remembered", len(m.memory.byID), maxInstances)
	for i, want := range map[int]string{0: "a", 1: "", 10: "", 11: "a", maxInstances - 1: "a", maxInstances: "b", maxInstances + 9: "b"} {
		if target, _ := send(i, "10.0.0.9"); target != want {
			t.Errorf("process %d is matched to %q, want %q", i, target, want)
		}
	}
	for range 3 * maxInstances {
		send(rand.IntN(1e9), "10.0.0.1")
	}
	equal(t, "remembered after many more", len(m.memory.byID), maxInstances)
	n := 0
	for r := m.memory.ends.older; r != m.memory.ends; r = r.older {
		n++
	}
	equal(t, "in the ring", n, maxInstances)
}

// TestTargetsThatWentAreForgotten, however many there were.
func TestTargetsThatWentAreForgotten(t *testing.T) {
	m := &Matcher{}
	for i := range 1000 {
		m.Match([]fact.Target{at(fmt.Sprint(i), page1)}, fromA, float64(i))
	}
	if n := len(m.left); n > lingering+1 {
		t.Errorf("%d are remembered", n)
	}
}

// TestMatchingIsTheSameHoweverOften: asking twice is answered twice alike, in whatever order the targets come, and what is
// matched is a target that there is.
func TestMatchingIsTheSameHoweverOften(t *testing.T) {
	rng := rand.New(rand.NewPCG(51, 1))
	some := func(of ...string) string { return of[rng.IntN(len(of))] }
	for range 3000 {
		var m, other Matcher
		for round := range 6 {
			var targets []fact.Target
			for _, id := range []string{"a", "b", "c"} {
				if rng.IntN(3) > 0 {
					url := fmt.Sprintf("http://%s:%d/metrics", some("10.0.0.1", "10.0.0.2", "127.0.0.1", "localhost", "[::1]", "name"), 8000+rng.IntN(2))
					targets = append(targets, inPod(id, url, some("", "", "u1", "u2"), some("", "", "n1", "n2"), some("", "x", "y")))
				}
			}
			reversed := make([]fact.Target, len(targets))
			ids := map[string]bool{"": true}
			for i, target := range targets {
				reversed[len(targets)-1-i] = target
				ids[target.ID] = true
			}
			for range 5 {
				o := &fact.Origin{
					Engine: some("", "", "", "a", "c"), PodUID: some("", "", "u1", "u2", "u3"), PodName: some("", "", "n1", "n2", "n3"), PodNamespace: some("", "x", "y"),
					Instance: some("", "i", "j"), Peer: some("", "10.0.0.1", "10.0.0.2", "127.0.0.1", "10.0.0.9"),
				}
				now := float64(round * 100)
				target, how, why := m.Match(targets, o, now)
				if again, howAgain, whyAgain := m.Match(targets, o, now); again != target || howAgain != how || whyAgain != why {
					t.Fatalf("%+v of %v: first %q %q %q, then %q %q %q", *o, targets, target, how, why, again, howAgain, whyAgain)
				}
				if turned, turnedHow, turnedWhy := other.Match(reversed, o, now); turned != target || turnedHow != how || turnedWhy != why {
					t.Fatalf("%+v of %v: %q %q %q, and in another order %q %q %q", *o, targets, target, how, why, turned, turnedHow, turnedWhy)
				}
				if !ids[target] || (target == "") == (how != "") || (how == "") == (why == "") {
					t.Fatalf("%+v of %v: %q %q %q", *o, targets, target, how, why)
				}
			}
		}
	}
}
