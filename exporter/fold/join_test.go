package fold

import (
	"fmt"
	"strings"
	"testing"

	"github.com/goodput-exporter/goodput-exporter/exporter/fact"
)

// told is a join in words: of each engine how, whose, and whether shared; of each GPU how.
func (n *node) told() string {
	var b strings.Builder
	for _, e := range n.last.Engines {
		fmt.Fprintf(&b, "%s %s", e.ID, e.GPUs.Join)
		for _, uuid := range e.GPUs.UUIDs {
			b.WriteString(" " + uuid)
		}
		if e.GPUs.Shared {
			b.WriteString(" shared")
		}
		if e.GPUs.Partial != "" {
			b.WriteString(" partial")
		}
		b.WriteString("; ")
	}
	for _, g := range n.last.GPUs {
		fmt.Fprintf(&b, "%s %s", g.UUID, g.Join)
		for _, id := range g.Engines {
			b.WriteString(" " + id)
		}
		if g.Shared {
			b.WriteString(" shared")
		}
		b.WriteString("; ")
	}
	return strings.TrimSuffix(b.String(), "; ")
}

// joinCase is engines, GPUs and claims, and how they belong together.
type joinCase struct {
	targets []fact.Target
	gpus    []fact.GPU          // none: GPU-a and GPU-b
	claims  []fact.DeviceClaim  // nil: the kubelet is not asked
	named   map[string][]string // by the configuration
	want    string
	says    []string // in why, or else in why it is partial, of the first engine
}

func (c joinCase) check(t *testing.T) {
	t.Helper()
	o := gpuOptions()
	o.EngineGPUs = c.named
	n := nodeWith(t, o, c.targets...)
	gpus := c.gpus
	if gpus == nil {
		gpus = []fact.GPU{card("GPU-a", 0), card("GPU-b", 0)}
	}
	var claims *fact.DeviceClaims
	if c.claims != nil {
		claims = claimed(100, c.claims...)
	}
	n.round(100, reading(100, gpus...), claims)
	equal(t, "joined", n.told(), c.want)
	e := n.last.Engines[0].GPUs
	for _, text := range c.says {
		if why := also(e.Why, e.Partial); !strings.Contains(why, text) {
			t.Errorf("%q does not say %q", why, text)
		}
	}
	if c.says == nil && e.Why+e.Partial != "" && !e.Shared {
		t.Errorf("says %q, %q", e.Why, e.Partial)
	}
}

func TestJoin(t *testing.T) {
	none := []fact.DeviceClaim{}
	mig := []fact.GPU{card("GPU-a", 0), part("MIG-1", "GPU-a", "1"), part("MIG-2", "GPU-a", "2"), card("GPU-b", 0)}
	uid := func(id, uid string) fact.Target { return inPod(id, page1, uid, "", "") }
	withUID := func(c fact.DeviceClaim, uid string) fact.DeviceClaim { c.PodUID = uid; return c }
	dra := fact.DeviceClaim{Namespace: "serving", Pod: "p0", Container: "vllm", Device: "node-a/gpu-3", Claim: "serving/gpus", Unresolved: fact.UnresolvedDRA}
	ofClaim := func(c fact.DeviceClaim) fact.DeviceClaim { c.Claim = "serving/gpus"; return c }
	for name, c := range map[string]joinCase{
		"the configuration names the GPUs": {
			targets: two, named: map[string][]string{"a": {"GPU-b"}, "b": {"GPU-a"}}, want: "a uuid GPU-b; b uuid GPU-a; GPU-a uuid b; GPU-b uuid a"},
		"the configuration goes before the kubelet": {
			targets: []fact.Target{engineIn("a", "p0")}, named: map[string][]string{"a": {"GPU-b"}}, claims: []fact.DeviceClaim{claim("p0", "GPU-a")},
			want: "a uuid GPU-b; GPU-a unmatched; GPU-b uuid a"},
		"the configuration names one GPU for two engines": {
			targets: two, named: map[string][]string{"a": {"GPU-b"}, "b": {"GPU-b"}},
			want: "a uuid GPU-b shared; b uuid GPU-b shared; GPU-a unmatched; GPU-b uuid a b shared", says: []string{"GPU-b is held by others too"}},
		"the configuration names a GPU that is not there": {
			targets: two[:1], named: map[string][]string{"a": {"GPU-x", "GPU-a"}}, want: "a uuid GPU-a partial; GPU-a uuid a; GPU-b unmatched", says: []string{"names GPU-x"}},
		"the configuration names none that is there": {
			targets: two[:1], named: map[string][]string{"a": {"GPU-w", "GPU-x", "GPU-y", "GPU-z"}}, want: "a unmatched; GPU-a unmatched; GPU-b unmatched", says: []string{"GPU-w, GPU-x, GPU-y and 1 more"}},
		"tensor parallel: one engine, many GPUs": {
			targets: []fact.Target{engineIn("a", "p0")}, claims: []fact.DeviceClaim{claim("p0", "GPU-b"), claim("p0", "GPU-a"), claim("p0", "GPU-a")},
			want: "a pod GPU-a GPU-b; GPU-a pod a; GPU-b pod a"},
		"each engine by its pod, and a GPU that is free": {
			targets: []fact.Target{engineIn("a", "p0"), engineIn("b", "p1")}, gpus: []fact.GPU{card("GPU-a", 0), card("GPU-b", 0), card("GPU-c", 0)},
			claims: []fact.DeviceClaim{claim("p0", "GPU-b"), claim("p1", "GPU-a")}, want: "a pod GPU-b; b pod GPU-a; GPU-a pod b; GPU-b pod a; GPU-c unmatched"},
		"the uid of the pod": {
			targets: []fact.Target{uid("a", "u0"), uid("b", "u1")}, claims: []fact.DeviceClaim{withUID(claim("p0", "GPU-b"), "u0"), withUID(claim("p0", "GPU-a"), "u1")},
			want: "a pod GPU-b; b pod GPU-a; GPU-a pod b; GPU-b pod a"},
		"a namesake of another uid is another pod": {
			targets: []fact.Target{inPod("a", page1, "u1", "p0", "serving"), two[1]}, claims: []fact.DeviceClaim{withUID(claim("p0", "GPU-a"), "u0")},
			want: "a unmatched; b ambiguous; GPU-a ambiguous; GPU-b ambiguous", says: []string{"its pod holds no GPU"}},
		"a namesake in another namespace is another pod": {
			targets: []fact.Target{inPod("a", page1, "", "p0", "test")}, claims: []fact.DeviceClaim{claim("p0", "GPU-a")},
			want: "a unmatched; GPU-a unmatched; GPU-b unmatched", says: []string{"its pod holds no GPU"}},
		"a uid that the kubelet does not tell, and no name": {
			targets: []fact.Target{uid("a", "u0")}, claims: []fact.DeviceClaim{claim("p0", "GPU-a")},
			want: "a ambiguous; GPU-a ambiguous; GPU-b ambiguous", says: []string{"serving/p0", "pod_namespace and pod_name"}},
		"the only engine": {
			targets: two[:1], want: "a only GPU-a GPU-b; GPU-a only a; GPU-b only a"},
		"the only engine, and the kubelet knows of no claims": {
			targets: []fact.Target{engineIn("a", "p0")}, claims: none, want: "a only GPU-a GPU-b; GPU-a only a; GPU-b only a"},
		"the only engine that is watched, beside a pod with a GPU": {
			targets: []fact.Target{engineIn("a", "p0")}, claims: []fact.DeviceClaim{claim("train", "GPU-b")},
			want: "a unmatched; GPU-a unmatched; GPU-b unmatched", says: []string{"its pod holds no GPU"}},
		"the only engine, of no pod that is known, beside a pod with a GPU": {
			targets: two[:1], claims: []fact.DeviceClaim{claim("p7", "GPU-b")},
			want: "a ambiguous; GPU-a ambiguous; GPU-b ambiguous", says: []string{"such as serving/p7"}},
		"the only engine, and the GPUs of two nodes": {
			targets: two[:1], gpus: []fact.GPU{card("GPU-a", 0), {UUID: "GPU-b", Node: "node-b"}},
			want: "a ambiguous; GPU-a ambiguous; GPU-b ambiguous", says: []string{"2 nodes"}},
		"the only engine has the instances of a divided card, and not the card": {
			targets: two[:1], gpus: mig, want: "a only GPU-b MIG-1 MIG-2; GPU-a unmatched; MIG-1 only a; MIG-2 only a; GPU-b only a", says: []string{"is a MIG instance"}},
		"several engines, and nothing decides": {
			targets: two, want: "a ambiguous; b ambiguous; GPU-a ambiguous; GPU-b ambiguous", says: []string{"2 engines"}},
		"several engines and a divided card, and nothing decides": {
			targets: two, gpus: mig[:2], want: "a ambiguous; b ambiguous; GPU-a unmatched; MIG-1 ambiguous", says: []string{"2 engines"}},
		"several engines of known pods, and the kubelet knows of no claims": {
			targets: []fact.Target{engineIn("a", "p0"), engineIn("b", "p1")}, claims: none,
			want: "a unmatched; b unmatched; GPU-a unmatched; GPU-b unmatched", says: []string{"its pod holds no GPU"}},
		"an engine and no GPU": {targets: two[:1], gpus: []fact.GPU{}, want: "a unmatched", says: []string{"no GPU is known"}},
		"two engines in a pod share what it holds": {
			targets: []fact.Target{engineIn("a", "p0"), engineIn("b", "p0")}, claims: []fact.DeviceClaim{claim("p0", "GPU-a"), claim("p0", "GPU-b")},
			want: "a pod GPU-a GPU-b shared; b pod GPU-a GPU-b shared; GPU-a pod a b shared; GPU-b pod a b shared"},
		"two engines in containers of a pod, which their targets name": {
			targets: []fact.Target{engineIn("a", "p0", "container", "x"), engineIn("b", "p0", "container", "y")},
			claims:  []fact.DeviceClaim{by(claim("p0", "GPU-a"), "y"), by(claim("p0", "GPU-b"), "x")}, want: "a pod GPU-b; b pod GPU-a; GPU-a pod b; GPU-b pod a"},
		"a container that holds nothing has what its pod holds": {
			targets: []fact.Target{engineIn("a", "p0", "container", "x")}, claims: []fact.DeviceClaim{claim("p0", "GPU-a")}, want: "a pod GPU-a; GPU-a pod a; GPU-b unmatched"},
		"time slicing: many engines, one GPU": {
			targets: []fact.Target{engineIn("a", "p0"), engineIn("b", "p1")}, claims: []fact.DeviceClaim{replica(claim("p0", "GPU-a"), "0"), replica(claim("p1", "GPU-a"), "1")},
			want: "a pod GPU-a shared; b pod GPU-a shared; GPU-a pod a b shared; GPU-b unmatched"},
		"time slicing with a pod that is no engine": {
			targets: []fact.Target{engineIn("a", "p0")}, claims: []fact.DeviceClaim{replica(claim("p0", "GPU-a"), "0"), replica(claim("notebook", "GPU-a"), "1")},
			want: "a pod GPU-a shared; GPU-a pod a shared; GPU-b unmatched"},
		"time slicing with another container of its pod": {
			targets: []fact.Target{engineIn("a", "p0", "container", "vllm")}, claims: []fact.DeviceClaim{replica(claim("p0", "GPU-a"), "0"), by(replica(claim("p0", "GPU-a"), "1"), "embedder")},
			want: "a pod GPU-a shared; GPU-a pod a shared; GPU-b unmatched"},
		"all slices of a GPU that are held are one container's": {
			targets: []fact.Target{engineIn("a", "p0")}, claims: []fact.DeviceClaim{replica(claim("p0", "GPU-a"), "0"), replica(claim("p0", "GPU-a"), "1")},
			want: "a pod GPU-a; GPU-a pod a; GPU-b unmatched"},
		"a resource claim that pods share": {
			targets: []fact.Target{engineIn("a", "p0")}, claims: []fact.DeviceClaim{ofClaim(claim("p0", "GPU-a")), ofClaim(claim("p1", "GPU-a"))},
			want: "a pod GPU-a shared; GPU-a pod a shared; GPU-b unmatched"},
		"an engine on an instance": {
			targets: []fact.Target{engineIn("a", "p0"), engineIn("b", "p1")}, gpus: mig, claims: []fact.DeviceClaim{claim("p0", "MIG-2"), claim("p1", "GPU-b")},
			want: "a pod MIG-2; b pod GPU-b; GPU-a unmatched; MIG-1 unmatched; MIG-2 pod a; GPU-b pod b", says: []string{"MIG-2 is a MIG instance"}},
		"a card that is named, of which an instance is another's": {
			targets: []fact.Target{two[0], engineIn("b", "p1")}, gpus: mig, named: map[string][]string{"a": {"GPU-a"}}, claims: []fact.DeviceClaim{claim("p1", "MIG-2")},
			want: "a uuid GPU-a shared; b pod MIG-2; GPU-a uuid a shared; MIG-1 unmatched; MIG-2 pod b; GPU-b unmatched"},
		"an instance that the source has under another name": {
			targets: []fact.Target{engineIn("a", "p0")}, gpus: []fact.GPU{card("GPU-a", 0), part("GPU-a/1", "GPU-a", "1")}, claims: []fact.DeviceClaim{claim("p0", "MIG-1")},
			want: "a unmatched; GPU-a unmatched; GPU-a/1 unmatched", says: []string{"MIG-1 (a MIG instance: the source of readings calls instances by their card and a number", "goodput-dcgm", "name its GPUs in the configuration"}},
		"an instance that the source does not have among those of which it knows the UUIDs": {
			targets: []fact.Target{engineIn("a", "p0")}, gpus: mig[:2], claims: []fact.DeviceClaim{claim("p0", "MIG-7")},
			want: "a unmatched; GPU-a unmatched; MIG-1 unmatched", says: []string{"MIG-7 (which the source of readings does not have)"}},
		"a device whose UUID is not known, beside one": {
			targets: []fact.Target{engineIn("a", "p0")}, claims: []fact.DeviceClaim{dra, claim("p0", "GPU-a")}, want: "a pod GPU-a partial; GPU-a pod a; GPU-b unmatched", says: []string{"node-a/gpu-3 (DRA"}},
		"an engine over several nodes": {
			targets: []fact.Target{engineIn("a", "p0", "goodput_nodes", "2")}, claims: none, want: "a only GPU-a GPU-b partial; GPU-a only a; GPU-b only a", says: []string{"2 nodes", "goodput_nodes"}},
		"an engine on one node of one": {
			targets: []fact.Target{engineIn("a", "p0", "goodput_nodes", "1", "lws_size", "x")}, claims: none, want: "a only GPU-a GPU-b; GPU-a only a; GPU-b only a"},
		"an engine of a Ray cluster": {
			targets: []fact.Target{engineIn("a", "p0", "ray_cluster", "r")}, claims: none, want: "a only GPU-a GPU-b partial; GPU-a only a; GPU-b only a", says: []string{"Ray"}},
	} {
		t.Run(name, c.check)
	}
}

func TestJoinCases(t *testing.T) {
	t.Run("JON-03: of a finished pod that is still listed and an engine's, the engine's holds the GPU", func(t *testing.T) {
		for _, order := range [][]fact.DeviceClaim{
			{claim("train-old", "GPU-a"), claim("acme-0", "GPU-a")}, {claim("acme-0", "GPU-a"), claim("train-old", "GPU-a")},
		} {
			n := nodeOf(t, engineIn("acme", "acme-0")).round(100, reading(100, card("GPU-a", 0)), claimed(100, order...))
			equal(t, "joined", n.told(), "acme pod GPU-a; GPU-a pod acme")
			equal(t, "conflicts", n.last.GPUSource.Claims.Conflicts, 1)
			n.round(102, nil, claimed(102, claim("acme-0", "GPU-a")))
			equal(t, "conflicts when it is not listed any more", n.last.GPUSource.Claims.Conflicts, 0)
		}
		both := nodeOf(t, engineIn("a", "p0"), engineIn("b", "p1")).round(100, reading(100, card("GPU-a", 0)), claimed(100, claim("p0", "GPU-a"), claim("p1", "GPU-a")))
		equal(t, "two that live", both.told(), "a pod GPU-a shared; b pod GPU-a shared; GPU-a pod a b shared")
		equal(t, "their conflict", both.last.GPUSource.Claims.Conflicts, 1)
	})
	t.Run("a GPU that is shared on purpose is no conflict, one that is held whole and in part is", func(t *testing.T) {
		for name, c := range map[string]struct {
			claims []fact.DeviceClaim
			want   uint64
		}{
			"slices":                  {[]fact.DeviceClaim{replica(claim("p0", "GPU-a"), "0"), replica(claim("p1", "GPU-a"), "1")}, 0},
			"containers of a pod":     {[]fact.DeviceClaim{claim("p0", "GPU-a"), by(claim("p0", "GPU-a"), "init")}, 0},
			"a whole one and a slice": {[]fact.DeviceClaim{claim("p0", "GPU-a"), replica(claim("p1", "GPU-a"), "1")}, 1},
			"a slice and a whole one": {[]fact.DeviceClaim{replica(claim("p1", "GPU-a"), "1"), claim("p0", "GPU-a")}, 1},
		} {
			n := nodeOf(t, engineIn("a", "p0")).round(100, reading(100, card("GPU-a", 0)), claimed(100, c.claims...))
			equal(t, name, n.last.GPUSource.Claims.Conflicts, c.want)
		}
	})
	t.Run("JON-05: when the kubelet's answer fails its last good one is used for an hour, and nothing goes down", func(t *testing.T) {
		failed := func(at float64) *fact.DeviceClaims {
			return &fact.DeviceClaims{At: at, Reason: fact.ReasonTooLarge, Detail: "16 MiB"}
		}
		n := nodeOf(t, engineIn("a", "p0")).round(100, reading(100, card("GPU-a", 0), card("GPU-b", 0)), claimed(100, claim("p0", "GPU-a")))
		n.round(110, nil, failed(110))
		c := n.last.GPUSource.Claims
		if !c.Asked || c.Up || c.At != 100 || c.Detail != "16 MiB" {
			t.Errorf("%+v", c)
		}
		equal(t, "joined", n.told(), "a pod GPU-a; GPU-a pod a; GPU-b unmatched")
		n.round(3700, reading(3700, card("GPU-a", 0), card("GPU-b", 0)), failed(3700))
		equal(t, "after an hour", n.told(), "a pod GPU-a; GPU-a pod a; GPU-b unmatched")
		n.round(3702, reading(3702, card("GPU-a", 0), card("GPU-b", 0)), failed(3702))
		equal(t, "later, all is not the engine's", n.told(), "a ambiguous; GPU-a ambiguous; GPU-b ambiguous")
		n.round(3710, nil, claimed(3710, claim("p0", "GPU-b")))
		equal(t, "again", n.told(), "a pod GPU-b; GPU-a unmatched; GPU-b pod a")
		equal(t, "up", n.last.GPUSource.Claims.Up, true)

		never := nodeOf(t, engineIn("a", "p0"), engineIn("b", "p1")).round(100, reading(100, card("GPU-a", 0)), failed(100))
		equal(t, "never an answer", never.told(), "a ambiguous; b ambiguous; GPU-a ambiguous")
		equal(t, "at", never.last.GPUSource.Claims.At, 0)
		for reason, want := range map[fact.Reason]string{fact.ReasonTimeout: "a ambiguous; GPU-a ambiguous", fact.ReasonConnect: "a only GPU-a; GPU-a only a"} {
			n := nodeOf(t, two[0]).round(100, reading(100, card("GPU-a", 0)), &fact.DeviceClaims{At: 100, Reason: reason})
			equal(t, "the only engine, of which the kubelet never said anything: "+string(reason), n.told(), want)
		}
	})
	t.Run("JON-07: the GPUs of an engine's leader are marked as not all of its GPUs", func(t *testing.T) {
		var gpus []fact.GPU
		var claims []fact.DeviceClaim
		for i := range 8 {
			uuid := fmt.Sprintf("GPU-%d", i)
			gpus, claims = append(gpus, card(uuid, 0)), append(claims, claim("leader", uuid))
		}
		n := nodeOf(t, engineIn("a", "leader", "lws_size", "2")).round(100, reading(100, gpus...), claimed(100, claims...))
		equal(t, "GPUs", len(n.engine("a").UUIDs), 8)
		equal(t, "partial", strings.Contains(n.engine("a").Partial, "spread over 2 nodes or pods"), true)
		// The node of the worker has no engine: its GPUs are nobody's that is known, which is not to say idle.
		equal(t, "worker", nodeOf(t).round(100, reading(100, card("GPU-9", 0)), claimed(100, claim("worker", "GPU-9"))).told(), "GPU-9 unmatched")
	})
	t.Run("JON-09: a pod whose GPU is of a resource claim is unmatched with the reason, not without GPUs", func(t *testing.T) {
		dra := fact.DeviceClaim{Namespace: "serving", Pod: "acme-0", Container: "vllm", Device: "node-a/gpu-3", Claim: "serving/gpu-claim", Unresolved: fact.UnresolvedDRA}
		n := nodeOf(t, engineIn("acme", "acme-0")).round(100, reading(100, card("GPU-a", 0), card("GPU-b", 0)), claimed(100, dra))
		equal(t, "joined", n.told(), "acme unmatched; GPU-a unmatched; GPU-b unmatched")
		for _, text := range []string{"DRA", "node-a/gpu-3", "ResourceSlice"} {
			if why := n.engine("acme").Why; !strings.Contains(why, text) {
				t.Errorf("%q does not say %q", why, text)
			}
		}
		equal(t, "unresolved", fmt.Sprint(n.last.GPUSource.Claims.Unresolved), "[{dra 1}]")
	})
	t.Run("GPU-01: a card's energy is counted once, and is no instance's", func(t *testing.T) {
		gpus := func(joules float64) []fact.GPU {
			out := []fact.GPU{card("GPU-aaaa", joules)}
			for _, i := range []string{"3", "4", "5", "6"} {
				out = append(out, part("GPU-aaaa/"+i, "GPU-aaaa", i))
			}
			return out
		}
		n := nodeOf(t, engineIn("a", "p0"), engineIn("b", "p1"))
		n.round(100, reading(100, gpus(0)...), claimed(100, claim("p0", "GPU-aaaa/3"), claim("p1", "GPU-aaaa/4"))).read(110, gpus(526)...)
		sum := 0.0
		for _, g := range n.last.GPUs {
			sum += g.Joules.V
			equal(t, g.UUID, g.Joules.Known, g.Card == "")
		}
		equal(t, "sum", sum, 526)
		equal(t, "the engine's", n.engine("a").Joules.Known, false)
	})
	t.Run("GPU-03: a card that pods share by time is shared on each, and its energy is neither's", func(t *testing.T) {
		n := nodeOf(t, engineIn("acme", "acme-0"), engineIn("beta", "beta-0"))
		n.round(100, reading(100, card("GPU-aaaa", 0)), claimed(100, replica(claim("acme-0", "GPU-aaaa"), "0"), replica(claim("beta-0", "GPU-aaaa"), "1")))
		n.read(110, card("GPU-aaaa", 700))
		equal(t, "joined", n.told(), "acme pod GPU-aaaa shared; beta pod GPU-aaaa shared; GPU-aaaa pod acme beta shared")
		equal(t, "the card's", n.gpu("GPU-aaaa").Joules, fact.Known(700))
		for _, id := range []string{"acme", "beta"} {
			equal(t, id, n.engine(id).Joules.Known, false)
			equal(t, id, n.engine(id).Why, "GPU-aaaa is held by others too: what it uses cannot be told apart")
		}
	})
}
