package fact

// GPUReading is one look at the GPUs of a node through one source.
type GPUReading struct {
	Source string  // "dcgm-exporter", "dcgm" or "none"
	At     float64 // when it was taken, unix seconds
	GPUs   []GPU   // sorted by UUID, cards before their instances; nil when the source brought nothing

	Reason Reason // why it brought nothing; "" when it did
	Detail string // one line for a person: what, where, remedy; holds no secret

	Driver  string // driver version; "" unknown
	Version string // of the source, such as "libdcgm 4.6.0, engine 4.6.0"; "" unknown

	Missing  []Missing // what the source does not tell, and why
	Warnings []string  // what it said wrong and was forgiven, each kind once
	// Dropped counts values that were not believed, by why: a closed set.
	Dropped []ReasonCount
}

// The reasons that only sources of GPU readings have.
const (
	ReasonNoSource Reason = "no_source" // none is configured or found
	ReasonStarting Reason = "starting"  // the child that reads DCGM runs and has not brought its first sample yet
	ReasonExited   Reason = "exited"    // the child that reads DCGM ended, or could not be started
	ReasonStale    Reason = "stale"     // the newest values are too old to be told
)

// GPU is one card, or one MIG instance of a card, in base units. A value that the source does not have, or that cannot be
// true, is unknown. Card values are never repeated on its instances.
type GPU struct {
	UUID     string // "GPU-..." of a card, "MIG-..." of an instance where the source knows it, else the card's with "/" and Instance
	Card     string // UUID of the card that an instance is of; "" for a card
	Instance string // GPU instance id within the card; "" for a card
	Profile  string // MIG profile such as "1g.10gb"; "" for a card
	Model    string // "NVIDIA H100 80GB HBM3"
	Bus      string // PCI bus id; "" unknown
	Node     string // the source's name of the node; "" unknown
	File     string // name of the card's device file, such as "nvidia0", by which some device plugins call it; "" unknown. It may change with a start of the node, and is no identity
	Holder   Holder // of a MIG instance, by the source's account; zero where it does not tell, or tells of several
	Lost     bool   // it was there, and does not answer any more

	SampledAt float64 // when the newest of the values was sampled, unix seconds; 0 unknown

	// Shares of time, 0 to 1: any kernel ran (not on MIG); cycles with a warp on an SM; warps resident; tensor cores busy;
	// memory interface busy; graphics or compute engine busy.
	Busy, SMActive, Occupancy, Tensor, DRAM, Engine Number

	MemoryUsed, MemoryFree, MemoryTotal, MemoryReserved Number // bytes
	Power, PowerLimit                                   Number // watts
	Energy                                              Number // joules since the driver was loaded
	Temperature, MemoryTemperature                      Number // degrees Celsius
	SMClock, MemoryClock                                Number // hertz
	PCIeTx, PCIeRx, NVLinkTx, NVLinkRx                  Number // bytes per second

	Throttled    []Throttle // reasons that the source tells of, sorted by name
	XIDs         []XIDCount // errors since the source began to count, sorted
	XIDsCounted  bool       // XIDs counts every event; otherwise a source that shows the last one only
	ECCDouble    Number     // uncorrectable errors since the driver was loaded
	RemapFailed  Number     // 1 when a row could not be remapped: the card is to be replaced
	PCIeReplays  Number     // since the driver was loaded
	RecoveryHint string     // what DCGM says that the card needs; "" nothing or unknown
}

// Holder is a container that holds a GPU.
type Holder struct{ Namespace, Pod, Container string }

// Throttle is one reason for which clocks are held down: now, and for how long altogether.
type Throttle struct {
	Reason  ThrottleReason
	Now     Number // 1 while it holds, 0 while it does not
	Seconds Number // since the driver was loaded
}

// ThrottleReason is a closed set, fit for a label.
type ThrottleReason string

// The reasons that cost a busy card work. Idle clocks and clocks that an administrator set are none.
const (
	ThrottleSWPower    ThrottleReason = "sw_power_cap"
	ThrottleHWSlowdown ThrottleReason = "hw_slowdown"
	ThrottleSyncBoost  ThrottleReason = "sync_boost"
	ThrottleSWThermal  ThrottleReason = "sw_thermal"
	ThrottleHWThermal  ThrottleReason = "hw_thermal"
	ThrottlePowerBrake ThrottleReason = "hw_power_brake"
	ThrottleThermal    ThrottleReason = "thermal" // by software or hardware: older counters do not tell which
)

// XIDCount is how often a driver error came.
type XIDCount struct {
	XID   int
	Count uint64
}

// DeviceClaim says that a container holds a device, by the kubelet's account.
type DeviceClaim struct {
	Namespace, Pod, Container string
	PodUID                    string // "" where the kubelet does not tell
	Device                    string // UUID as in GPU.UUID of a card or MIG instance, or the form that could not be resolved
	Replica                   string // of a shared device: "3" of "GPU-...::3"; "" for a whole one
	Claim                     string // NAMESPACE/NAME of the resource claim it is held by, which pods may share; "" for a device plugin's
	Unresolved                string // why Device is no UUID: a closed set; "" when it is one
}

// Why the device of a claim is no UUID.
const (
	UnresolvedName = "name" // a name of the device's file (GKE), of which it is not known whose it is
	UnresolvedDRA  = "dra"  // a device of a resource claim, whose UUID is in no ResourceSlice that was read
	UnresolvedForm = "form" // no form that is known
)

// DeviceClaims is one look at which container holds which device.
type DeviceClaims struct {
	At          float64 // unix seconds
	Claims      []DeviceClaim
	Allocatable []string // devices that the kubelet may give out; nil unknown
	Reason      Reason   // why there is nothing; "" when there is
	Detail      string   // one line for a person: what, where, remedy; beside claims it says why Allocatable is not known
}
