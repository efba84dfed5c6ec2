package gpu

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/goodput-exporter/goodput-exporter/exporter/fact"
)

// decodePage reads what dcgm-exporter printed. node is the name for GPUs of which the page does not tell the node. The
// reading has no time and no source yet. A bad line costs itself only; a page that names no GPU is refused.
func decodePage(body []byte, node string) fact.GPUReading {
	d := pageDecoder{tally: newTally(), node: node, cards: map[string]*entity{}, instances: map[string]*entity{}}
	for line := range bytes.Lines(body) {
		d.line(bytes.TrimRight(line, "\r\n"))
	}
	var r fact.GPUReading
	if len(d.all) == 0 {
		r.Reason, r.Detail = refusePage(body, d.dcgm)
		d.into(&r)
		return r
	}
	for _, e := range d.all {
		e.finish(d.scale.divisor(), d.tally)
		deriveTotal(&e.GPU)
		if e.XIDs = e.recent; d.xidsCounted && e.Card == "" {
			e.XIDs, e.XIDsCounted = e.counted, true
		}
	}
	r.GPUs = settle(d.all, d.tally)
	r.Driver = d.driver
	r.Missing = missing(r.GPUs)
	for i, m := range r.Missing {
		if m.Field == smActive.name {
			r.Missing[i].Cost += "; dcgm-exporter has DCGM_FI_PROF_SM_ACTIVE commented out in its default counters"
		}
	}
	d.into(&r)
	return r
}

// refusePage says why a page brought no GPU.
func refusePage(body []byte, dcgm bool) (fact.Reason, string) {
	switch text := bytes.TrimSpace(body); {
	case len(text) == 0:
		return fact.ReasonNotMetrics, "the page is empty, as for a few seconds while dcgm-exporter reloads; if it stays so, look at its log"
	case dcgm:
		return fact.ReasonDialect, "the page has DCGM families and names no GPU by its UUID; let dcgm-exporter watch the GPUs (--devices) and print UUIDs"
	case text[0] == '<' || text[0] == '{':
		return fact.ReasonNotMetrics, "it is no page of metrics; is this dcgm-exporter's address?"
	}
	return fact.ReasonDialect, "the page has none of dcgm-exporter's families (DCGM_FI_...); is this its address, and does it use counters of its 2.0 or later?"
}

// pageDecoder is one page while it is read.
type pageDecoder struct {
	tally
	node   string
	labels []label // reused
	scale  ratioScale

	all              []*entity
	cards, instances map[string]*entity // by UUID, and with the instance
	driver           string
	dcgm             bool // a family of DCGM was there
	xidsCounted      bool
}

// maxHolder bounds the parts of a holder's name, as Kubernetes does, bytes.
const maxHolder = 253

// The families of the exporter's own account of XIDs: since it started (4.8.3 and later), and within a sliding window.
// The counts of a window fall again, so that they say which XIDs came lately and no more.
const (
	nameXIDTotal = "DCGM_EXP_XID_ERRORS_TOTAL"
	nameXIDCount = "DCGM_EXP_XID_ERRORS_COUNT"
)

func (d *pageDecoder) line(line []byte) {
	name := familyOf(line)
	d.dcgm = d.dcgm || bytes.HasPrefix(name, []byte("DCGM_"))
	i, known := fieldsByName[string(name)]
	own := string(name) == nameXIDTotal || string(name) == nameXIDCount
	if !known && !own {
		return
	}
	if known {
		d.scale.see(fields[i].id)
	}
	r, ok := parseRow(line, d.labels)
	d.labels = r.labels
	if !ok {
		d.drop(dropUnreadable)
		d.warn("a line of " + r.name + " is no line of the exposition format")
		return
	}
	card, instance := d.entities(&r)
	if card == nil {
		return
	}
	switch {
	case own:
		d.xids(card, &r)
	case instance == nil:
		d.cardRow(card, i, r.value)
	default:
		d.instanceRow(card, instance, i, r.value)
	}
}

// entities finds the card, and the instance if any, that a row is about.
func (d *pageDecoder) entities(r *row) (card, instance *entity) {
	uuid := r.get("UUID", "uuid", "gpu_uuid")
	if !validUUID(uuid) {
		d.drop(dropUnidentified)
		d.warn("rows without the UUID of a GPU are left out: an index is no identity")
		return nil, nil
	}
	node := tidy(r.get("hostname", "Hostname"))
	if node == "" {
		node = d.node
	}
	base := fact.GPU{UUID: uuid, Model: tidy(r.get("modelName", "model_name")), Bus: tidy(r.get("pci_bus_id")), Node: node, File: fileName(r.get("device"))}
	if d.driver == "" {
		d.driver = tidy(r.get("DCGM_FI_SYSTEM_DRIVER_VERSION", "DCGM_FI_DRIVER_VERSION"))
	}
	if card = d.entity(d.cards, uuid, base); card == nil {
		return nil, nil
	}
	id := r.get("GPU_I_ID")
	if id == "" {
		return card, nil
	}
	if len(id) > 3 || strings.Trim(id, "0123456789") != "" {
		d.drop(dropUnidentified)
		d.warn("a GPU_I_ID is no number")
		return nil, nil
	}
	key := uuid + "/" + id
	base.UUID, base.Card, base.Instance, base.Profile = key, uuid, id, tidy(r.get("GPU_I_PROFILE", "dra_mig_profile"))
	if mig := r.get("dra_mig_device_uuid"); validMIG(mig) && d.instances[key] == nil && !d.named(mig) {
		base.UUID = mig
	}
	instance = d.entity(d.instances, key, base)
	if instance == nil {
		return nil, nil
	}
	instance.heldBy(r)
	return card, instance
}

// heldBy notes the container that dcgm-exporter says holds an instance: it asks the kubelet too, and knows from NVML which
// instance a UUID of MIG is, which no other label tells. Rows that name several are no account of any.
func (e *entity) heldBy(r *row) {
	h := fact.Holder{
		Namespace: clip(r.get("namespace", "pod_namespace"), maxHolder), Pod: clip(r.get("pod", "pod_name"), maxHolder), Container: clip(r.get("container", "container_name"), maxHolder),
	}
	switch {
	case h.Namespace == "" || h.Pod == "" || h.Container == "" || e.contested || e.Holder == h:
	case e.Holder == fact.Holder{}:
		e.Holder = h
	default:
		e.Holder, e.contested = fact.Holder{}, true
	}
}

// named reports whether a UUID is taken.
func (d *pageDecoder) named(uuid string) bool {
	return slices.ContainsFunc(d.all, func(e *entity) bool { return e.UUID == uuid })
}

func (d *pageDecoder) entity(of map[string]*entity, key string, g fact.GPU) *entity {
	if e := of[key]; e != nil {
		return e
	}
	if len(d.all) == maxEntities {
		d.drop(dropTooMany)
		d.warn(fmt.Sprintf("the page has more than %d cards and instances: the rest is left out", maxEntities))
		return nil
	}
	e := newEntity(g)
	of[key], d.all = e, append(d.all, e)
	return e
}

// cardRow takes a row of a whole card. Where a card is shared there is one row for each pod, all with the card's value,
// except that busy time and memory may have been split by process: then no row has the card's.
func (d *pageDecoder) cardRow(card *entity, i int, v float64) {
	d.own(card, i, v)
	if fields[i].names[0] == nameBusyRatio {
		d.scale.value(v)
	}
}

func (d *pageDecoder) own(e *entity, i int, v float64) {
	before := e.raw[i]
	if e.put(i, v, d.tally) && before.has && !before.repeated && (before.split || before.v != v) {
		e.raw[i].split = true
		d.warn("rows of one GPU show different values of " + fields[i].names[0] + ", as when they are split by process: none is taken for the GPU's")
	}
}

// instanceRow takes a row of a MIG instance: what an instance has of its own, or a card's value that every instance
// repeats. The card's is kept once. Busy time is not measured on instances, and reads 0 there or not at all; traffic is the
// card's and not told by instance.
func (d *pageDecoder) instanceRow(card, instance *entity, i int, v float64) {
	switch q := fields[i].of; {
	case q == busy || q != nil && q.profiling && !q.instance:
	case q != nil && q.instance:
		d.own(instance, i, v)
	case !card.raw[i].has:
		if card.put(i, v, d.tally) {
			card.raw[i].repeated = true
		}
	}
}

// xids takes a row of the exporter's own counts. Those of a window count as seen once.
func (d *pageDecoder) xids(card *entity, r *row) {
	total := r.name == nameXIDTotal
	d.xidsCounted = d.xidsCounted || total
	code := r.get("xid")
	if code == "" || r.value == 0 {
		return
	}
	xid, err := strconv.Atoi(code)
	if err != nil || xid < 1 || xid > maxXID || !finite(r.value) || r.value < 0 || r.value > maxEvents {
		d.drop(dropRange)
		return
	}
	if total {
		card.counted = noteXID(card.counted, xid, uint64(r.value))
	} else {
		card.recent = noteXID(card.recent, xid, 1)
	}
}

// deriveTotal adds the parts of the memory up where the page has all of them and not the whole: DCGM's total is used,
// free and reserved together.
func deriveTotal(g *fact.GPU) {
	if !g.MemoryTotal.Known && g.MemoryUsed.Known && g.MemoryFree.Known && g.MemoryReserved.Known {
		g.MemoryTotal = fact.Known(g.MemoryUsed.V + g.MemoryFree.V + g.MemoryReserved.V)
	}
}
