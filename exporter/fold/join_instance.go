package fold

import (
	"strings"

	"github.com/goodput-exporter/goodput-exporter/exporter/fact"
)

func isMIG(device string) bool { return strings.HasPrefix(device, "MIG-") }

// heldBy is the GPU of one of the claims of a container or pod; nil where it is not known. beside are all of them.
//
// The kubelet calls a MIG instance by its UUID, and a page of dcgm-exporter by its card and a number, from which the UUID does
// not follow. The page may say which container holds it, though: where the kubelet gives a container one instance, to have
// alone, and the page one too, they are the same. With several, or in shares, it could not be said which is which. The two
// are not asked at one moment: a pod of a StatefulSet that comes back on another instance may be joined to the one that it
// had until both have been asked anew.
func (n *gpuState) heldBy(c *fact.DeviceClaim, beside []*fact.DeviceClaim) *gpu {
	if g := n.shown(c.Device); g != nil || !isMIG(c.Device) || !exclusive(c) {
		return g
	}
	holder := fact.Holder{Namespace: c.Namespace, Pod: c.Pod, Container: c.Container}
	for _, other := range beside {
		if other.Device != c.Device && other.Container == c.Container && samePod(other, c) {
			return nil
		}
	}
	var one *gpu
	for _, g := range n.visible {
		if g.told.Card == "" || g.told.Holder != holder || !g.present {
			continue
		}
		if one != nil {
			return nil
		}
		one = g
	}
	if one == nil || isMIG(one.told.UUID) { // of that one the source knows the UUID: it is another
		return nil
	}
	return one
}

// numbersInstances reports whether the source of readings calls instances by their card and a number.
func (n *gpuState) numbersInstances() bool {
	for _, g := range n.visible {
		if g.told.Card != "" && !isMIG(g.told.UUID) {
			return true
		}
	}
	return false
}
