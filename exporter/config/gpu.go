package config

import "time"

// GPU says where GPU telemetry comes from, how it is known whose a GPU is, and what one costs.
type GPU struct {
	Source       GPUSource
	Interval     time.Duration // between two readings
	Page         Page          // of a dcgm-exporter; empty where Kubernetes says which pod serves it
	Kubernetes   *PodPage      // nil: Page says where
	Access       Access        // to that page; without a proxy
	DCGM         DCGM
	PodResources PodResources
	Engines      map[string][]string // UUIDs of an engine's GPUs, by target id
	Cost         Cost
}

// GPUSource names a source of GPU telemetry.
type GPUSource string

// The sources.
const (
	GPUAuto GPUSource = "auto"          // the page, else DCGM, else none
	GPUPage GPUSource = "dcgm-exporter" // a dcgm-exporter's page
	GPUDCGM GPUSource = "dcgm"          // DCGM, through the program goodput-dcgm
	GPUNone GPUSource = "none"
)

// Page is where a page is.
type Page struct {
	Address string // what may be shown of the URL: no userinfo, no query
	URL     Secret // the whole URL
}

// DCGM says how goodput-dcgm is run and whom it asks.
type DCGM struct {
	Command   string // path of goodput-dcgm; "": where it is usually found
	Address   string // of a host engine; "" when Embedded
	Embedded  bool
	Profiling Profiling
}

// Profiling says whether DCGM is asked for what needs the profiling hardware.
type Profiling string

// The answers.
const (
	ProfilingAuto Profiling = "auto" // on through a host engine that is there, off in one of our own
	ProfilingOn   Profiling = "on"
	ProfilingOff  Profiling = "off"
)

// PodResources says how the kubelet is asked which container holds which GPU.
type PodResources struct {
	Enabled   Enabled
	Socket    string   // "": where distributions have it
	Resources []string // further resources whose devices are GPUs
}

// Enabled is on, off, or on where there is something.
type Enabled string

// The answers.
const (
	EnabledAuto Enabled = "auto"
	EnabledYes  Enabled = "true"
	EnabledNo   Enabled = "false"
)

// Cost is what a GPU costs; the zero value is no cost.
type Cost struct {
	Currency              string // ISO 4217
	PerGPUHour, PerKWhour float64
}

// defaultGPU is the telemetry of a file that says nothing.
func defaultGPU() GPU {
	const page = "http://127.0.0.1:9400/metrics"
	return GPU{
		Source: GPUAuto, Interval: 5 * time.Second, Page: Page{Address: page, URL: NewSecret(page)},
		DCGM:         DCGM{Address: "localhost:5555", Profiling: ProfilingAuto},
		PodResources: PodResources{Enabled: EnabledAuto},
	}
}

// Cards is whether GPUs are asked for.
func (g *GPU) Cards() bool { return g.Source != GPUNone }

// readsPage is whether a dcgm-exporter's page may be read.
func (g *GPU) readsPage() bool { return g.Source == GPUAuto || g.Source == GPUPage }
