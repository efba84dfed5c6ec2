package gpu

import (
	"slices"
	"strconv"
	"strings"

	"github.com/goodput-exporter/goodput-exporter/collectors/gpu/frame"
	"github.com/goodput-exporter/goodput-exporter/exporter/fact"
)

// identify reads who a card is. A card that is lost does not tell any more: it is still who it was.
func (j *judge) identify(src *frame.Entity, r *fact.GPUReading) (fact.GPU, bool) {
	g := fact.GPU{UUID: text(src, frame.FieldUUID), Model: text(src, frame.FieldName), Bus: text(src, frame.FieldBus), Node: j.node, File: file(src)}
	if driver := text(src, frame.FieldDriver); driver != "" && r.Driver == "" {
		r.Driver = driver
	}
	if validUUID(g.UUID) {
		if before := j.names[src.ID]; before.UUID == g.UUID { // a name that is blank for a moment stays
			g.Model, g.Bus, g.File = first(g.Model, before.Model), first(g.Bus, before.Bus), first(g.File, before.File)
		}
		if len(j.names) >= maxEntities {
			clear(j.names) // of ids that nobody has: each frame brings those that are there
		}
		j.names[src.ID] = g
		return g, true
	}
	g, known := j.names[src.ID]
	return g, known
}

func first(a, b string) string {
	if a != "" {
		return a
	}
	return b
}

// text is what an entity has of a text field; "" for a blank. All blanks begin with <<<, also the one that go-dcgm has
// under another name than the library.
func text(src *frame.Entity, id int) string {
	for i := range src.Values {
		if v := &src.Values[i]; v.Field == id && v.Status == 0 && v.Kind == frame.Text && !strings.HasPrefix(v.Text, "<<<") {
			return tidy(v.Text)
		}
	}
	return ""
}

// file is the name of a card's device file; "" where the card does not tell its number.
func file(src *frame.Entity) string {
	for i := range src.Values {
		if v := &src.Values[i]; v.Field == frame.FieldMinor && v.Status == 0 && v.Kind == frame.Int && v.Int >= 0 && v.Int < 1000 {
			return filePrefix + strconv.FormatInt(v.Int, 10)
		}
	}
	return ""
}

// instance begins a MIG instance. Its UUID is not always known; the card and NVML's number within it always are.
func (j *judge) instance(src *frame.Entity, card *entity, before []*entity, t tally) *entity {
	id := strconv.Itoa(src.Instance)
	uuid := text(src, frame.FieldUUID)
	twin := func(e *entity) bool { return e.UUID == uuid || card != nil && e.Card == card.UUID && e.Instance == id }
	if card == nil || src.Instance < 0 || src.Instance > 999 || slices.ContainsFunc(before, twin) {
		t.drop(dropUnidentified)
		t.warn("a MIG instance without a card, or without a number of its own on it, is left out")
		return nil
	}
	if !validMIG(uuid) {
		uuid = card.UUID + "/" + id
	}
	profile := tidy(src.Profile)
	if profile == "" {
		profile = text(src, frame.FieldName)
	}
	return newEntity(fact.GPU{
		UUID: uuid, Card: card.UUID, Instance: id, Profile: profile, Model: card.Model, Bus: card.Bus, Node: card.Node, File: card.File,
		Lost: card.Lost || src.State != "",
	})
}
