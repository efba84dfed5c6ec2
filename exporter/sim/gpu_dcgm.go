package sim

// DCGMEntity is what DCGM holds of a card or of a MIG instance. Its values are those of the sample that GPUPage shows: a
// dcgm-exporter and any other reader ask the same library.
type DCGMEntity struct {
	Card     int  // the card's number on the node
	Instance int  // of a MIG instance: NVML's number within the card, from 1; 0 for a card
	Lost     bool // the card does not answer: there are no values
	Values   []DCGMValue
	Errors   []GPUError // of a card, oldest first: as many as are kept
}

// DCGMValue is one field in DCGM's own unit. A field that an entity has not is left out; the real library says that it is not
// supported.
type DCGMValue struct {
	Field int
	Text  string  // of a text field; V is 0 then
	V     float64 // of a number
	Whole bool    // V is an integer of DCGM, not one of its doubles
}

// GPUError is one XID that the driver told of.
type GPUError struct {
	At  float64 // unix seconds
	XID int
}

// keptErrors is how many errors of a card are remembered.
const keptErrors = 100

// DCGM's numbers of fields that are on no page, or are its labels there (dcgm_fields.h).
const (
	fieldDriver      = 1
	fieldName        = 50
	fieldUUID        = 54
	fieldBus         = 57
	fieldMemoryTotal = 250 // MiB
)

// DCGM is what the node's DCGM holds of all cards and of their instances, each card before its instances. Looking at it
// changes nothing in the world.
func (w *World) DCGM() (out []DCGMEntity) {
	s, next := w.gpuPage, 0
	for _, c := range w.cards {
		e := DCGMEntity{Card: c.index, Lost: c.lost}
		for _, err := range c.errors {
			e.Errors = append(e.Errors, GPUError{At: w.config.Start + err.At, XID: err.XID})
		}
		if next < len(s.cards) && s.cards[next].card == c {
			if !c.lost {
				e.Values = s.cards[next].fields(s.page)
			}
			next++
		}
		out = append(out, e)
		for i := range s.rows {
			if r := &s.rows[i]; r.card == c && r.instance && !c.lost {
				out = append(out, DCGMEntity{Card: c.index, Instance: r.seat.place + 1, Values: r.instanceFields()})
			}
		}
	}
	return out
}

// fields are a card's. Of a card that is divided, busy time is not measured, and what it has of memory and of activity is
// told of its instances only: the world knows no more of it.
func (r *gpuRow) fields(p GPUExporter) []DCGMValue {
	c := r.card
	all := []DCGMValue{
		{Field: fieldDriver, Text: p.Driver}, {Field: fieldName, Text: c.model.Name}, {Field: fieldUUID, Text: c.uuid}, {Field: fieldBus, Text: c.bus()},
	}
	divided := c.model.MIG != ""
	for i := range gpuFamilies {
		if f := &gpuFamilies[i]; !f.own && !f.cards || !divided {
			all = append(all, f.dcgm(r))
		}
	}
	if !divided {
		all = append(all, wholeMiB(fieldMemoryTotal, r.capacity+reserved))
	}
	return all
}

// instanceFields are what an instance has of its own.
func (r *gpuRow) instanceFields() []DCGMValue {
	all := []DCGMValue{{Field: fieldName, Text: r.seat.rank.gpu.model.MIG}, {Field: fieldUUID, Text: r.seat.uuid}}
	for i := range gpuFamilies {
		if f := &gpuFamilies[i]; f.own {
			all = append(all, f.dcgm(r))
		}
	}
	return append(all, wholeMiB(fieldMemoryTotal, r.capacity))
}

// dcgm is the family's field of a row. Pages up to 4.8 print DCGM's numbers as they are.
func (f *gpuFamily) dcgm(r *gpuRow) DCGMValue {
	return DCGMValue{Field: f.field, V: f.old.value(f.value(r)), Whole: f.old.whole}
}

func wholeMiB(field int, bytes float64) DCGMValue {
	style := whole("", "", 1./mebibyte)
	return DCGMValue{Field: field, V: style.value(bytes), Whole: true}
}

// err is an error of the card's driver.
func (c *card) err(xid int, now float64) {
	c.xid = xid
	if c.errors = append(c.errors, GPUError{now, xid}); len(c.errors) > keptErrors {
		c.errors = c.errors[1:]
	}
}
