package fold

// meter adds up what a counter of a driver grows by. The driver starts anew at 0, and now and then a value is read that
// the counter never had. The zero meter is ready.
//
// A value that cannot follow from the last believed one is put aside until the next moved on from one of the two, which
// is then believed: a single wrong value changes nothing, and a counter that did start anew is followed one value later.
type meter struct {
	known bool
	value float64 // the last that was believed
	at    float64 // when it was first read, unix seconds

	doubted bool
	aside   float64 // the value that was put aside, and when it was first read
	asideAt float64

	total float64 // never falls
}

// meterLag is by how much later than its counter a value may be read, in seconds: dcgm-exporter samples every 30 s, and
// shows a sample until it has the next.
const meterLag = 60

// read takes the counter's value at a time. It can grow by so much a second, and no faster. moved says that another value
// is believed than before, added by how much the total grew with it; refused that the value is put aside.
func (m *meter) read(v, at, perSecond float64) (added float64, moved, refused bool) {
	follows := func(from, since, to, until float64) bool {
		return to >= from && to-from <= perSecond*(max(until-since, 0)+meterLag)
	}
	switch {
	case !m.known:
	case v == m.value:
		m.doubted = false
		return 0, false, false
	case follows(m.value, m.at, v, at):
		added = v - m.value
	case m.doubted && v == m.aside: // read again before the next sample: that says nothing new
		return 0, false, false
	case m.doubted && follows(m.aside, m.asideAt, v, at):
		added = v - m.aside
		if follows(0, m.at, m.aside, m.asideAt) {
			added += m.aside // all since the new start
		}
	default:
		m.doubted, m.aside, m.asideAt = true, v, at
		return 0, false, true
	}
	m.known, m.value, m.at, m.doubted = true, v, at, false
	m.total += added
	return added, true, false
}
