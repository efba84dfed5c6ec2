package web

import (
	"strings"
	"testing"

	"github.com/goodput-exporter/goodput-exporter/exporter/fold"
)

// TestMessagesTurnedAwayAreTold: each answer that takes nothing has words and a remedy, and there is a banner while
// nothing at all was taken.
func TestMessagesTurnedAwayAreTold(t *testing.T) {
	for name, c := range map[string]struct {
		messages []Message
		rows     []string // name, value and a part of the meaning
		alert    string
	}{
		"none":                  {nil, []string{"Messages turned away|none|of which nothing was taken"}, ""},
		"all are taken":         {[]Message{{"http", "ok", 5}, {"grpc", "partial", 1}}, []string{"Messages turned away|none|"}, ""},
		"a wrong token":         {[]Message{{"grpc", "unauthorized", 2}, {"http", "ok", 0}, {"http", "unauthorized", 1200}}, []string{"Messages turned away: no token, or a wrong one|2 by grpc and 1,200 by http|OTEL_EXPORTER_OTLP_TRACES_HEADERS"}, "1,202 messages with spans came since the exporter started, and none was taken: no token, or a wrong one"},
		"a wrong path":          {[]Message{{"http", "unsupported", 1}}, []string{"Messages turned away: another path, method, content type or protocol than is spoken|1 by http|POST to /v1/traces"}, "1 message with spans came"},
		"too large, among good": {[]Message{{"http", "ok", 9}, {"http", "too_large", 3}, {"http", "malformed", 4}}, []string{"Messages turned away: too large|3 by http|spans.max_message", "Messages turned away: no OTLP|4 by http|explain --spans"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			s := &Spans{Messages: c.messages}
			rows := s.turnedAwayRows()
			if len(rows) != len(c.rows) {
				t.Fatalf("%+v", rows)
			}
			for i, want := range c.rows {
				part := strings.Split(want, "|")
				if r := rows[i]; r.Name != part[0] || r.Value != part[1] || !strings.Contains(r.Meaning, part[2]) || r.Doubt != (part[1] != "none") {
					t.Errorf("%+v, want %q", r, want)
				}
			}
			got := ""
			for _, h := range s.nothingTakenAlert() {
				got += h.LinkText + " " + h.Text
			}
			if c.alert == "" && got != "" || !strings.Contains(got, c.alert) {
				t.Errorf("banner %q, want %q", got, c.alert)
			}
		})
	}
	for _, outcome := range []string{"too_large", "malformed", "unsupported", "unauthorized", "full", "busy", "broken"} {
		if rows := (&Spans{Messages: []Message{{"http", outcome, 1}}}).turnedAwayRows(); len(rows) != 1 || rows[0].Value != "1 by http" {
			t.Errorf("%s: %+v", outcome, rows)
		}
	}
}

// TestABannerIsOnThePage: the first page says that nothing is taken.
func TestABannerIsOnThePage(t *testing.T) {
	v := viewOf(engine("a", "m", 0, steady, chat()))
	v.Inputs.Spans = &Spans{Messages: []Message{{"grpc", "busy", 1}, {"http", "too_large", 3}}}
	html := render(t, "overview", maker(v, chat()).overview())
	if !strings.Contains(html, `<a href="#trust">4 messages</a> with spans came since the exporter started, and none was taken: too large; too many at once`) {
		t.Error(html)
	}
}

// TestConflictsSayHowAndWhy: how many spans for how many sequences, and where to look.
func TestConflictsSayHowAndWhy(t *testing.T) {
	e := traced(engine("a", "m", 0, steady, chat()))
	row := conflictRow(&e)
	for _, want := range []string{"1 window; in the newest, to 07:31:00, ", " spans for ", " finished sequences"} {
		if !strings.Contains(row.Value, want) {
			t.Errorf("%q is not in %q", want, row.Value)
		}
	}
	if !row.Doubt || !strings.Contains(row.Meaning, "more spans than sequences") || !strings.Contains(row.Meaning, "explain --spans") || !strings.Contains(row.Meaning, "docs/spans.md") {
		t.Errorf("%+v", row)
	}
	if row := conflictRow(&fold.Engine{}); row.Doubt || row.Value != "0 windows" || strings.Contains(row.Meaning, "docs") {
		t.Errorf("%+v", row)
	}
}
