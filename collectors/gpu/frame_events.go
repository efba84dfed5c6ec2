package gpu

import (
	"maps"

	"github.com/goodput-exporter/goodput-exporter/collectors/gpu/frame"
)

// events counts XIDs, those of an instance with its card. An event that was counted is not counted again when another
// child tells of it; a child tells of each once, so that a clock that is set back hides none.
func (j *judge) events(f *frame.Frame, cards map[int]*entity, t tally) {
	if f.EventsLost {
		t.warn("some errors (XIDs) could not be read, so that their counts are too low")
	}
	newest := map[string]int64{}
	for _, ev := range f.Events {
		if ev.Field != frame.FieldXID || ev.Int == 0 {
			continue
		}
		card := cards[cardOf(f, ev)]
		if card == nil {
			t.drop(dropUnidentified)
			continue
		}
		xid := card.lastXID(float64(ev.Int), t)
		if xid == 0 || j.fresh && ev.Time <= j.last[card.UUID] {
			continue
		}
		if j.xids[card.UUID] == nil {
			if len(j.xids) == maxEntities {
				t.drop(dropTooMany)
				continue
			}
			j.xids[card.UUID] = map[int]uint64{}
		}
		j.xids[card.UUID][xid]++
		newest[card.UUID] = max(newest[card.UUID], ev.Time)
	}
	maps.Copy(j.last, newest)
}

// cardOf is the entity id of the card that an event is about, -1 when it is not in the frame.
func cardOf(f *frame.Frame, ev frame.Event) int {
	for i := range f.Entities {
		switch e := &f.Entities[i]; {
		case e.Kind != ev.Kind || e.ID != ev.ID:
		case e.Kind == frame.Instance:
			return e.Card
		default:
			return e.ID
		}
	}
	return -1
}
