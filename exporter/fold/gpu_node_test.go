package fold

import (
	"testing"

	"github.com/goodput-exporter/goodput-exporter/exporter/fact"
)

// node tells a state of GPUs, a round at a time.
type node struct {
	t       *testing.T
	state   *State
	targets []fact.Target
	last    *Snapshot
}

func gpuOptions() Options {
	o := testOptions(90)
	o.GPUStale = 15
	return o
}

func nodeOf(t *testing.T, targets ...fact.Target) *node { return nodeWith(t, gpuOptions(), targets...) }

func nodeWith(t *testing.T, o Options, targets ...fact.Target) *node {
	return &node{t: t, state: New(o), targets: targets}
}

func (n *node) round(at float64, gpus *fact.GPUReading, claims *fact.DeviceClaims) *node {
	n.last = n.state.Apply(Round{At: at, Targets: n.targets, GPUs: gpus, Claims: claims})
	return n
}

// read is a round with a good reading.
func (n *node) read(at float64, gpus ...fact.GPU) *node {
	return n.round(at, reading(at, gpus...), nil)
}

// fail is a round with a reading that brought nothing.
func (n *node) fail(at float64) *node {
	return n.round(at, &fact.GPUReading{Source: "dcgm", At: at, Reason: fact.ReasonExited, Detail: "the child ended"}, nil)
}

// gpu is what is published of one GPU.
func (n *node) gpu(uuid string) GPU {
	n.t.Helper()
	for _, g := range n.last.GPUs {
		if g.UUID == uuid {
			return g
		}
	}
	n.t.Fatalf("no %s among %d GPUs", uuid, len(n.last.GPUs))
	return GPU{}
}

func (n *node) has(uuid string) bool {
	for _, g := range n.last.GPUs {
		if g.UUID == uuid {
			return true
		}
	}
	return false
}

// engine is what is published of the GPUs of one engine.
func (n *node) engine(id string) EngineGPUs {
	n.t.Helper()
	for _, e := range n.last.Engines {
		if e.ID == id {
			return e.GPUs
		}
	}
	n.t.Fatalf("no engine %s", id)
	return EngineGPUs{}
}

func reading(at float64, gpus ...fact.GPU) *fact.GPUReading {
	return &fact.GPUReading{Source: "dcgm", At: at, GPUs: gpus}
}

// card is a card of 700 W that has used so many joules.
func card(uuid string, joules float64) fact.GPU {
	return fact.GPU{
		UUID: uuid, Model: "NVIDIA H100 80GB HBM3", Node: "node-a", XIDsCounted: true,
		Busy: fact.Known(0.9), Power: fact.Known(600), PowerLimit: fact.Known(700), Energy: fact.Known(joules),
	}
}

func lost(g fact.GPU) fact.GPU {
	return fact.GPU{UUID: g.UUID, Model: g.Model, Node: g.Node, Lost: true}
}

// part is a MIG instance of a card.
func part(uuid, card, instance string) fact.GPU {
	return fact.GPU{UUID: uuid, Card: card, Instance: instance, Profile: "1g.10gb", Node: "node-a", Engine: fact.Known(0.5)}
}

// claimed is an answer of the kubelet.
func claimed(at float64, claims ...fact.DeviceClaim) *fact.DeviceClaims {
	return &fact.DeviceClaims{At: at, Claims: claims}
}

// claim is of a pod of the namespace serving.
func claim(pod, device string) fact.DeviceClaim {
	return fact.DeviceClaim{Namespace: "serving", Pod: pod, Container: "vllm", Device: device}
}

func replica(c fact.DeviceClaim, n string) fact.DeviceClaim {
	c.Replica = n
	return c
}

func by(c fact.DeviceClaim, container string) fact.DeviceClaim {
	c.Container = container
	return c
}

// engineIn is a target of a pod of the namespace serving, with more labels in pairs.
func engineIn(id, pod string, labels ...string) fact.Target {
	t := inPod(id, page1, "", pod, "serving")
	for i := 0; i < len(labels); i += 2 {
		t.Labels[labels[i]] = labels[i+1]
	}
	return t
}
