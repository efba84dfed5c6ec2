package slices

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
)

const (
	cardA = "GPU-aaaaaaaa-0000-4000-8000-000000000001"
	cardB = "GPU-bbbbbbbb-0000-4000-8000-000000000002"
	migA  = "MIG-aaaaaaaa-0000-4000-8000-000000000011"
)

// text of slices as an API server sends them: attributes in full, as NVIDIA's driver 25.x publishes them.
func aSlice(name, pool string, generation, count int, devices ...string) string {
	return fmt.Sprintf(`{"kind":"ResourceSlice","metadata":{"name":%q,"uid":"u-%s","resourceVersion":"7"},"spec":{"driver":"gpu.nvidia.com","nodeName":"node-a",
		"pool":{"name":%q,"generation":%d,"resourceSliceCount":%d},"devices":[%s]}}`, name, name, pool, generation, count, strings.Join(devices, ","))
}

func aDevice(name, kind, uuid string) string {
	return fmt.Sprintf(`{"name":%q,"attributes":{"type":{"string":%q},"uuid":{"string":%q},"productName":{"string":"NVIDIA H100 80GB HBM3"},
		"driverVersion":{"version":"580.65.6"},"resource.kubernetes.io/pciBusID":{"string":"0000:17:00.0"}},"capacity":{"memory":{"value":"81559Mi"}}}`, name, kind, uuid)
}

func aPartition(name, parent, rest string) string {
	return fmt.Sprintf(`{"name":%q,"attributes":{"type":{"string":"mig"},"parentUUID":{"string":%q},"profile":{"string":"1g.10gb"}%s}}`, name, parent, rest)
}

func TestWhatIsPublishedOfDevices(t *testing.T) {
	gpu0, gpu1 := aDevice("gpu-0", "gpu", cardA), aDevice("gpu-1", "gpu", cardB)
	for name, c := range map[string]struct {
		slices []string
		want   string // pool/device=UUID, sorted
		odd    string
	}{
		"nothing":                         {},
		"two cards":                       {slices: []string{aSlice("s", "node-a", 1, 1, gpu0, gpu1)}, want: "node-a/gpu-0=" + cardA + " node-a/gpu-1=" + cardB},
		"a MIG instance that was made":    {slices: []string{aSlice("s", "node-a", 1, 1, aPartition("gpu-0-mig-1g10gb-19-0", cardA, `,"uuid":{"string":"`+migA+`"}`))}, want: "node-a/gpu-0-mig-1g10gb-19-0=" + migA},
		"one that is made when needed":    {slices: []string{aSlice("s", "node-a", 1, 1, gpu0, aPartition("gpu-0-mig-1g10gb-19-0", cardA, ""))}, want: "node-a/gpu-0=" + cardA},
		"a card for a virtual machine":    {slices: []string{aSlice("s", "node-a", 1, 1, aDevice("gpu-vfio-0", "vfio", cardA))}},
		"a device of an unknown type":     {slices: []string{aSlice("s", "node-a", 1, 1, aDevice("x", "quantum", cardA))}},
		"a device with no attributes":     {slices: []string{aSlice("s", "node-a", 1, 1, `{"name":"gpu-0"}`)}},
		"a UUID that is no text":          {slices: []string{aSlice("s", "node-a", 1, 1, `{"name":"gpu-0","attributes":{"type":{"string":"gpu"},"uuid":{"int":7}}}`)}},
		"a UUID without end":              {slices: []string{aSlice("s", "node-a", 1, 1, aDevice("gpu-0", "gpu", cardA+strings.Repeat("0", 100)))}},
		"v1beta1, a level deeper":         {slices: []string{aSlice("s", "node-a", 1, 1, `{"name":"gpu-0","basic":{"attributes":{"type":{"string":"gpu"},"uuid":{"string":"`+cardA+`"}}}}`)}, want: "node-a/gpu-0=" + cardA},
		"attributes with their domain":    {slices: []string{aSlice("s", "node-a", 1, 1, `{"name":"gpu-0","attributes":{"gpu.nvidia.com/type":{"string":"gpu"},"gpu.nvidia.com/uuid":{"string":"`+cardA+`"}}}`)}, want: "node-a/gpu-0=" + cardA},
		"two pools with the same names":   {slices: []string{aSlice("s", "node-a", 1, 1, gpu0), aSlice("r", "spare", 4, 1, aDevice("gpu-0", "gpu", cardB))}, want: "node-a/gpu-0=" + cardA + " spare/gpu-0=" + cardB},
		"a pool of two slices":            {slices: []string{aSlice("s", "node-a", 1, 2, gpu0), aSlice("r", "node-a", 1, 2, gpu1)}, want: "node-a/gpu-0=" + cardA + " node-a/gpu-1=" + cardB},
		"one slice of what they share":    {slices: []string{aSlice("s", "node-a", 1, 2, gpu0), aSlice("r", "node-a", 1, 2)}, want: "node-a/gpu-0=" + cardA},
		"a pool of which one is missing":  {slices: []string{aSlice("s", "node-a", 1, 2, gpu0)}, odd: "has 1 of the 2 ResourceSlices"},
		"a pool of which one is too many": {slices: []string{aSlice("s", "node-a", 1, 1, gpu0), aSlice("r", "node-a", 1, 1, gpu1)}, odd: "has 2 of the 1"},
		"a newer generation that is there": {
			slices: []string{aSlice("s", "node-a", 1, 1, gpu0), aSlice("r", "node-a", 2, 1, aDevice("gpu-0", "gpu", cardB))}, want: "node-a/gpu-0=" + cardB,
		},
		"a newer generation that is not all there": {
			slices: []string{aSlice("s", "node-a", 1, 1, gpu0), aSlice("r", "node-a", 2, 2, aDevice("gpu-0", "gpu", cardB))}, odd: "has 1 of the 2",
		},
		"one name for two cards":    {slices: []string{aSlice("s", "node-a", 1, 2, gpu0), aSlice("r", "node-a", 1, 2, gpu1, aDevice("gpu-0", "gpu", cardB))}, want: "node-a/gpu-1=" + cardB, odd: `two devices of the pool "node-a" are called "gpu-0"`},
		"another driver's":          {slices: []string{strings.Replace(aSlice("s", "node-a", 1, 1, gpu0), "gpu.nvidia.com", "gpu.example.com", 1)}},
		"another node's":            {slices: []string{strings.Replace(aSlice("s", "node-a", 1, 1, gpu0), `"nodeName":"node-a"`, `"nodeName":"node-b"`, 1)}},
		"one that is of no node":    {slices: []string{strings.Replace(aSlice("s", "node-a", 1, 1, gpu0), `"nodeName":"node-a"`, `"allNodes":true`, 1)}},
		"more devices than allowed": {slices: []string{aSlice("s", "node-a", 1, 1, cards(maxDevices+1)...)}, want: resolved(maxDevices), odd: "more than 128 devices"},
	} {
		t.Run(name, func(t *testing.T) {
			s := &Slices{cfg: Config{Node: "node-a"}}
			f := &follower{slices: s}
			var all []resourceSlice
			for _, text := range c.slices {
				var one resourceSlice
				if err := json.Unmarshal([]byte(text), &one); err != nil {
					t.Fatal(err)
				}
				all = append(all, one)
			}
			f.Replace(all)
			if got := known(s); got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
			if odd := s.devices.Load().odd; c.odd == "" && odd != "" || !strings.Contains(odd, c.odd) {
				t.Errorf("it says %q, want %q", odd, c.odd)
			}
		})
	}
}

// cards are devices of so many cards.
func cards(n int) (all []string) {
	for i := range n {
		all = append(all, aDevice(fmt.Sprintf("gpu-%d", i), "gpu", fmt.Sprintf("GPU-%08d-0000-4000-8000-000000000001", i)))
	}
	return all
}

func resolved(n int) string {
	var all []string
	for i := range n {
		all = append(all, fmt.Sprintf("node-a/gpu-%d=GPU-%08d-0000-4000-8000-000000000001", i, i))
	}
	slices.Sort(all)
	return strings.Join(all, " ")
}

// known is all that is resolved, sorted.
func known(s *Slices) string {
	var all []string
	for k := range maps.Keys(s.devices.Load().uuid) {
		all = append(all, k.pool+"/"+k.device+"="+s.devices.Load().uuid[k])
	}
	slices.Sort(all)
	return strings.Join(all, " ")
}

func TestTooManySlices(t *testing.T) {
	s := &Slices{cfg: Config{Node: "node-a"}}
	f := &follower{slices: s}
	var all []resourceSlice
	for i := range maxSlices + 10 {
		var one resourceSlice
		if err := json.Unmarshal([]byte(aSlice(fmt.Sprintf("s-%d", i), fmt.Sprintf("pool-%d", i), 1, 1, aDevice("gpu-0", "gpu", cardA))), &one); err != nil {
			t.Fatal(err)
		}
		all = append(all, one)
	}
	f.Replace(all)
	if n := len(f.kept); n != maxSlices {
		t.Errorf("%d slices are kept, want %d", n, maxSlices)
	}
	if why := s.Why(); !strings.Contains(why, "more than 512 ResourceSlices") {
		t.Errorf("it says %q", why)
	}
	f.Delete(all[0].Metadata)
	f.Put(all[1])
	f.Replace(all[:1])
	if got, why := known(s), s.Why(); got != "pool-0/gpu-0="+cardA || why != "" {
		t.Errorf("once there is one, it knows %s and says %q", got, why)
	}
}

// FuzzSlice: whatever a slice holds, what is kept of it is bounded, and is of the node.
func FuzzSlice(f *testing.F) {
	f.Add([]byte(aSlice("s", "node-a", 1, 1, aDevice("gpu-0", "gpu", cardA))))
	f.Add([]byte(`{"spec":{"driver":"gpu.nvidia.com","nodeName":"node-a","pool":{"name":"p","generation":-1,"resourceSliceCount":-1},"devices":[{"basic":null}]}}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		var one resourceSlice
		if json.Unmarshal(text, &one) != nil {
			return
		}
		s := &Slices{cfg: Config{Node: "node-a"}}
		(&follower{slices: s, kept: map[string]published{}}).Put(one)
		x := s.devices.Load()
		if len(x.uuid) > 0 && (one.Spec.Driver != driver || one.Spec.NodeName != "node-a" || len(x.uuid) > maxDevices) {
			t.Errorf("kept %d devices of %+v", len(x.uuid), one.Spec)
		}
		for k, uuid := range x.uuid {
			if uuid == "" || len(uuid) > maxUUID || len(k.device) > maxName || len(k.pool) > maxName {
				t.Errorf("kept %v=%q", k, uuid)
			}
		}
	})
}
