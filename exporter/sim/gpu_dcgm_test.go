package sim

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// dcgmValues are the numbers of an entity by field.
func dcgmValues(e DCGMEntity) map[int]float64 {
	out := map[int]float64{}
	for _, v := range e.Values {
		if v.Text == "" {
			out[v.Field] = v.V
		}
	}
	return out
}

func dcgmText(e DCGMEntity, field int) string {
	for _, v := range e.Values {
		if v.Field == field {
			return v.Text
		}
	}
	return ""
}

// TestDCGMIsWhatPagesShow: a page of 4.8 prints DCGM's numbers as they are, to six digits; of a card that is divided those
// that each instance repeats are the card's.
func TestDCGMIsWhatPagesShow(t *testing.T) {
	for name, c := range map[string]Config{
		"whole":     sharing(GPUModel{Count: 2}, GPUModel{}),
		"sliced":    sharing(GPUModel{Card: "one", MemoryBytes: 3e10}, GPUModel{Card: "one", MemoryBytes: 2e10}),
		"instances": sharing(GPUModel{Card: "one", MIG: "4g.40gb"}, GPUModel{Card: "one", MIG: "3g.40gb"}),
	} {
		t.Run(name, func(t *testing.T) {
			c.GPUExporter.Counters = AllCounters
			c.GPUEvents = []GPUEvent{{Engine: "a", After: 20, XID: 13}, {Engine: "a", After: 40, Throttle: PowerCap, For: 25, Slow: 1.2}}
			w := build(t, c)
			w.Run(start + 100)
			values, card := map[string]map[int]float64{}, "" // by row of a page
			for _, e := range w.DCGM() {
				if e.Instance == 0 {
					card = dcgmText(e, 54)
					values[card] = dcgmValues(e)
				} else {
					values[fmt.Sprintf("%s/%d", card, e.Instance)] = dcgmValues(e)
				}
			}
			page := readGPUs(t, w.GPUPage(GPURegime48))
			for i := range gpuFamilies {
				f := &gpuFamilies[i]
				for row, shown := range page[f.old.name] {
					row, _, _ := strings.Cut(row, "::") // users of a card see the card
					if !f.own {
						row, _, _ = strings.Cut(row, "/") // and instances what they have not of their own
					}
					v, has := values[row][f.field]
					if !has || strconv.FormatFloat(v, 'f', 6, 64) != strconv.FormatFloat(shown, 'f', 6, 64) {
						t.Errorf("%s of %s is %v on the page, %v in DCGM (%v)", f.old.name, row, shown, v, has)
					}
				}
			}
			if len(page) != len(gpuFamilies) && name != "instances" {
				t.Errorf("%d families of %d are on the page", len(page), len(gpuFamilies))
			}
		})
	}
}

// TestDCGMKnowsWhatPagesLeaveOut: a lost card is still there, its errors are all counted, and instances have UUIDs.
func TestDCGMKnowsWhatPagesLeaveOut(t *testing.T) {
	c := Config{
		Seed: 1, Start: start, Engines: []Engine{{ID: "a", Model: "m", Step: H100, GPU: GPUModel{Count: 2}}},
		GPUEvents: []GPUEvent{{Engine: "a", After: 5, Every: 10, XID: 31}}, Outages: []Outage{{Engine: "a", After: 42, Down: 30, Crash: true, Lost: true}},
	}
	w := build(t, c)
	w.Run(start + 60)
	all := w.DCGM()
	if len(all) != 2 || !all[0].Lost || len(all[0].Values) > 0 || all[1].Lost || dcgmText(all[1], 54) != w.GPUs()[1].UUID || dcgmValues(all[1])[250] != 81559 {
		t.Fatalf("%+v", all)
	}
	want := []GPUError{{start + 5, 31}, {start + 15, 31}, {start + 25, 31}, {start + 35, 31}, {start + 42, 79}}
	if !slices.Equal(all[0].Errors, want) || len(all[1].Errors) > 0 {
		t.Errorf("errors %v, want %v", all[0].Errors, want)
	}
	w.Run(start + 3000)
	if all := w.DCGM(); all[0].Lost || len(all[0].Values) == 0 || len(all[0].Errors) != keptErrors || all[0].Errors[keptErrors-1] != (GPUError{start + 2995, 31}) {
		t.Errorf("later: %d errors, the last %v", len(all[0].Errors), all[0].Errors[len(all[0].Errors)-1])
	}

	w = build(t, sharing(GPUModel{Card: "one", MIG: "4g.40gb"}, GPUModel{Card: "one", MIG: "3g.40gb"}))
	all = w.DCGM()
	if len(all) != 3 || all[1].Instance != 1 || all[2].Instance != 2 || dcgmText(all[1], 50) != "4g.40gb" || dcgmText(all[2], 54) != w.GPUs()[1].MIG {
		t.Errorf("%+v", all)
	}
	if _, busy := dcgmValues(all[0])[203]; busy {
		t.Error("busy time of a card that is divided")
	}
}
