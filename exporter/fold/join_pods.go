package fold

import (
	"fmt"
	"slices"

	"github.com/goodput-exporter/goodput-exporter/exporter/fact"
)

// labelContainer is the label of a target that says which container of its pod the engine runs in.
const labelContainer = "container"

// claimants is which claims are whose.
type claimants struct {
	all  []fact.DeviceClaim
	uids bool // the kubelet tells uids of pods
	of   map[*engine][]*fact.DeviceClaim
	live map[*fact.DeviceClaim]bool // of the pod of a current target
}

func (n *gpuState) claimants(current []*engine, at float64) *claimants {
	c := &claimants{}
	usable := n.usable(at)
	if usable == nil {
		return c
	}
	c.all, c.of, c.live = usable.Claims, map[*engine][]*fact.DeviceClaim{}, map[*fact.DeviceClaim]bool{}
	for i := range c.all {
		claim := &c.all[i]
		c.uids = c.uids || claim.PodUID != ""
		for _, e := range current {
			if ofPod(claim, &e.target) {
				c.of[e] = append(c.of[e], claim)
				c.live[claim] = true
			}
		}
	}
	return c
}

// ofPod reports whether a claim is by the pod of a target. The uid goes before the name, which the next pod of a
// StatefulSet has again.
func ofPod(c *fact.DeviceClaim, t *fact.Target) bool {
	if uid := t.Labels[labelPodUID]; uid != "" && c.PodUID != "" {
		return uid == c.PodUID
	}
	name, namespace := t.Labels[labelPodName], t.Labels[labelPodNamespace]
	return name != "" && namespace != "" && name == c.Pod && namespace == c.Namespace
}

// knows reports whether the claims of a target's pod would be recognised.
func (c *claimants) knows(t *fact.Target) bool {
	return t.Labels[labelPodName] != "" && t.Labels[labelPodNamespace] != "" || t.Labels[labelPodUID] != "" && c.uids
}

// exclusive reports whether a claim is to have its device alone.
func exclusive(c *fact.DeviceClaim) bool { return c.Replica == "" && c.Claim == "" }

// holders is how many containers hold a device; conflict says that one pod has it alone by the kubelet's account, and
// another has it too.
// The kubelet still lists pods that finished: where one of several is a target's, it is the one that lives.
func (c *claimants) holders(device string) (containers int, conflict bool) {
	var held []*fact.DeviceClaim
	live := false
	for i := range c.all {
		if claim := &c.all[i]; claim.Device == device {
			conflict = conflict || slices.ContainsFunc(held, func(h *fact.DeviceClaim) bool {
				return (exclusive(h) || exclusive(claim)) && !samePod(h, claim)
			})
			live = live || exclusive(claim) && c.live[claim]
			held = append(held, claim)
		}
	}
	for i, claim := range held {
		finished := live && exclusive(claim) && !c.live[claim]
		again := slices.ContainsFunc(held[:i], func(h *fact.DeviceClaim) bool { return samePod(h, claim) && h.Container == claim.Container })
		if !finished && !again {
			containers++
		}
	}
	return containers, conflict
}

func samePod(a, b *fact.DeviceClaim) bool {
	return a.Namespace == b.Namespace && a.Pod == b.Pod && a.PodUID == b.PodUID
}

// joinPod joins by what the pod of a target holds. A target that says which container it is of has that one's, where it
// has any: otherwise all engines of a pod share what the pod holds.
func (n *gpuState) joinPod(t *fact.Target, claims []*fact.DeviceClaim) joined {
	own := func(c *fact.DeviceClaim) bool { return c.Container == t.Labels[labelContainer] }
	if slices.ContainsFunc(claims, own) {
		claims = slices.DeleteFunc(slices.Clone(claims), func(c *fact.DeviceClaim) bool { return !own(c) })
	}
	j := joined{join: JoinPod}
	var unknown []string
	for _, c := range claims {
		if c.Unresolved != "" || !j.add(n.heldBy(c, claims)) {
			unknown = append(unknown, n.unresolved(c))
		}
	}
	if len(unknown) == 0 {
		return j.sorted()
	}
	slices.Sort(unknown)
	why := "its pod holds " + some(slices.Compact(unknown)) + ": name its GPUs in the configuration"
	if len(j.gpus) == 0 {
		return joined{join: JoinUnmatched, why: why}
	}
	j.partial = why
	return j.sorted()
}

// unresolved says of a device of which the GPU is not known what it is.
func (n *gpuState) unresolved(c *fact.DeviceClaim) string {
	switch c.Unresolved {
	case "":
		if isMIG(c.Device) && n.numbersInstances() {
			return c.Device + " (a MIG instance: the source of readings calls instances by their card and a number, and does not tell which of them this is; goodput-dcgm knows their UUIDs)"
		}
		return c.Device + " (which the source of readings does not have)"
	case fact.UnresolvedDRA:
		return c.Device + " (DRA: a device of a resource claim, whose UUID is in no ResourceSlice that was read)"
	case fact.UnresolvedName:
		return c.Device + " (a device's file, of which it is not known whose it is)"
	}
	return fmt.Sprintf("%q (no form of a device that is known)", c.Device)
}

// unjoined says why an engine has no GPU that is known. It is ambiguous where it may have one.
func (n *gpuState) unjoined(t *fact.Target, claims *claimants, engines int, at float64) joined {
	const named = "name its GPUs in the configuration"
	switch {
	case n.untold(at):
		return joined{join: JoinAmbiguous, why: "the kubelet knows which pod holds which GPU, and has not said so for an hour, or not yet: see why it does not answer, or " + named}
	case n.usable(at) != nil && claims.knows(t):
		return joined{join: JoinUnmatched, why: "by the kubelet's account its pod holds no GPU: if it uses one all the same, " + named}
	case n.usable(at) != nil && len(claims.all) > 0:
		return joined{join: JoinAmbiguous, why: fmt.Sprintf("the kubelet says which pods hold GPUs, such as %s/%s, but not which of them the engine is: give its target the labels %s and %s, or %s",
			claims.all[0].Namespace, claims.all[0].Pod, labelPodNamespace, labelPodName, named)}
	case engines == 1:
		return joined{join: JoinAmbiguous, why: fmt.Sprintf("the GPUs are of %d nodes, and nothing says on which the engine is: %s", n.nodes(), named)}
	}
	return joined{join: JoinAmbiguous, why: fmt.Sprintf("there are %d engines, and nothing says which GPUs are whose: let the kubelet be asked, and give targets the labels %s and %s, or name the GPUs of each in the configuration",
		engines, labelPodNamespace, labelPodName)}
}

// untold reports that there is a kubelet, and that what it says is too old to be relied upon, or was never heard. That no
// claim is known is then no sign that there is none. A node without a kubelet has no socket to connect to.
func (n *gpuState) untold(at float64) bool {
	if n.claimed == nil || n.usable(at) != nil {
		return false
	}
	return n.claims != nil || n.claimed.Reason != fact.ReasonConnect && n.claimed.Reason != fact.ReasonNoSource
}
