package fold

import "testing"

func TestMeterOfEnergy(t *testing.T) {
	type value struct{ at, v float64 }
	for name, c := range map[string]struct {
		values  []value
		total   float64
		refused int
	}{
		"the first value is where counting starts":           {values: []value{{0, 5e6}}},
		"what it grows by is added":                          {values: []value{{0, 5e6}, {5, 5e6 + 2000}, {10, 5e6 + 5000}}, total: 5000},
		"a sample that is read six times is counted once":    {values: []value{{0, 0}, {5, 0}, {10, 0}, {15, 0}, {20, 0}, {25, 0}, {30, 21000}}, total: 21000},
		"what was used in an hour without readings is added": {values: []value{{0, 0}, {7200, 5e6}}, total: 5e6},
		"more than the hour can hold is not":                 {values: []value{{0, 0}, {3600, 5e6}}, refused: 1},
		"a jump no card could make is dropped, and the counter goes on": {
			values: []value{{0, 1e6}, {5, 1e6 + 3000}, {10, 9e9}, {15, 1e6 + 9000}}, total: 9000, refused: 1},
		"a jump that stays is followed, and not counted": {
			values: []value{{0, 1e6}, {5, 9e9}, {10, 9e9 + 3000}, {15, 9e9 + 5000}}, total: 5000, refused: 1},
		"a jump that is read again before the next sample is not believed for that": {
			values: []value{{0, 1e6}, {5, 9e9}, {10, 9e9}, {15, 9e9}, {20, 1e6 + 9000}}, total: 9000, refused: 1},
		"a wrong value, then the old one again": {values: []value{{0, 1e6}, {5, 0}, {10, 1e6}, {15, 1e6 + 3000}}, total: 3000, refused: 1},
		"two wrong values that agree, with a right one between": {
			values: []value{{0, 1e6}, {5, 9e9}, {10, 1e6}, {15, 9e9 + 3000}, {20, 1e6 + 9000}}, total: 9000, refused: 2},
		"a counter that starts anew is counted from 0": {
			values: []value{{0, 1e6}, {5, 2000}, {10, 5000}, {15, 6000}}, total: 6000, refused: 1},
		"one that starts anew at what it cannot have used is counted from there": {
			values: []value{{0, 5e6}, {5, 4e6}, {10, 4e6 + 3000}}, total: 3000, refused: 1},
		"two wrong values in a row cost what was used meanwhile": {
			values: []value{{0, 1e6}, {5, 8e8}, {10, 9e9}, {15, 1e6 + 9000}}, total: 9000, refused: 2},
		"a clock that is set back takes nothing away": {values: []value{{1000, 1e6}, {10, 1e6 + 3000}, {15, 1e6 + 6000}}, total: 6000},
	} {
		t.Run(name, func(t *testing.T) {
			var m meter
			var added float64
			refused := 0
			for _, v := range c.values {
				a, moved, odd := m.read(v.v, v.at, 800)
				if a < 0 || a > 0 && !moved || odd && moved {
					t.Errorf("%+v: added %v, moved %v, refused %v", v, a, moved, odd)
				}
				added += a
				if odd {
					refused++
				}
			}
			equal(t, "total", m.total, c.total)
			equal(t, "added", added, c.total)
			equal(t, "refused", refused, c.refused)
		})
	}
}
