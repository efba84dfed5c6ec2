package podres

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"unicode/utf8"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/goodput-exporter/goodput-exporter/exporter/fact"
)

// The numbers of the fields that are read, of pod-resources v1. The module that has the messages brings others of
// Kubernetes along; and what is wanted of a long answer is little.
const (
	listPods           = 1
	allocatableDevices = 1

	podName       = 1
	podNamespace  = 2
	podContainers = 3

	containerName    = 1
	containerDevices = 2
	containerDynamic = 5

	devicesResource = 1
	devicesID       = 2

	dynamicName      = 2
	dynamicNamespace = 3
	dynamicDevices   = 4

	allocationCDI    = 1
	allocationDriver = 2
	allocationPool   = 3
	allocationDevice = 4
	allocationShare  = 5

	cdiName = 1
)

// Limits of one answer. A node has at most 16 cards of 7 instances, and pods and containers have names of 253 bytes.
const (
	maxDevices = 65_536
	maxText    = 253 // bytes
)

var (
	errWire    = errors.New("it ends in the middle of a field, or has one that cannot be: what listens there does not speak pod-resources v1")
	errText    = fmt.Errorf("a name in it is no UTF-8 or has more than %d bytes: what listens there does not speak pod-resources v1", maxText)
	errNoName  = errors.New("a pod with a GPU has no name in it: what listens there does not speak pod-resources v1")
	errTooMany = fmt.Errorf("it has more than %d devices of GPU resources: see whether a resource was configured that is none", maxDevices)
)

// each goes over the fields of a message that are strings or messages, in their order.
func each(message []byte, do func(number protowire.Number, value []byte) error) error {
	for len(message) > 0 {
		number, wire, n := protowire.ConsumeTag(message)
		if n < 0 {
			return errWire
		}
		message = message[n:]
		if wire != protowire.BytesType {
			if n = protowire.ConsumeFieldValue(number, wire, message); n < 0 {
				return errWire
			}
			message = message[n:]
			continue
		}
		value, n := protowire.ConsumeBytes(message)
		if n < 0 {
			return errWire
		}
		message = message[n:]
		if err := do(number, value); err != nil {
			return err
		}
	}
	return nil
}

// texts fills in the strings of a message, by the numbers of their fields.
func texts(message []byte, into map[protowire.Number]*string) error {
	return each(message, func(number protowire.Number, value []byte) error {
		to := into[number]
		if to == nil {
			return nil
		}
		if len(value) > maxText || !utf8.Valid(value) {
			return errText
		}
		*to = string(value)
		return nil
	})
}

// gathering is one answer being read.
type gathering struct {
	cfg    *Config
	claims []fact.DeviceClaim
}

// claims reads the answer of List.
func (c *Config) claims(reply []byte) ([]fact.DeviceClaim, error) {
	g := gathering{cfg: c}
	err := each(reply, func(number protowire.Number, value []byte) error {
		if number != listPods {
			return nil
		}
		return g.pod(value)
	})
	if err != nil {
		return nil, err
	}
	slices.SortFunc(g.claims, func(a, b fact.DeviceClaim) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Pod, b.Pod), cmp.Compare(a.Container, b.Container),
			cmp.Compare(a.Device, b.Device), cmp.Compare(a.Replica, b.Replica), cmp.Compare(a.Claim, b.Claim), cmp.Compare(a.Unresolved, b.Unresolved))
	})
	return slices.Compact(g.claims), nil
}

// allocatable reads the answer of GetAllocatableResources: devices, sorted, replicas of one as one.
func (c *Config) allocatable(reply []byte) ([]string, error) {
	g := gathering{cfg: c}
	err := each(reply, func(number protowire.Number, value []byte) error {
		if number != allocatableDevices {
			return nil
		}
		return g.devices(value, fact.DeviceClaim{})
	})
	if err != nil {
		return nil, err
	}
	devices := make([]string, len(g.claims)) // not nil: none is an answer
	for i, claim := range g.claims {
		devices[i] = claim.Device
	}
	slices.Sort(devices)
	return slices.Compact(devices), nil
}

// pod goes twice over the fields: names may stand behind what they name.
func (g *gathering) pod(message []byte) error {
	var claim fact.DeviceClaim
	if err := texts(message, map[protowire.Number]*string{podName: &claim.Pod, podNamespace: &claim.Namespace}); err != nil {
		return err
	}
	before := len(g.claims)
	err := each(message, func(number protowire.Number, value []byte) error {
		if number != podContainers {
			return nil
		}
		return g.container(value, claim)
	})
	if err == nil && claim.Pod == "" && len(g.claims) > before {
		return errNoName
	}
	return err
}

func (g *gathering) container(message []byte, claim fact.DeviceClaim) error {
	if err := texts(message, map[protowire.Number]*string{containerName: &claim.Container}); err != nil {
		return err
	}
	return each(message, func(number protowire.Number, value []byte) error {
		switch number {
		case containerDevices:
			return g.devices(value, claim)
		case containerDynamic:
			return g.dynamic(value, claim)
		}
		return nil
	})
}

// devices reads the devices of one resource on one NUMA node. Those of other resources are passed over unread.
func (g *gathering) devices(message []byte, claim fact.DeviceClaim) error {
	var resource []byte
	err := each(message, func(number protowire.Number, value []byte) error {
		if number == devicesResource {
			resource = value
		}
		return nil
	})
	if err != nil || !g.cfg.holdsGPUs(string(resource)) {
		return err
	}
	return each(message, func(number protowire.Number, value []byte) error {
		if number != devicesID {
			return nil
		}
		if !utf8.Valid(value) {
			return errText
		}
		held := claim
		g.cfg.resolve(&held, string(value[:min(len(value), maxDevice+1)]))
		return g.add(held)
	})
}

// dynamic reads what one resource claim was given.
func (g *gathering) dynamic(message []byte, claim fact.DeviceClaim) error {
	var namespace, name string
	if err := texts(message, map[protowire.Number]*string{dynamicNamespace: &namespace, dynamicName: &name}); err != nil {
		return err
	}
	claim.Claim = namespace + "/" + name
	return each(message, func(number protowire.Number, value []byte) error {
		if number != dynamicDevices {
			return nil
		}
		return g.allocation(value, claim)
	})
}

func (g *gathering) allocation(message []byte, claim fact.DeviceClaim) error {
	var a allocation
	err := texts(message, map[protowire.Number]*string{
		allocationDriver: &a.driver, allocationPool: &a.pool, allocationDevice: &a.device, allocationShare: &a.share,
	})
	if err != nil {
		return err
	}
	// One device may have several names for the runtime: any that is the driver's will do.
	err = each(message, func(number protowire.Number, value []byte) error {
		if number != allocationCDI || a.driver != "" || a.isGPU() {
			return nil
		}
		return texts(value, map[protowire.Number]*string{cdiName: &a.cdi})
	})
	if err != nil || !a.isGPU() {
		return err
	}
	g.cfg.resolveAllocation(&claim, &a)
	return g.add(claim)
}

func (g *gathering) add(claim fact.DeviceClaim) error {
	if len(g.claims) == maxDevices {
		return errTooMany
	}
	g.claims = append(g.claims, claim)
	return nil
}
