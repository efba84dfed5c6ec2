//go:build linux && cgo

package main

import (
	"slices"
	"strings"

	"github.com/NVIDIA/go-dcgm/pkg/dcgm"

	"github.com/goodput-exporter/goodput-exporter/collectors/gpu/frame"
)

// readValues makes the one call of a tick. newest is the time of the newest sample, microseconds on the engine's clock.
func (p *plan) readValues() (entities []frame.Entity, newest int64, err error) {
	pairs := p.inv.entities()
	entities = []frame.Entity{} // a node without cards is no error
	if len(pairs) == 0 {
		return entities, 0, nil
	}
	values, err := dcgm.EntitiesGetLatestValues(pairs, shorts(p.fields), 0) // never live data: that would ask the driver
	if err != nil {
		return nil, 0, err
	}
	// DCGM does not promise the order in which the entities come back.
	of := map[dcgm.GroupEntityPair][]frame.Value{}
	for i := range values {
		v := &values[i]
		newest = max(newest, v.TS)
		at := dcgm.GroupEntityPair{EntityGroupId: v.EntityGroupId, EntityId: v.EntityID}
		if at.EntityGroupId == dcgm.FE_GPU_I && !p.instanceHas(v) {
			continue
		}
		of[at] = append(of[at], raw(v))
	}
	for _, id := range p.inv.cards {
		values := of[dcgm.GroupEntityPair{EntityGroupId: dcgm.FE_GPU, EntityId: id}]
		entities = append(entities, frame.Entity{Kind: frame.Card, ID: int(id), State: state(id, values), Values: values})
	}
	for _, in := range p.inv.instances {
		entities = append(entities, frame.Entity{
			Kind: frame.Instance, ID: int(in.id), Card: int(in.card), Instance: int(in.gi),
			Values: of[dcgm.GroupEntityPair{EntityGroupId: dcgm.FE_GPU_I, EntityId: in.id}],
		})
	}
	return entities, newest, nil
}

// instanceHas tells an instance's own value from its card's, which DCGM would repeat: on eight instances a card's power
// would be eight times as much. The UUID is the card's too unless it has the form of an instance's.
func (p *plan) instanceHas(v *dcgm.FieldValue_v2) bool {
	if v.FieldID == frame.FieldUUID {
		return v.StringValue != nil && strings.HasPrefix(*v.StringValue, "MIG-")
	}
	return slices.Contains(p.instances, int(v.FieldID))
}

// raw is a value as DCGM has it; nothing is judged here but whether there is one.
func raw(v *dcgm.FieldValue_v2) frame.Value {
	field := int(v.FieldID)
	switch v.FieldType {
	case dcgm.DCGM_FT_INT64, dcgm.DCGM_FT_TIMESTAMP:
		return frame.Integer(field, v.Status, v.TS, v.Int64())
	case dcgm.DCGM_FT_DOUBLE:
		return frame.Real(field, v.Status, v.TS, v.Float64())
	case dcgm.DCGM_FT_STRING:
		if v.StringValue != nil {
			return frame.String(field, v.Status, v.TS, *v.StringValue)
		}
	}
	return frame.Value{Field: field, Status: v.Status, Time: v.TS}
}

// troubles are the return codes of values for which a card is asked how it is.
var troubles = []int{dcgm.DCGM_ST_GPU_IS_LOST, dcgm.DCGM_ST_RESET_REQUIRED, dcgm.DCGM_ST_NVML_ERROR, dcgm.DCGM_ST_GPU_NOT_SUPPORTED, statusGPUsDetached}

// statusGPUsDetached is DCGM_ST_GPUS_DETACHED, to which go-dcgm gives no name.
const statusGPUsDetached = -67

// unwell says that a card should be asked how it is. One that does well is not asked: that would be one more call for
// each card and tick. Of a lost card DCGM makes every value a blank, the UUID too, with a good return code and the time
// of now (DcgmCacheManager::InsertNvmlErrorValue); of a detached one, every value but its identity.
func unwell(values []frame.Value) bool {
	hasNumber := false
	for _, v := range values {
		switch {
		case slices.Contains(troubles, v.Status), v.Field == frame.FieldUUID && strings.HasPrefix(v.Text, "<<<"):
			return true
		case v.Status == 0 && (v.Kind == frame.Int && !dcgm.IsInt64Blank(v.Int) || v.Kind == frame.Double && v.Double < doubleBlank):
			hasNumber = true
		}
	}
	return !hasNumber
}

// doubleBlank is DCGM_FP64_BLANK, the smallest of the values that stand for no double.
const doubleBlank = 1 << 47

// state is what DCGM says of a card that is not well, and "" of all others.
func state(card uint, values []frame.Value) string {
	if !unwell(values) {
		return ""
	}
	switch dcgm.GetGPUStatus(card) {
	case dcgm.EntityStatusLost:
		return "lost"
	case dcgm.EntityStatusDetached:
		return "detached"
	case dcgm.EntityStatusInaccessible:
		return "inaccessible"
	}
	return ""
}
