package slices

import "fmt"

// key is a device's name, which is unique in its pool.
type key struct{ pool, device string }

// index is what is known of devices at one moment. It is never written to.
type index struct {
	uuid map[key]string
	odd  string // what is wrong with what was published, for people; "" for nothing
}

// indexOf makes one of all slices, by their names. Of each pool the slices of its newest generation count, and only when
// they are all there: while a driver replaces a pool, half of it would be taken for the whole, and a name may have come to
// mean another device.
func indexOf(all map[string]published, more bool) *index {
	newest := map[string]int64{} // generations by pools
	for _, s := range all {
		if g, seen := newest[s.pool]; !seen || s.generation > g {
			newest[s.pool] = s.generation
		}
	}
	there, expected := map[string]int64{}, map[string]int64{}
	for _, s := range all {
		if s.generation == newest[s.pool] {
			there[s.pool]++
			expected[s.pool] = max(expected[s.pool], s.slices)
		}
	}
	x := &index{uuid: map[key]string{}}
	twice := map[key]bool{}
	for _, s := range all {
		switch {
		case s.generation != newest[s.pool]:
			continue
		case there[s.pool] != expected[s.pool]:
			x.odd = fmt.Sprintf("the pool %q has %d of the %d ResourceSlices that %s says it has, so that none of its devices is resolved",
				s.pool, there[s.pool], expected[s.pool], driver)
			continue
		case s.much:
			x.odd = fmt.Sprintf("a ResourceSlice of the pool %q has more than %d devices, the rest of which is not resolved", s.pool, maxDevices)
		}
		for name, uuid := range s.devices {
			k := key{s.pool, name}
			if before, seen := x.uuid[k]; seen && before != uuid {
				twice[k] = true
			}
			x.uuid[k] = uuid
		}
	}
	for k := range twice {
		delete(x.uuid, k)
		x.odd = fmt.Sprintf("two devices of the pool %q are called %q, so that it is not resolved", k.pool, k.device)
	}
	if more {
		x.odd = fmt.Sprintf("there are more than %d ResourceSlices of this node and %s, the rest of which is not read", maxSlices, driver)
	}
	return x
}
