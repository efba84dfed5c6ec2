package slices

import (
	"cmp"

	"github.com/goodput-exporter/goodput-exporter/internal/kube"
)

const (
	maxSlices  = 512 // NVIDIA's driver publishes one for all cards of a node, or one a card and one for what they share
	maxDevices = 128 // what the API allows in a slice
	maxName    = 512 // bytes of a pool's or device's name; the API allows 253 and 63
	maxUUID    = 64  // bytes; those of cards and instances have 40
)

// resourceSlice is what is read of one, in every version of the API.
type resourceSlice struct {
	kube.Object
	Spec struct {
		Driver   string `json:"driver"`
		NodeName string `json:"nodeName"`
		Pool     struct {
			Name       string `json:"name"`
			Generation int64  `json:"generation"`
			Slices     int64  `json:"resourceSliceCount"`
		} `json:"pool"`
		Devices []device `json:"devices"`
	} `json:"spec"`
}

// device has its attributes a level deeper in v1beta1.
type device struct {
	Name       string     `json:"name"`
	Attributes attributes `json:"attributes"`
	Basic      struct {
		Attributes attributes `json:"attributes"`
	} `json:"basic"`
}

// attributes are those that NVIDIA's driver gives a device: "gpu" and "mig" are the types of what computes, and a card that
// is handed to a virtual machine is "vfio". A name without a domain is the driver's own.
type attributes struct {
	Type       text `json:"type"`
	UUID       text `json:"uuid"`
	DomainType text `json:"gpu.nvidia.com/type"`
	DomainUUID text `json:"gpu.nvidia.com/uuid"`
}

type text struct {
	String string `json:"string"`
}

// uuid is the device's, or "" where it has none that is of use. A MIG instance that is made when it is needed has none
// before, and in the slice it has none afterwards either.
func (d *device) uuid() string {
	a := &d.Attributes
	if *a == (attributes{}) {
		a = &d.Basic.Attributes
	}
	kind, uuid := cmp.Or(a.Type.String, a.DomainType.String), cmp.Or(a.UUID.String, a.DomainUUID.String)
	if kind != "gpu" && kind != "mig" || len(uuid) > maxUUID {
		return ""
	}
	return uuid
}

// published is what is kept of a slice.
type published struct {
	pool               string
	generation, slices int64
	devices            map[string]string // UUIDs by names
	much               bool              // it has more devices than are kept
}

// keep is a slice without what is not needed; false where it is not of this node and driver.
func (s *resourceSlice) keep(node string) (published, bool) {
	pool := &s.Spec.Pool
	if s.Spec.Driver != driver || s.Spec.NodeName != node || len(pool.Name) > maxName {
		return published{}, false
	}
	p := published{pool: pool.Name, generation: pool.Generation, slices: pool.Slices, devices: map[string]string{}}
	for i := range s.Spec.Devices {
		d := &s.Spec.Devices[i]
		if len(p.devices) == maxDevices {
			p.much = true
			break
		}
		if uuid := d.uuid(); uuid != "" && d.Name != "" && len(d.Name) <= maxName {
			p.devices[d.Name] = uuid
		}
	}
	return p, true
}
