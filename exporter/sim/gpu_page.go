package sim

import (
	"fmt"
	"math"
	"strconv"
)

// GPURegime is which names and units a dcgm-exporter uses.
type GPURegime string

// The regimes, by the first version that has them: 4.9 renamed its families and went over to base units.
const (
	GPURegime48 GPURegime = "4.8"
	GPURegime49 GPURegime = "4.9"
)

// GPUContentType is that of a dcgm-exporter's page.
const GPUContentType = "text/plain; charset=utf-8"

// GPUPage is what the node's dcgm-exporter shows of all cards: what they were like when it looked at them last. Looking
// at the page changes nothing in the world. A regime that does not exist has an empty page.
func (w *World) GPUPage(regime GPURegime) []byte {
	var b []byte
	if regime != GPURegime48 && regime != GPURegime49 {
		return nil
	}
	s := w.gpuPage
	labels := make([]string, len(s.rows))
	for i := range s.rows {
		labels[i] = s.rows[i].labels(regime, s.page)
	}
	for i := range gpuFamilies {
		if f := &gpuFamilies[i]; f.shown(s.page.Counters) {
			b = f.append(b, regime, s.rows, labels)
		}
	}
	return b
}

// GPUSampled is when the values of GPUPage were sampled, unix seconds. The next sample is GPUExporter.Interval later; only
// the first, at the start of the world, is followed sooner.
func (w *World) GPUSampled() float64 { return w.config.Start + w.gpuPage.at }

func (f *gpuFamily) shown(counters GPUCounters) bool {
	switch f.from {
	case AllCounters:
		return counters == AllCounters
	case DefaultCounters:
		return counters != PlainCounters
	}
	return true
}

// append writes a family, unless no row has it.
func (f *gpuFamily) append(b []byte, regime GPURegime, rows []gpuRow, labels []string) []byte {
	style := f.old
	if regime == GPURegime49 {
		style = f.new
	}
	declared := false
	for i := range rows {
		r := &rows[i]
		if f.cards && r.instance || f.eventsOnly && f.value(r) == 0 {
			continue
		}
		if !declared {
			b = fmt.Appendf(b, "# HELP %s %s\n# TYPE %s %s\n", style.name, style.help, style.name, f.kind)
			declared = true
		}
		b = append(append(b, style.name...), labels[i]...)
		if f.eventsOnly {
			b = fmt.Appendf(b, `,err_code="%d",err_msg="%s"`, r.xid, xidMessage(r.xid))
		}
		b = append(style.number(append(b, "} "...), f.value(r)), '\n')
	}
	return b
}

// number writes a value as dcgm-exporter does: DCGM's integers as such, its doubles with six digits.
func (s *gpuStyle) number(b []byte, v float64) []byte {
	if s.whole {
		return strconv.AppendInt(b, int64(s.value(v)), 10)
	}
	return strconv.AppendFloat(b, s.value(v), 'f', 6, 64)
}

// value is one in base units as DCGM has it.
func (s *gpuStyle) value(v float64) float64 {
	if s.whole {
		return math.Floor(v*s.scale + 1e-6)
	}
	return v * s.scale
}

// labels are a row's but for the closing brace. Rows of one card's users differ in their pod.
func (r *gpuRow) labels(regime GPURegime, p GPUExporter) string {
	c, driver := r.card, "DCGM_FI_DRIVER_VERSION"
	if regime == GPURegime49 {
		driver = "DCGM_FI_SYSTEM_DRIVER_VERSION"
	}
	b := fmt.Appendf(nil, `{gpu="%d",UUID="%s",pci_bus_id="%s",device="nvidia%d",modelName="%s"`, c.index, c.uuid, c.bus(), c.index, escape(c.model.Name))
	if r.instance {
		b = fmt.Appendf(b, `,GPU_I_PROFILE="%s",GPU_I_ID="%d"`, r.seat.rank.gpu.model.MIG, r.seat.place+1)
	}
	b = fmt.Appendf(b, `,hostname="%s",%s="%s"`, escape(p.Hostname), driver, escape(p.Driver))
	if r.seat != nil && !r.instance {
		b = fmt.Appendf(b, `,container="vllm",namespace="default",pod="%s",vgpu="%d"`, escape(r.seat.pod()), r.seat.place)
	}
	return string(b)
}

// pod is the name of the pod that a shared card's user is in.
func (s *seat) pod() string { return s.rank.endpoint.config.ID }

// bus is the card's PCI address: a bus for each, 128 in a domain.
func (c *card) bus() string {
	return fmt.Sprintf("%08X:%02X:00.0", c.index/128, (0x17+0x0e*c.index)&0xff)
}

// xidMessage is what the exporter says of an error.
func xidMessage(xid int) string {
	switch xid {
	case 13:
		return "Graphics Engine Exception"
	case 31:
		return "GPU memory page fault"
	case 43:
		return "GPU stopped processing"
	case 48:
		return "Double Bit ECC Error"
	case 74:
		return "NVLINK Error"
	case lostXID:
		return "GPU has fallen off the bus"
	case 94:
		return "Contained memory error"
	case 95:
		return "Uncontained memory error"
	}
	return "Unknown Error"
}
