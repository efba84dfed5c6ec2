// Package dashboards builds the Grafana dashboards that ship with the exporter. The names of series and recording rules
// come from the catalogue; how panels look is decided in style.go, and nowhere else. It takes no values and knows neither
// the exporter nor a running Grafana: the result is JSON in the classic dashboard format, which Grafana 10 to 12 import.
package dashboards

import (
	"encoding/json"
	"fmt"

	"github.com/grafana/grafana-foundation-sdk/go/dashboard"
)

// UIDs are in links and bookmarks, so they never change.
const (
	GoodputUID = "goodput-promise"
	EngineUID  = "goodput-engine"
	GPUUID     = "goodput-gpu"
)

// schema is the version of the dashboard format that Grafana 10.0 writes. Later ones migrate it when they load it; a
// version above the server's own would be taken as it is.
const schema = 38

// Board is one dashboard, ready to be written.
type Board struct {
	File string // the file's name
	JSON []byte
}

// Build makes all boards. The same code makes the same bytes.
func Build() ([]Board, error) {
	var boards []Board
	for _, b := range []struct {
		file    string
		builder *builder
	}{
		{"goodput.json", goodputBoard()},
		{"engine.json", engineBoard()},
		{"gpu.json", gpuBoard()},
	} {
		d, err := b.builder.Build()
		if err != nil {
			return nil, fmt.Errorf("dashboard %s: %w", b.file, err)
		}
		d.SchemaVersion = schema
		for i := range d.Links {
			d.Links[i].Placement = nil // in view; the library's default hides links in a menu that only the newest Grafana has
		}
		number(d.Panels)
		text, err := json.MarshalIndent(d, "", "  ")
		if err != nil {
			return nil, fmt.Errorf("dashboard %s: %w", b.file, err)
		}
		boards = append(boards, Board{File: b.file, JSON: append(text, '\n')})
	}
	return boards, nil
}

// number gives panels and rows their ids, in order: links to a panel name its id.
func number(panels []dashboard.PanelOrRowPanel) {
	next := uint32(0)
	id := func() *uint32 {
		next++
		n := next
		return &n
	}
	for _, p := range panels {
		if p.RowPanel != nil {
			p.RowPanel.Id = *id()
			continue
		}
		p.Panel.Id = id()
	}
}
