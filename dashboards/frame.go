package dashboards

import (
	"fmt"

	"github.com/grafana/grafana-foundation-sdk/go/cog"
	"github.com/grafana/grafana-foundation-sdk/go/dashboard"

	"github.com/goodput-exporter/goodput-exporter/exporter/catalog"
)

//lint:file-ignore SA1019 the library prefers the second version of the format, which Grafana 10 and 11 do not read

// builder makes a dashboard in the classic format.
type builder = dashboard.DashboardBuilder

// frame is what the boards have in common: identity, time, the data source, and the link to the other one.
func frame(uid, title, says string) *builder {
	b := dashboard.NewDashboardBuilder(title).
		Uid(uid).Description(says).Tags([]string{"goodput"}).Editable().
		Time("now-1h", "now").Refresh("1m").Timezone("browser").Tooltip(dashboard.DashboardCursorSyncCrosshair).
		WithVariable(dashboard.NewDatasourceVariableBuilder("datasource").Label("Data source").Type("prometheus"))
	return b.Link(dashboard.NewDashboardLinkBuilder("The other boards of the exporter").
		Type(dashboard.DashboardLinkTypeDashboards).Tags([]string{"goodput"}).IncludeVars(true).KeepTime(true))
}

// choice is a variable with several values and All. With an empty all, All is the list of values.
func choice(name, label, says, series, all string) *dashboard.QueryVariableBuilder {
	q := fmt.Sprintf("label_values(%s, %s)", series, name)
	v := dashboard.NewQueryVariableBuilder(name).Label(label).Description(says).
		Query(dashboard.StringOrMap{Map: map[string]any{"query": q, "refId": "StandardVariableQuery"}}).Definition(q).
		Datasource(prometheusSource()).
		Multi(true).IncludeAll(true).Refresh(dashboard.VariableRefreshOnTimeRangeChanged).Sort(dashboard.VariableSortAlphabeticalAsc).
		Current(dashboard.VariableOption{
			Selected: cog.ToPtr(true),
			Text:     dashboard.StringOrArrayOfString{ArrayOfString: []string{"All"}},
			Value:    dashboard.StringOrArrayOfString{ArrayOfString: []string{"$__all"}},
		})
	if all != "" {
		v.AllValue(all)
	}
	return v
}

func modelChoice() *dashboard.QueryVariableBuilder {
	return choice(catalog.LabelModel, "Model", "Served model name, as on the engines' pages.", catalog.EngineInfo, ".*")
}

func sloChoice() *dashboard.QueryVariableBuilder {
	return choice(catalog.LabelSLO, "SLO", "Objective in the exporter's configuration.", catalog.SLOObjective, ".*")
}

func engineChoice() *dashboard.QueryVariableBuilder {
	return choice(catalog.LabelEngine, "Engine", "Targets that serve the chosen models. A rank a/0 of a data-parallel engine belongs to a.",
		pick(catalog.EngineInfo, ofModel), "")
}

// section starts a row; repeat names the variable that it is repeated for, "" for none.
func section(title, repeat string) *dashboard.RowBuilder {
	r := dashboard.NewRowBuilder(title)
	if repeat != "" {
		r.Repeat(repeat)
	}
	return r
}
