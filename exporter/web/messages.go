package web

import "strings"

// Message counts messages with spans, by protocol and by how they were answered.
type Message struct {
	Protocol, Outcome string
	Count             uint64
}

// turnedAway are the answers that take nothing of a message: which they are in words, and what is to be done.
var turnedAway = []struct{ outcome, name, remedy string }{
	{"unauthorized", "no token, or a wrong one", "they are lost: set OTEL_EXPORTER_OTLP_TRACES_HEADERS=authorization=Bearer%20TOKEN at the sender"},
	{"unsupported", "another path, method, content type or protocol than is spoken", "they are lost, and the log says which it was: only traces are taken, over HTTP by POST to /v1/traces, or over gRPC at its own port; OTEL_EXPORTER_OTLP_TRACES_ENDPOINT is used as it is, /v1/traces and all"},
	{"too_large", "too large", "they are lost: raise spans.max_message, or have the sender put fewer spans into one with OTEL_BSP_MAX_EXPORT_BATCH_SIZE"},
	{"malformed", "no OTLP", "they are lost: find out who sends them; the log shows one, and goodput-exporter explain --spans what comes"},
	{"broken", "did not arrive whole, or not in time", "they are lost unless the sender tries again: look at the network and at what lies between"},
	{"full", "no room", "the senders were told to come again: raise spans.buffer, or shorten poll.interval"},
	{"busy", "too many at once", "the senders were told to come again: send fewer and larger messages, through a Collector for example"},
}

// turnedAwayRows say which messages were not taken, why, and what to do; of one that came whole nothing was counted as spans.
func (s *Spans) turnedAwayRows() []trustRow {
	var rows []trustRow
	for _, why := range turnedAway {
		var parts []string
		for _, m := range s.Messages {
			if m.Outcome == why.outcome && m.Count > 0 {
				parts = append(parts, count(m.Count)+" by "+m.Protocol)
			}
		}
		if len(parts) > 0 {
			rows = append(rows, trustRow{Name: "Messages turned away: " + why.name, Value: list(parts), Doubt: true, Meaning: "since the exporter started; " + why.remedy})
		}
	}
	if len(rows) == 0 {
		rows = append(rows, trustRow{Name: "Messages turned away", Value: "none", Meaning: "since the exporter started; messages with spans of which nothing was taken"})
	}
	return rows
}

// nothingTakenAlert is for spans that come and are all turned away: somebody is setting tracing up. What came to be taken
// later is told by the rows alone, for it is not known when a message came.
func (s *Spans) nothingTakenAlert() []hint {
	if s == nil {
		return nil
	}
	away, why := uint64(0), []string(nil)
	for _, m := range s.Messages {
		if m.Outcome == "ok" || m.Outcome == "partial" {
			if m.Count > 0 {
				return nil
			}
			continue
		}
		away += m.Count
	}
	if away == 0 {
		return nil
	}
	for _, r := range s.turnedAwayRows() {
		if _, name, found := strings.Cut(r.Name, ": "); found {
			why = append(why, name)
		}
	}
	text := "with spans came since the exporter started, and none was taken"
	if len(why) > 0 {
		text += ": " + strings.Join(why, "; ")
	}
	return []hint{{Text: text, Link: "#trust", LinkText: plural(int(away), "message", "messages")}}
}
