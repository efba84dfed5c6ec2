package podres

import (
	"strconv"
	"strings"

	"github.com/goodput-exporter/goodput-exporter/exporter/fact"
)

const (
	driver     = "gpu.nvidia.com" // NVIDIA's DRA driver for GPUs; the one for compute domains hands out no GPU
	maxDevice  = 256              // bytes kept of a device's id; those of NVIDIA's plugin have up to 60
	maxReplica = 9                // digits of a replica's number
)

// holdsGPUs is whether the devices of a resource are GPUs: whole cards, MIG instances of the mixed strategy, and either
// of them shared under a name of its own.
func (c *Config) holdsGPUs(resource string) bool {
	switch {
	case resource == "nvidia.com/gpu", resource == "nvidia.com/gpu.shared", strings.HasPrefix(resource, "nvidia.com/mig-"):
		return true
	}
	for _, name := range c.Resources {
		if prefix, open := strings.CutSuffix(name, "*"); resource == name || open && strings.HasPrefix(resource, prefix) {
			return true
		}
	}
	return false
}

// resolve fills in the device of a claim from a device plugin's id.
func (c *Config) resolve(claim *fact.DeviceClaim, id string) {
	if len(id) > maxDevice {
		claim.Device, claim.Unresolved = strings.ToValidUTF8(id[:maxDevice], ""), fact.UnresolvedForm
		return
	}
	base, replica, shared := strings.Cut(id, "::") // time-slicing and MPS: GPU-...::3
	if shared && !isNumber(replica) {
		claim.Device, claim.Unresolved = id, fact.UnresolvedForm
		return
	}
	if uuid, ok := canonical(base); ok {
		claim.Device, claim.Replica = uuid, replica
		return
	}
	number, instance, vgpu, ok := deviceFile(id)
	if !ok {
		claim.Device, claim.Unresolved = id, fact.UnresolvedForm
		return
	}
	claim.Replica = vgpu
	if c.Cards != nil {
		if uuid, known := c.Cards.Card(number, instance); known && uuid != "" {
			claim.Device = uuid
			return
		}
	}
	claim.Device, claim.Unresolved = strings.TrimSuffix(id, "/vgpu"+vgpu), fact.UnresolvedName
}

// canonical returns the UUID that an id is. It is strict: some plugins hand out GPU-<uuid>-<n>, where the kubelet's choice
// is not the card that the container gets, so that taking the UUID out would name the wrong one.
func canonical(id string) (uuid string, ok bool) {
	// Drivers before 470 name an instance by its card: MIG-GPU-<uuid>/<GPU instance>/<compute instance>.
	if rest, old := strings.CutPrefix(id, "MIG-GPU-"); old {
		part := strings.Split(rest, "/")
		if len(part) != 3 || !isUUID(part[0]) || !isNumber(part[1]) || !isNumber(part[2]) {
			return "", false
		}
		return "GPU-" + part[0] + "/" + part[1], true
	}
	for _, prefix := range [...]string{"GPU-", "MIG-"} {
		if rest, is := strings.CutPrefix(id, prefix); is {
			return id, isUUID(rest)
		}
	}
	return "", false
}

func isUUID(s string) bool {
	if len(s) != 36 {
		return false
	}
	for i, b := range []byte(s) {
		switch i {
		case 8, 13, 18, 23:
			if b != '-' {
				return false
			}
		default:
			if (b < '0' || b > '9') && (b < 'a' || b > 'f') && (b < 'A' || b > 'F') {
				return false
			}
		}
	}
	return true
}

func isNumber(s string) bool {
	return s != "" && len(s) <= maxReplica && strings.Trim(s, "0123456789") == ""
}

// deviceFile takes a name of GKE's plugin apart: nvidia0, nvidia0/gi2, nvidia0/vgpu1, nvidia0/gi2/vgpu1.
func deviceFile(id string) (number int, instance, vgpu string, ok bool) {
	rest, ok := strings.CutPrefix(id, "nvidia")
	if !ok {
		return 0, "", "", false
	}
	part := strings.Split(rest, "/")
	if !isNumber(part[0]) {
		return 0, "", "", false
	}
	number, _ = strconv.Atoi(part[0])
	part = part[1:]
	for _, x := range [...]struct {
		prefix string
		value  *string
	}{{"gi", &instance}, {"vgpu", &vgpu}} {
		if len(part) == 0 {
			break
		}
		if n, is := strings.CutPrefix(part[0], x.prefix); is && isNumber(n) {
			*x.value, part = n, part[1:]
		}
	}
	return number, instance, vgpu, len(part) == 0
}

// allocation is a device that a resource claim was given.
type allocation struct {
	driver, pool, device, share string
	cdi                         string // the device as the container runtime is told it
}

// isGPU is whether the device is NVIDIA's GPU driver's. Kubelets before 1.31 tell the runtime's name of it alone.
func (a *allocation) isGPU() bool {
	kind, _, _ := strings.Cut(a.cdi, "=")
	return a.driver == driver || a.driver == "" && strings.Contains(kind, driver)
}

// resolveAllocation fills in the device of a claim from what a resource claim was given.
func (c *Config) resolveAllocation(claim *fact.DeviceClaim, a *allocation) {
	claim.Replica = a.share
	if c.Slices != nil && a.device != "" {
		if published, known := c.Slices.Resolve(a.pool, a.device); known {
			if uuid, ok := canonical(published); ok {
				claim.Device = uuid
				return
			}
		}
	}
	claim.Device, claim.Unresolved = a.pool+"/"+a.device, fact.UnresolvedDRA
	if a.device == "" {
		claim.Device = a.cdi
	}
}
