package dashboards

import (
	"fmt"

	"github.com/grafana/grafana-foundation-sdk/go/cog"
	"github.com/grafana/grafana-foundation-sdk/go/common"
	"github.com/grafana/grafana-foundation-sdk/go/dashboard"
	"github.com/grafana/grafana-foundation-sdk/go/heatmap"
	"github.com/grafana/grafana-foundation-sdk/go/prometheus"
	"github.com/grafana/grafana-foundation-sdk/go/statetimeline"
	"github.com/grafana/grafana-foundation-sdk/go/table"
	"github.com/grafana/grafana-foundation-sdk/go/timeseries"
	"github.com/grafana/grafana-foundation-sdk/go/units"
)

// Least steps of queries. $__rate_interval is at least four of them, whatever the data source says about its scrape
// interval, so that a rate finds samples at a scrape interval of a minute too.
const (
	// judged is for counters that move when a judgement window of a minute is committed: ranges of five minutes and more.
	judged = "75s"
	// polled is for everything that moves with every poll.
	polled = "60s"
)

// Units. Sequences and requests are different things, so the axis says which.
const (
	share        = units.PercentUnit
	seconds      = units.Seconds
	count        = units.Short
	unixTime     = "dateTimeFromNow" // of milliseconds: queries multiply by 1000
	requestsRate = "suffix: req/s"
	sequenceRate = "suffix: seq/s"
	mixedRate    = "suffix: /s" // where the legend names the unit of each line
	tokensRate   = "suffix: tok/s"
	tokens       = "suffix: tok"
	octets       = units.BytesIEC
	octetsRate   = units.BytesPerSecondIEC
	watts        = units.Watt
	celsius      = units.Celsius
	hertz        = units.Hertz
)

// Colours mean the same on every panel.
const (
	offeredColour   = "#8e8e8e"
	finishedColour  = "blue"
	goodColour      = "green"
	doubtColour     = "light-green"
	cancelledColour = "purple"
	rejectedColour  = "orange"
	failedColour    = "red"
	lostColour      = "dark-red"
	objectiveColour = "dark-orange"
)

// about is what a reader has to know of a panel: the title names population and window, the description says how to
// read it and what it cannot tell.
type about struct {
	title, says string
	unit        string
	width       uint32 // of 24; the height is the house's
	signed      bool   // may be below 0
}

// query is one line of a picture, or one column of a table.
type query struct{ expr, legend string }

const panelHeight = 8

func prometheusSource() common.DataSourceRef {
	return common.DataSourceRef{Type: cog.ToPtr("prometheus"), Uid: cog.ToPtr("${datasource}")}
}

// lines is a picture over time. Means are left out of its legend: the mean of shares or percentiles is neither.
func lines(a about, step string, queries ...query) *timeseries.PanelBuilder {
	p := timeseries.NewPanelBuilder().
		Title(a.title).Description(a.says).Unit(a.unit).Height(panelHeight).Span(a.width).
		Datasource(prometheusSource()).Interval(step).
		DrawStyle(common.GraphDrawStyleLine).LineWidth(1).FillOpacity(0).ShowPoints(common.VisibilityModeNever).
		Legend(common.NewVizLegendOptionsBuilder().ShowLegend(true).DisplayMode(common.LegendDisplayModeList).Placement(common.LegendPlacementBottom)).
		Tooltip(common.NewVizTooltipOptionsBuilder().Mode(common.TooltipDisplayModeMulti).Sort(common.SortOrderDescending))
	if !a.signed {
		p.Min(0)
	}
	if a.unit == share {
		p.Max(1)
	}
	for i, q := range queries {
		p.WithTarget(overTime(i, q, step))
	}
	return p
}

// stacked is a picture of parts that add up; a negative part is drawn below the axis.
func stacked(a about, step string, queries ...query) *timeseries.PanelBuilder {
	p := lines(a, step, queries...)
	return p.FillOpacity(60).LineWidth(0).Stacking(common.NewStackingConfigBuilder().Mode(common.StackingModeNormal).Group("A"))
}

// rows is a table: each query a column, each set of labels a row. The named labels become the first columns. It is asked for
// at the end of the range, so that what is gone has no row, and not its last value.
func rows(a about, labels []string, queries ...query) *table.PanelBuilder {
	p := table.NewPanelBuilder().
		Title(a.title).Description(a.says).Unit(a.unit).Height(panelHeight).Span(a.width).Datasource(prometheusSource()).
		WithTransformation(dashboard.DataTransformerConfig{Id: "merge", Options: map[string]any{}})
	order, names, hidden := map[string]int{}, map[string]string{}, map[string]bool{"Time": true}
	for i, l := range labels {
		order[l] = i
	}
	for i, q := range queries {
		column := "Value"
		if len(queries) > 1 {
			column += " #" + refID(i)
		}
		order[column], names[column] = len(labels)+i, q.legend
		p.WithTarget(atEnd(i, q).Format(prometheus.PromQueryFormatTable))
	}
	return p.WithTransformation(dashboard.DataTransformerConfig{Id: "organize", Options: map[string]any{
		"indexByName": order, "renameByName": names, "excludeByName": hidden,
	}})
}

// states shows what holds when: one line for each set of labels, coloured where the value is not 0.
func states(a about, step string, colours map[string]string, queries ...query) *statetimeline.PanelBuilder {
	p := statetimeline.NewPanelBuilder().
		Title(a.title).Description(a.says).Unit(a.unit).Height(panelHeight).Span(a.width).
		Datasource(prometheusSource()).Interval(step).ShowValue(common.VisibilityModeNever).
		Legend(common.NewVizLegendOptionsBuilder().ShowLegend(false).DisplayMode(common.LegendDisplayModeList).Placement(common.LegendPlacementBottom))
	p.Mappings(colouredValues(colours))
	for i, q := range queries {
		p.WithTarget(overTime(i, q, step))
	}
	return p
}

// cells is a picture of a native histogram over time: the darker, the more.
func cells(a about, step string, q query) *heatmap.PanelBuilder {
	return heatmap.NewPanelBuilder().
		Title(a.title).Description(a.says).Unit(a.unit).Height(panelHeight).Span(a.width).
		Datasource(prometheusSource()).Interval(step).Calculate(false).
		YAxis(heatmap.NewYAxisConfigBuilder().Unit(a.unit)).
		Color(heatmap.NewHeatmapColorOptionsBuilder().Mode(heatmap.HeatmapColorModeScheme).Scheme("Blues").Scale(heatmap.HeatmapColorScaleExponential).Exponent(0.5).Steps(64)).
		WithTarget(overTime(0, q, step).Format(prometheus.PromQueryFormatHeatmap))
}

// colouredValues gives single values their colours.
func colouredValues(colours map[string]string) []dashboard.ValueMapping {
	mapped := map[string]dashboard.ValueMappingResult{}
	for value, colour := range colours {
		mapped[value] = dashboard.ValueMappingResult{Color: &colour}
	}
	return []dashboard.ValueMapping{{ValueMap: &dashboard.ValueMap{Type: "value", Options: mapped}}}
}

func refID(i int) string { return string(rune('A' + i)) }

func overTime(i int, q query, step string) *prometheus.DataqueryBuilder {
	return target(i, q).Range().Interval(step)
}

func atEnd(i int, q query) *prometheus.DataqueryBuilder { return target(i, q).Instant() }

func target(i int, q query) *prometheus.DataqueryBuilder {
	return prometheus.NewDataqueryBuilder().
		RefId(refID(i)).Datasource(prometheusSource()).Expr(q.expr).LegendFormat(q.legend).EditorMode(prometheus.QueryEditorModeCode)
}

// property is one setting of an override.
func property(id string, value any) dashboard.DynamicConfigValue {
	return dashboard.DynamicConfigValue{Id: id, Value: value}
}

func colour(name string) dashboard.DynamicConfigValue {
	return property("color", map[string]any{"mode": "fixed", "fixedColor": name})
}

// line gives one line its colour, and more where needed.
func line(p *timeseries.PanelBuilder, name, c string, more ...dashboard.DynamicConfigValue) {
	p.OverrideByName(name, append([]dashboard.DynamicConfigValue{colour(c)}, more...))
}

// overlay takes one line out of a stack and draws it over it.
func overlay(p *timeseries.PanelBuilder, name, c string) {
	line(p, name, c, property("custom.stacking", map[string]any{"mode": "none", "group": "A"}),
		property("custom.fillOpacity", 0), property("custom.lineWidth", 2))
}

// dashed draws one line as a limit and not as a measurement.
func dashed(p *timeseries.PanelBuilder, name, c string) {
	line(p, name, c, property("custom.lineStyle", map[string]any{"fill": "dash", "dash": []int{10, 10}}), property("custom.lineWidth", 2))
}

// band fills between the lines of an interval: the truth is in there. Both lines are always there, since a band of no
// width would be no picture at all.
func band(p *timeseries.PanelBuilder, lower, upper, c string) {
	line(p, upper, c, property("custom.fillBelowTo", lower), property("custom.fillOpacity", 35))
	line(p, lower, c)
}

// quantileColours go from the half to the tail.
var quantileColours = map[string]string{"0.5": "blue", "0.9": "purple", "0.95": "orange", "0.99": "red"}

// quantileBands fills each quantile's interval; the legends are those of quantileLegend.
func quantileBands(p *timeseries.PanelBuilder) *timeseries.PanelBuilder {
	for _, q := range []string{"0.5", "0.9", "0.95", "0.99"} {
		band(p, fmt.Sprintf("q %s lower", q), fmt.Sprintf("q %s upper", q), quantileColours[q])
	}
	return p
}
