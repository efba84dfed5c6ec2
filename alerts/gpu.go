package alerts

import (
	"fmt"

	"github.com/goodput-exporter/goodput-exporter/exporter/catalog"
)

// Numbers of the alerts on GPUs.
const (
	throttledShare = 0.2  // of five minutes, by a reason that is not the power limit
	idleBusy       = 0.25 // mean share of five minutes in which any kernel ran, of the busiest GPU of an engine
)

// XIDs of the application: after these "the GPU should still be healthy", says NVIDIA's device plugin for Kubernetes, which
// takes every other for a broken GPU (internal/rm/health.go, the function that lists what it skips). The process that
// caused them is gone or stuck.
const applicationXIDs = "13|31|43|45|68|109"

// deadlyXIDs are those for which DCGM's own health watch calls the GPU failed, whatever else is watched
// (modules/health/DcgmHealthWatch.cpp, BuildXidMappings): uncorrectable memory errors (48, 95, 140), a row that could not be
// remapped (64), NVLink (74), fallen off the bus (79), and the GPU's own processor (119, 120).
const deadlyXIDs = "48|64|74|79|95|119|120|140"

// gpuAlerts are about the GPUs and about how they are known. None wakes anybody: an engine that suffers is down, mute or
// breaks its promise, and that does; these say why. Where no source of GPUs is configured or found there are no such
// series, and none fires.
func (o *Options) gpuAlerts() []Rule {
	target := "cluster, job, " + o.NodeLabel
	where := "{{ $labels." + o.NodeLabel + " }}"
	return []Rule{
		gpuLost(target, where),
		gpuErrors(target, where),
		gpuMemoryFailed(target, where),
		gpuApplicationErrors(target, where),
		o.gpuThrottled(target, where),
		gpuIdle(target, where),
		gpuSourceDown(target, where),
	}
}

// gpuLost goes on where the exporter restarts, which then does not know a GPU that is gone already: the last that was told of
// it was that it is lost, and the source answers and does not have it. One that turned up elsewhere is not lost. It lasts
// for as long as the exporter itself would tell of the GPU.
func gpuLost(target, where string) Rule {
	by := target + ", gpu"
	return alert("GoodputGPULost", ticket, certain, "2m",
		lines(
			maxBy(by, catalog.GPUUp)+" == 0",
			"or",
			fmt.Sprintf("max by (%s) (last_over_time(%s[1d])) == 0", by, catalog.GPUUp),
			fmt.Sprintf("unless on (cluster, gpu) %s", catalog.GPUUp),
			fmt.Sprintf("and on (%s) %s == 1", target, catalog.GPUSourceUp),
		),
		"GPU {{ $labels.gpu }} on "+where+" is lost",
		"The source of GPUs on "+where+" is alive, and GPU {{ $labels.gpu }} is not in it or does not answer."+heldBy)
}

// heldBy names the engines of the GPU of an alert, of which there may be none or several. They are looked up when the alert
// is sent: as labels they would split it.
const heldBy = `{{ with printf "` + catalog.GPUInfo + `{gpu=%q,engine!=''}" $labels.gpu | query | sortByLabel "engine" }} Engines on it:{{ range . }} {{ .Labels.engine }}{{ end }}.{{ end }}`

// errorsOf counts errors of the last half hour. A number that a GPU never had before has no series, so increase misses its first
// error; then all that the new series shows is new. It is not new when it was seen within six hours: a source that was down
// takes its series away and brings them back.
func errorsOf(target, xids string) string {
	of := fmt.Sprintf("%s{%s}", catalog.GPUXIDErrors, xids)
	by := fmt.Sprintf("sum by (%s, gpu, xid)", target)
	return lines(
		fmt.Sprintf("%s (increase(%s[30m])) > 0", by, of),
		"or",
		fmt.Sprintf("%s (%s unless max_over_time(%s[6h] offset 30m)) > 0", by, of, of),
	)
}

func gpuErrors(target, where string) Rule {
	return alert("GoodputGPUErrors", ticket, certain, "1m", errorsOf(target, fmt.Sprintf("xid!~%q", applicationXIDs)),
		"XID {{ $labels.xid }} of GPU {{ $labels.gpu }} on "+where,
		"The driver reported XID {{ $labels.xid }} at least {{ $value | printf \"%.0f\" }} times in the last half hour, which is none of those that a healthy GPU reports of an application."+
			"{{ if match \"^("+deadlyXIDs+")$\" $labels.xid }} DCGM calls a GPU with it failed.{{ end }}"+heldBy)
}

// gpuMemoryFailed finds states that last until somebody acts, whatever became of the error that announced them: the driver
// counts errors of the memory until it is loaded anew or the card is reset.
func gpuMemoryFailed(target, where string) Rule {
	by := target + ", gpu"
	return alert("GoodputGPUMemoryFailed", ticket, certain, "2m",
		lines(
			fmt.Sprintf(`label_replace(%s == 1, "why", "a row could not be remapped", "", "")`, maxBy(by, catalog.GPURemapFailed)),
			"or",
			fmt.Sprintf(`label_replace(%s > 0, "why", "errors that could not be corrected", "", "")`, maxBy(by, catalog.GPUECCErrors)),
		),
		"The memory of GPU {{ $labels.gpu }} on "+where+" fails: {{ $labels.why }}",
		"The driver says of the memory of GPU {{ $labels.gpu }} on "+where+": {{ $labels.why }} ({{ $value }})."+heldBy)
}

func gpuApplicationErrors(target, where string) Rule {
	return alert("GoodputGPUApplicationErrors", info, certain, "1m", errorsOf(target, fmt.Sprintf("xid=~%q", applicationXIDs)),
		"XID {{ $labels.xid }} of an application on GPU {{ $labels.gpu }} of "+where,
		"The driver reported XID {{ $labels.xid }} at least {{ $value | printf \"%.0f\" }} times in the last half hour. As a rule a process did something wrong and was ended, and the GPU is healthy."+heldBy)
}

// inFlight is the least or mean number of sequences of each engine at a stage: it is counted by each scheduler, GPUs are held
// by the endpoint, so a/0 and a/1 are added up to a.
func inFlight(target, function, stage string) string {
	return lines(
		fmt.Sprintf(`sum by (%s, engine) (label_replace(sum by (%s, endpoint) (`, target, target),
		fmt.Sprintf(`    label_replace(%s(%s{stage=%q}[5m]), "endpoint", "$1", "engine", "(.+?)(?:/[0-9]+)?")`, function, catalog.RequestsInFlight, stage),
		`  ), "engine", "$1", "endpoint", "(.+)"))`,
	)
}

// pairs has 1 for each GPU and each engine on it.
func pairs(target string) string {
	return fmt.Sprintf(`max by (%s, gpu, engine) (%s{engine!=""})`, target, catalog.GPUInfo)
}

// harmless are reasons that call for nobody: the power limit, at which a card at full load works as it was built to, and
// sync_boost, which is another GPU's reason.
const harmless = `reason!~"sw_power_cap|sync_boost"`

// gpuThrottled takes the greatest share of any reason. One heat holds clocks down by several reasons at once (thermal,
// hw_thermal, hw_slowdown): they overlap, so that their sum counts seconds twice, and they are one thing to be told of. A
// card that nobody uses harms nobody.
func (o *Options) gpuThrottled(target, where string) Rule {
	return alert("GoodputGPUThrottled", ticket, certain, "10m",
		lines(
			fmt.Sprintf(`max by (%s, gpu) (rate(%s{%s}[5m])) > %s`, target, catalog.GPUThrottle, harmless, number(throttledShare)),
			fmt.Sprintf("and on (%s, gpu) (", target),
			fmt.Sprintf("  %s * on (%s, engine) group_left () %s >= 1", pairs(target), target, inFlight(target, "avg_over_time", "running")),
			")",
		),
		"GPU {{ $labels.gpu }} on "+where+" is held down",
		"For {{ $value | humanizePercentage }} of the last 5 minutes, by one reason alone, the clocks of GPU {{ $labels.gpu }} were held down while its engine had sequences to compute."+o.heldDownBy()+heldBy)
}

// heldDownBy names the reasons that hold the GPU of an alert down, and the share of each. They are looked up when the alert
// is sent: as labels they would split it, and begin it anew whenever another is the greatest.
func (o *Options) heldDownBy() string {
	of := fmt.Sprintf("max by (reason) (rate(%s{cluster=%%q,job=%%q,%s=%%q,gpu=%%q,%s}[5m])) > %s", catalog.GPUThrottle, o.NodeLabel, harmless, number(throttledShare))
	return fmt.Sprintf("{{ with printf `%s` $labels.cluster $labels.job $labels.%s $labels.gpu | query | sortByLabel \"reason\" }} Reasons, which overlap:"+
		"{{ range . }} {{ .Labels.reason }} ({{ .Value | humanizePercentage }}){{ end }}.{{ end }}", of, o.NodeLabel)
}

// gpuIdle compares the busiest GPU of an engine: under pipeline parallelism one may wait for another. MIG instances have no
// busy share; the share in which their compute engine was active stands for it.
func gpuIdle(target, where string) Rule {
	mean := func(series string) string {
		return fmt.Sprintf("max by (%s, gpu) (avg_over_time(%s[5m]))", target, series)
	}
	return alert("GoodputGPUIdle", ticket, certain, "5m",
		lines(
			fmt.Sprintf("max by (%s, engine) (", target),
			fmt.Sprintf("    %s * on (%s, gpu) group_left () (%s or %s)", pairs(target), target, mean(catalog.GPUBusy), mean(catalog.GPUGraphics)),
			fmt.Sprintf(") < %s", number(idleBusy)),
			"and",
			inFlight(target, "min_over_time", "queue")+" >= 1",
		),
		"Requests wait at engine {{ $labels.engine }} on "+where+" while its GPUs are idle",
		"For 5 minutes and more sequences waited at engine {{ $labels.engine }} ("+where+"), and the busiest of its GPUs ran anything in {{ $value | humanizePercentage }} of the time.")
}

// gpuSourceDown finds that nothing is known of GPUs any more, or not whose they are. The label why says which.
func gpuSourceDown(target, where string) Rule {
	because := func(why, expr string) string { return fmt.Sprintf(`label_replace(%s, "why", %q, "", "")`, expr, why) }
	without := func(series string) string { return fmt.Sprintf(" unless on (%s) %s", target, series) }
	up := maxBy(target, catalog.GPUSourceUp)
	return alert("GoodputGPUSourceDown", ticket, certain, "5m",
		lines(
			because("nothing is read of them", up+" == 0"),
			"or",
			because("no value of them is believed", up+" == 1"+without(catalog.GPUPower)+without(catalog.GPUMemoryUsed)+without(catalog.GPUBusy)+without(catalog.GPUGraphics)+fmt.Sprintf(" and on (%s) %s == 1", target, catalog.GPUUp)),
			"or",
			because("the kubelet does not say whose they are", maxBy(target, catalog.GPUClaimsUp)+" == 0"),
		),
		"The GPUs on "+where+" are unknown: {{ $labels.why }}",
		"The exporter on "+where+" knows no more of its GPUs than this: {{ $labels.why }}. Series of GPUs are absent or may be joined to the wrong engine, and no other alert on them can be trusted there.")
}
