//go:build linux && cgo

package main

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/NVIDIA/go-dcgm/pkg/dcgm"
)

// inventory is who is there: DCGM's entity ids, which say nothing beyond this look.
type inventory struct {
	cards     []uint // ascending
	instances []instance
	computes  []compute // MIG compute instances: nothing is measured of them, but XIDs are recorded there
}

// instance is a MIG GPU instance.
type instance struct {
	id   uint // DCGM's entity id
	card uint // DCGM's entity id of its card
	gi   uint // NVML's GPU instance id within the card
}

// compute is a MIG compute instance.
type compute struct {
	id       uint // DCGM's entity id
	instance uint // DCGM's entity id of its GPU instance
}

// lookAround asks who is there. A card that was lost stays in DCGM's list. Where only the instances cannot be listed, the
// cards are still there to be read, and note says what is wrong.
func lookAround() (inv inventory, note string, err error) {
	cards, err := dcgm.GetEntityGroupEntities(dcgm.FE_GPU)
	if err != nil {
		return inventory{}, "", fmt.Errorf("list of cards: %w", err)
	}
	slices.Sort(cards)
	inv.cards = cards
	tree, err := dcgm.GetGPUInstanceHierarchy()
	if err != nil {
		return inv, fmt.Sprintf("MIG instances are not seen: %v", err), nil
	}
	for _, e := range tree.EntityList[:tree.Count] {
		switch e.Entity.EntityGroupId {
		case dcgm.FE_GPU_I:
			inv.instances = append(inv.instances, instance{id: e.Entity.EntityId, card: e.Parent.EntityId, gi: e.Info.NvmlInstanceId})
		case dcgm.FE_GPU_CI:
			inv.computes = append(inv.computes, compute{id: e.Entity.EntityId, instance: e.Parent.EntityId})
		}
	}
	slices.SortFunc(inv.instances, func(a, b instance) int { return cmp.Or(cmp.Compare(a.card, b.card), cmp.Compare(a.id, b.id)) })
	slices.SortFunc(inv.computes, func(a, b compute) int { return cmp.Compare(a.id, b.id) })
	return inv, "", nil
}

func (inv inventory) equal(other inventory) bool {
	return slices.Equal(inv.cards, other.cards) && slices.Equal(inv.instances, other.instances) && slices.Equal(inv.computes, other.computes)
}

// entities are all that have values, as DCGM takes them.
func (inv inventory) entities() []dcgm.GroupEntityPair {
	return append(cardPairs(inv.cards), instancePairs(inv.instances)...)
}

// sources are all on which DCGM records an XID: where MIG is on, it is the smallest part that the driver names.
func (inv inventory) sources() []dcgm.GroupEntityPair {
	pairs := inv.entities()
	for _, c := range inv.computes {
		pairs = append(pairs, dcgm.GroupEntityPair{EntityGroupId: dcgm.FE_GPU_CI, EntityId: c.id})
	}
	return pairs
}

func cardPairs(ids []uint) []dcgm.GroupEntityPair {
	var pairs []dcgm.GroupEntityPair
	for _, id := range ids {
		pairs = append(pairs, dcgm.GroupEntityPair{EntityGroupId: dcgm.FE_GPU, EntityId: id})
	}
	return pairs
}

func instancePairs(instances []instance) []dcgm.GroupEntityPair {
	var pairs []dcgm.GroupEntityPair
	for _, in := range instances {
		pairs = append(pairs, dcgm.GroupEntityPair{EntityGroupId: dcgm.FE_GPU_I, EntityId: in.id})
	}
	return pairs
}
