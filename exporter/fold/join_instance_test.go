package fold

import (
	"testing"

	"github.com/goodput-exporter/goodput-exporter/exporter/fact"
)

// TestAnInstanceThatThePageSaysIsHeld: the kubelet says a UUID, the page a card, a number and a holder. Where both are of one
// instance they are the same; where anything else could be meant, nothing is joined.
func TestAnInstanceThatThePageSaysIsHeld(t *testing.T) {
	heldBy := func(g fact.GPU, pod, container string) fact.GPU {
		g.Holder = fact.Holder{Namespace: "serving", Pod: pod, Container: container}
		return g
	}
	ofClaim := claim("p0", "MIG-x")
	ofClaim.Claim = "serving/mine"
	whole := card("GPU-a", 0)
	one, two := heldBy(part("GPU-a/1", "GPU-a", "1"), "p0", "vllm"), heldBy(part("GPU-a/2", "GPU-a", "2"), "p1", "vllm")
	nobody := "a unmatched; GPU-a unmatched; GPU-a/1 unmatched; GPU-a/2 unmatched"
	const cannot = "does not tell which of them this is"
	a := []fact.Target{engineIn("a", "p0")}
	elsewhere := two
	elsewhere.Holder.Namespace = "other"
	known := two
	known.UUID, known.Holder = "MIG-2", one.Holder
	for name, c := range map[string]joinCase{
		"each pod has one": {
			targets: []fact.Target{engineIn("a", "p0"), engineIn("b", "p1")}, gpus: []fact.GPU{whole, one, two}, claims: []fact.DeviceClaim{claim("p1", "MIG-x"), claim("p0", "MIG-y")},
			want: "a pod GPU-a/1; b pod GPU-a/2; GPU-a unmatched; GPU-a/1 pod a; GPU-a/2 pod b", says: []string{"is a MIG instance: what it uses of its card's energy cannot be told"}},
		"the page says nothing of holders": {
			targets: a, gpus: []fact.GPU{whole, part("GPU-a/1", "GPU-a", "1"), part("GPU-a/2", "GPU-a", "2")}, claims: []fact.DeviceClaim{claim("p0", "MIG-y")}, want: nobody, says: []string{cannot}},
		"the page says another pod": {
			targets: a, gpus: []fact.GPU{whole, part("GPU-a/1", "GPU-a", "1"), two}, claims: []fact.DeviceClaim{claim("p0", "MIG-y")}, want: nobody, says: []string{cannot}},
		"a pod of that name in another namespace": {
			targets: []fact.Target{engineIn("a", "p1")}, gpus: []fact.GPU{whole, part("GPU-a/1", "GPU-a", "1"), elsewhere}, claims: []fact.DeviceClaim{claim("p1", "MIG-y")}, want: nobody, says: []string{cannot}},
		"another container of the pod": {
			targets: a, gpus: []fact.GPU{whole, heldBy(one, "p0", "sidecar"), two}, claims: []fact.DeviceClaim{claim("p0", "MIG-y")}, want: nobody, says: []string{cannot}},
		"two of one container": {
			targets: a, gpus: []fact.GPU{whole, one, heldBy(two, "p0", "vllm")}, claims: []fact.DeviceClaim{claim("p0", "MIG-x"), claim("p0", "MIG-y")}, want: nobody, says: []string{cannot}},
		"two by the kubelet and one by the page": {
			targets: a, gpus: []fact.GPU{whole, one, two}, claims: []fact.DeviceClaim{claim("p0", "MIG-x"), claim("p0", "MIG-y")}, want: nobody, says: []string{cannot}},
		"one by the kubelet and two by the page": {
			targets: a, gpus: []fact.GPU{whole, one, heldBy(two, "p0", "vllm")}, claims: []fact.DeviceClaim{claim("p0", "MIG-x")}, want: nobody, says: []string{cannot}},
		"one of each of two containers": {
			targets: []fact.Target{engineIn("a", "p0", "container", "vllm"), engineIn("b", "p0", "container", "second")}, gpus: []fact.GPU{whole, one, heldBy(two, "p0", "second")},
			claims: []fact.DeviceClaim{claim("p0", "MIG-x"), by(claim("p0", "MIG-y"), "second")},
			want:   "a pod GPU-a/1; b pod GPU-a/2; GPU-a unmatched; GPU-a/1 pod a; GPU-a/2 pod b", says: []string{"GPU-a/1 is a MIG instance"}},
		"a time slice": {
			targets: a, gpus: []fact.GPU{whole, one, two}, claims: []fact.DeviceClaim{replica(claim("p0", "MIG-x"), "0")}, want: nobody, says: []string{cannot}},
		"of a resource claim, which others may share": {
			targets: a, gpus: []fact.GPU{whole, one, two}, claims: []fact.DeviceClaim{ofClaim}, want: nobody, says: []string{cannot}},
		"one whose UUID the source knows, and it is another": {
			targets: a, gpus: []fact.GPU{whole, known}, claims: []fact.DeviceClaim{claim("p0", "MIG-x")},
			want: "a unmatched; GPU-a unmatched; MIG-2 unmatched", says: []string{"MIG-x (which the source of readings does not have)"}},
		"a whole card is no instance": {
			targets: a, gpus: []fact.GPU{heldBy(card("GPU-a", 0), "p0", "vllm")}, claims: []fact.DeviceClaim{claim("p0", "MIG-x")},
			want: "a unmatched; GPU-a unmatched", says: []string{"MIG-x (which the source of readings does not have)"}},
		"a card is not called by its holder": {
			targets: a, gpus: []fact.GPU{whole, one}, claims: []fact.DeviceClaim{claim("p0", "GPU-b")},
			want: "a unmatched; GPU-a unmatched; GPU-a/1 unmatched", says: []string{"GPU-b (which the source of readings does not have)"}},
	} {
		t.Run(name, func(t *testing.T) { c.check(t) })
	}
}
