package config

import (
	"fmt"
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strings"
)

var (
	uuidForm     = regexp.MustCompile(`^(GPU-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}(/[0-9]{1,3})?|MIG-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12})$`)
	currencyForm = regexp.MustCompile(`^[A-Z]{3}$`)
	resourceForm = regexp.MustCompile(`^[a-zA-Z0-9.-]{1,253}/[a-zA-Z0-9._-]{1,63}\*?$`)
)

func badUUID(s string) (what, remedy string) {
	if !uuidForm.MatchString(s) {
		return quote(s) + " is not the UUID of a GPU or MIG instance", "write all of it as nvidia-smi -L prints it, such as GPU-8b8b0d2e-2f1c-4c07-9a58-0d3a8a1f3c11; a number changes with each start of the node"
	}
	return "", ""
}

func badCurrency(s string) (what, remedy string) {
	if !currencyForm.MatchString(s) {
		return quote(s) + " is not a currency", "write the three letters of ISO 4217, such as EUR"
	}
	return "", ""
}

func badResource(s string) (what, remedy string) {
	if !resourceForm.MatchString(s) {
		return quote(s) + " is not the name of a resource", "write it as in a pod's limits, such as example.com/gpu"
	}
	return "", ""
}

// badHostEngine refuses what is not the address of a DCGM host engine; whether it answers shows when it is asked.
func badHostEngine(s string) (what, remedy string) {
	const example = "write it like localhost:5555, unix:///run/nvidia-dcgm.sock or vsock://2:5555"
	scheme, rest, has := strings.Cut(s, "://")
	switch {
	case s == "" || len(s) > 1024 || strings.Contains(s, " ") || has && rest == "":
		return quote(s) + " is not the address of a host engine", example
	case has && !slices.Contains([]string{"tcp", "unix", "vsock"}, scheme):
		return quote(s) + " does not begin with tcp://, unix:// or vsock://", example
	}
	return "", ""
}

// settleDCGM refuses two answers to one question.
func settleDCGM(r *reader, path string, d *DCGM) {
	if !d.Embedded {
		return
	}
	if _, given := r.lines[join(path, "address")]; given {
		r.at(join(path, "embedded"), "stands beside address, and there is one host engine", "keep one of the two")
		return
	}
	d.Address = ""
}

func settlePodResources(r *reader, path string, p *PodResources) {
	if p.Enabled == EnabledNo && p.Socket != "" {
		r.at(join(path, "socket"), "says nothing while enabled is false", "remove one of the two")
	}
}

func settleCost(r *reader, path string, c *Cost) {
	currency, hour, energy := join(path, "currency"), join(path, "per_gpu_hour"), join(path, "per_kwh")
	if !r.sound(currency, hour, energy) {
		return
	}
	switch priced := c.PerGPUHour > 0 || c.PerKWhour > 0; {
	case priced && c.Currency == "":
		r.at(path, "has a price without a currency", "add for example currency: EUR")
	case !priced && c.Currency != "":
		r.at(currency, "stands without a price", "add per_gpu_hour, per_kwh or both, or remove it")
	}
}

// settleGPU compares the page's access with its URL.
func settleGPU(r *reader, path string, g *GPU) {
	u, err := url.Parse(g.Page.URL.Reveal())
	if err != nil || u.Host == "" {
		return
	}
	if u.User != nil && g.Access.credentials() {
		r.at(join(path, "access"), "has credentials, and the url has a user too", "keep one of the two")
	}
	if u.Scheme == "http" && g.Access.TLS != (TLS{}) {
		r.at(join(path, "access")+".tls_config", "says nothing about a url that begins with http://", "write https://, or remove it")
	}
}

// settleReadings compares the GPU section with the others.
func settleReadings(r *reader, c *Config) {
	const path = "gpu.interval"
	if r.sound(path, "poll") {
		switch _, given := r.lines[path]; {
		case !given:
			c.GPU.Interval = max(c.GPU.Interval, c.Poll.Interval)
		case c.GPU.Interval < c.Poll.Interval:
			r.at(path, fmt.Sprintf("%s is less than poll.interval (%s): what is read between two rounds is not published", formatDuration(c.GPU.Interval), formatDuration(c.Poll.Interval)),
				fmt.Sprintf("choose at least %s", formatDuration(c.Poll.Interval)))
		}
	}
	if !r.sound("gpu.engines", "engines") || !c.Engines.fixed() {
		return // as with slos[].match.engine, any id may exist
	}
	for _, id := range slices.Sorted(maps.Keys(c.GPU.Engines)) {
		if !slices.ContainsFunc(c.Engines.Targets, func(t Target) bool { return t.ID == id }) {
			r.at("gpu.engines."+id, "is the id of no target", "write that of one, such as "+quote(c.Engines.Targets[0].ID))
		}
	}
}

// idleGPU lists what is said about GPUs and has no effect beside the source.
func (c *Config) idleGPU() (idle []string) {
	g, preset := &c.GPU, defaultGPU()
	say := func(when bool, key, why string) {
		if when {
			idle = append(idle, key+" is not acted on: "+why)
		}
	}
	page := g.Page != (Page{}) && g.Page.URL.Reveal() != preset.Page.URL.Reveal() || g.Access.credentials() || g.Access.TLS != (TLS{})
	dcgm := g.DCGM != preset.DCGM
	switch g.Source {
	case GPUNone:
		const none = "gpu.source is none"
		say(page, "gpu.url with gpu.access", none)
		say(dcgm, "gpu.dcgm", none)
		say(g.PodResources.Enabled == EnabledYes || g.PodResources.Socket != "" || g.PodResources.Resources != nil, "gpu.pod_resources", none)
		say(len(g.Engines) > 0, "gpu.engines", none)
		say(g.Cost != Cost{}, "gpu.cost", none)
	case GPUPage:
		say(dcgm, "gpu.dcgm", "gpu.source is dcgm-exporter")
	case GPUDCGM:
		say(page, "gpu.url with gpu.access", "gpu.source is dcgm")
	}
	return idle
}
