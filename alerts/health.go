package alerts

import (
	"fmt"
	"slices"

	"github.com/goodput-exporter/goodput-exporter/exporter/catalog"
)

// stalePoll is the age of an engine's last page, in seconds, at which the exporter has stopped reading it: twice the
// longest interval that a configuration may ask for.
const stalePoll = 300

// health are the alerts on everything without which the others are silent.
func (o *Options) health() []Rule {
	target := "cluster, job, " + o.NodeLabel
	where := "{{ $labels." + o.NodeLabel + " }}"
	return append([]Rule{
		o.engineDown(target, where),
		o.engineMute(target, where),
		o.exporterDown(target, where),
		alert("GoodputExporterAbsent", page, "", "5m", fmt.Sprintf("absent(up{job=%q})", o.Job),
			"No exporter is scraped as job {{ $labels.job }}",
			"Prometheus has no target of this job, so no alert on goodput can fire."),
		alert("GoodputLedgerUnexplained", ticket, certain, "5m",
			atLeast(fmt.Sprintf("by (%s, engine, model)", target), "increase", catalog.RequestsUnexplained, "1h")+" > 0",
			"The counters of engine {{ $labels.engine }} contradict each other",
			"At least {{ $value | humanize }} requests of the last hour are in one count of engine {{ $labels.engine }} ("+where+") and not in another. What is published of it may be wrong by as much."),
		alert("GoodputSLOUnanswerable", ticket, "", "10m", maxBy(target+", engine, slo, reason", catalog.SLOUnanswerable)+" == 1",
			"{{ $labels.slo }} cannot be judged on engine {{ $labels.engine }}",
			"Engine {{ $labels.engine }} ("+where+") is not counted for {{ $labels.slo }}: {{ $labels.reason }}"),
		alert("GoodputHistogramLayoutsDiffer", info, "", "15m", maxBy(target+", metric", catalog.HistogramLayouts)+" > 1",
			"Engines of "+where+" have different buckets for {{ $labels.metric }}",
			"There are {{ $value }} bucket layouts of {{ $labels.metric }} behind "+where+". Percentiles over these engines have wider intervals, and only the ceil and floor histograms may be added."),
		alert("GoodputConfigReloadFailed", ticket, "", "5m", maxBy(target, catalog.ReloadOK)+" == 0",
			"The exporter on "+where+" could not read its configuration",
			"It goes on with the configuration that it had before."),
		enginePolledTwice(),
	}, slices.Concat(discoveryAlerts(target, where), spanAlerts(target, where))...)
}

func maxBy(labels, series string) string { return fmt.Sprintf("max by (%s) (%s)", labels, series) }

// engineDown waits longer than the exporter's retries and a page that was refused once.
func (o *Options) engineDown(target, where string) Rule {
	return alert("GoodputEngineDown", page, certain, "3m", maxBy(target+", engine", catalog.EngineUp)+" == 0",
		"Engine {{ $labels.engine }} is down",
		"The exporter on "+where+" gets no page from engine {{ $labels.engine }}. What the engine does is unknown since then: it is in no rate and no percentile.")
}

// engineMute finds engines that are up and of which the numbers nevertheless say nothing. The label why says which case it is.
// A node on which engines are looked for may lawfully have none.
func (o *Options) engineMute(target, where string) Rule {
	engine := target + ", engine"
	up := maxBy(engine, catalog.EngineUp) + " == 1"
	because := func(why string, expr ...string) string {
		out := `label_replace(`
		for _, l := range expr {
			out += "\n  " + l
		}
		return out + fmt.Sprintf("\n, \"why\", %q, \"\", \"\")", why)
	}
	unless := fmt.Sprintf("unless on (%s) ", engine)
	return alert("GoodputEngineMute", page, certain, "2m",
		lines(
			because("nothing moves", up, "and", "  "+maxBy(engine, catalog.EngineProgressing)+" == 0"),
			"or",
			because("no page is read", up, "and", fmt.Sprintf("  time() - %s > %d", maxBy(engine, catalog.LastPoll), stalePoll)),
			"or",
			because("its counters are missing", maxBy(engine, catalog.EnginePhaseInfo+`{phase="judging"}`),
				unless+catalog.RequestsFinished+catalog.Total, unless+catalog.RequestsFinished+catalog.LowerTotal, unless+catalog.LedgerUnanswerable),
			"or",
			because("no engine is on the page", fmt.Sprintf("max by (%s) (up{job=%q}) == 1", target, o.Job), fmt.Sprintf("unless on (%s) %s", target, catalog.EngineUp), fmt.Sprintf("unless on (%s) %s", target, catalog.DiscoveryUp)),
		),
		"{{ if $labels.engine }}Engine {{ $labels.engine }}{{ else }}Every engine{{ end }} on "+where+" is mute: {{ $labels.why }}",
		"Prometheus reaches the exporter on "+where+", and its numbers about {{ if $labels.engine }}engine {{ $labels.engine }}{{ else }}its engines{{ end }} stand still or are missing: {{ $labels.why }}. No other alert can be trusted there.")
}

// exporterDown names the node. A target that Prometheus does not know any more has no up, so its last hour is asked
// instead: absent() stays silent as long as another node still reports.
func (o *Options) exporterDown(target, where string) Rule {
	up := fmt.Sprintf("up{job=%q}", o.Job)
	return alert("GoodputExporterDown", ticket, certain, "3m",
		lines(
			maxBy(target, up)+" == 0",
			"or",
			fmt.Sprintf("%s * 0 unless on (%s) %s", maxBy(target, "max_over_time("+up+"[1h])"), target, up),
		),
		"The exporter on "+where+" is down or gone",
		"Prometheus gets nothing from the exporter on "+where+", or knows it no more. Its engines are in no rate, no percentile and no other alert.")
}

// loopback are addresses that mean another engine on every machine. The brackets are classes of their own, so that no reader
// of the rule has to count backslashes.
const loopback = "https?://(localhost|127[.].*|[[]::1[]])(:.*|/.*|)"

// enginePolledTwice finds engines that several exporters poll. A process is known by its start, to 10 ms, and its model,
// whatever address it is reached at. Pages of several processes do not say a start; then the address has to do, unless it is
// a loopback one. An engine without a dialect has shown no page yet, so nothing of it is counted. Exporters are told
// apart by job and instance whatever Options.NodeLabel is, since two of them may be on one node. Both sides of the product
// are reduced to what they are matched by: an old and a new pod of one exporter may be there at once.
func enginePolledTwice() Rule {
	const engine = "cluster, job, instance, engine"
	return alert("GoodputEnginePolledTwice", ticket, "", "15m",
		lines(
			"count by (cluster, model, start) (",
			"  count_values by (cluster, model, job, instance) (",
			`    "start",`,
			"    "+maxBy(engine+", model", catalog.EngineInfo),
			fmt.Sprintf("      * on (%s) group_left () %s", engine, maxBy(engine, catalog.EngineStart)),
			"  )",
			") > 1",
			"or",
			"count by (cluster, url) (",
			"  count by (cluster, url, job, instance) (",
			fmt.Sprintf(`    %s{dialect!="", url!="", url!~%q}`, catalog.EngineInfo, loopback),
			fmt.Sprintf("      unless on (%s) %s", engine, catalog.EngineStart),
			"  )",
			") > 1",
		),
		"{{ $value }} exporters poll the engine {{ if $labels.url }}at {{ $labels.url }}{{ else }}{{ with $labels.model }}of {{ . }} {{ end }}that started at {{ $labels.start | humanizeTimestamp }}{{ end }}",
		"Its requests are counted {{ $value }} times in every sum over exporters, and weigh as much in every share of its model.")
}
