package sim

// gpuRow is what a sample says of a card, of a MIG instance or of one user of a shared card, in base units. Shares are
// over the time since the sample before.
type gpuRow struct {
	card     *card
	seat     *seat // whose row it is; nil: of a card that one rank has
	instance bool  // of a MIG instance: what it has of its own, and the card's rest repeated

	smClock, memoryClock             float64 // hertz
	temperature, memoryTemperature   float64 // degrees Celsius
	power, limit, energy             float64 // watts, watts, joules since the driver was loaded
	active, tensor, dram             float64
	capacity, used                   float64 // bytes; what the driver keeps for itself is in neither
	xid                              int     // 0: none
	reasons                          uint64  // for clocks below their most, DCGM's bits
	powerThrottled, thermalThrottled float64 // seconds since the driver was loaded
}

// DCGM's bits of clock event reasons (dcgm_structs.h).
const (
	reasonIdle            = 1 << 0
	reasonPowerCap        = 1 << 2
	reasonHardware        = 1 << 3
	reasonSoftwareThermal = 1 << 5
	reasonHardwareThermal = 1 << 6
)

// rows are those of a page about a card: the card's own, or one for each instance, or one for each user.
func (c *card) rows(row gpuRow, views []seatView) (rows []gpuRow) {
	for _, v := range views {
		r := row
		switch {
		case v.seat.card != c:
			continue
		case v.seat.uuid != "":
			r.seat, r.instance = v.seat, true
			r.active, r.tensor, r.dram = v.share.active, v.share.tensor, v.share.dram
			r.capacity, r.used = v.seat.rank.gpu.model.CapacityBytes, v.gpu.MemoryBytes
		case len(c.seats) > 1:
			r.seat = v.seat
		}
		rows = append(rows, r)
	}
	return rows
}

// row is that of the whole card. Users of a shared card are taken as independent: it is idle while all of them are.
func (c *card) row(views []seatView, now float64) gpuRow {
	r := gpuRow{card: c, memoryClock: 2619e6, limit: c.model.MaxWatts, energy: c.joules() - c.energy, capacity: c.model.CapacityBytes - reserved, xid: c.xid}
	idle, mean, busy := 1.0, 0.0, false
	for _, v := range views {
		if v.seat.card != c {
			continue
		}
		part := v.seat.rank.gpu.share
		idle *= 1 - v.share.active
		r.tensor += part * v.share.tensor
		r.dram += part * v.share.dram
		r.power += v.gpu.PowerWatts
		r.used += v.gpu.MemoryBytes
		mean += v.share.power
		busy = busy || v.seat.rank.working()
	}
	r.active = 1 - idle
	r.throttle(c, now, busy)
	r.warm(c, mean)
	return r
}

// throttle sets the clocks, and says why they are not at their most. The order of magnitude is that of an H100.
func (r *gpuRow) throttle(c *card, now float64, busy bool) {
	r.smClock = 345e6
	if busy {
		r.smClock = 1755e6 / c.slow()
	} else {
		r.reasons |= reasonIdle
	}
	for why, bits := range map[Throttle]uint64{PowerCap: reasonPowerCap, SoftwareThermal: reasonSoftwareThermal, HardwareThermal: reasonHardwareThermal | reasonHardware} {
		if c.holding(why) {
			r.reasons |= bits
		}
	}
	r.powerThrottled = c.held(PowerCap, now) - c.power
	r.thermalThrottled = c.held(SoftwareThermal, now) + c.held(HardwareThermal, now) - c.thermal
}

// warm sets the temperatures: they follow the mean power, and a card that is too hot says so.
func (r *gpuRow) warm(c *card, watts float64) {
	r.temperature = 27 + 50*watts/c.model.MaxWatts
	if c.holding(SoftwareThermal) || c.holding(HardwareThermal) {
		r.temperature = 87
	}
	r.memoryTemperature = r.temperature + 8
}
