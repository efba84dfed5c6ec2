package engine

import (
	"bytes"
	"mime"
	"strings"

	"github.com/goodput-exporter/goodput-exporter/exporter/fact"
)

// format is the grammar of a page.
type format int

const (
	classic     format = iota // Prometheus text, any version
	openMetrics               // OpenMetrics text, ends in # EOF
)

// formatOf picks the grammar by media type alone: vLLM's Python front end says text/plain with version 0.0.4 or 1.0.0
// depending on its metrics library, and both are one grammar. Without a type, and under application/json, which vLLM
// before 0.9 puts on its metrics, the body decides.
func formatOf(contentType string, body []byte) (format, *Error) {
	media := mediaType(contentType)
	switch media {
	case "text/plain":
		return classic, notMetrics(body, contentType, "<")
	case "application/openmetrics-text":
		return openMetrics, notMetrics(body, contentType, "<")
	case "", "application/json":
		if err := notMetrics(body, contentType, "<{[\""); err != nil {
			return classic, err
		}
		if endsInEOF(body) {
			return openMetrics, nil
		}
		return classic, nil
	}
	return classic, refuse(fact.ReasonNotMetrics, "the page is %s of %d bytes, not text/plain or application/openmetrics-text: point the target's url at the engine's /metrics", excerpt([]byte(media)), len(body))
}

func mediaType(contentType string) string {
	if media, _, err := mime.ParseMediaType(contentType); err == nil {
		return media
	}
	media, _, _ := strings.Cut(contentType, ";")
	return strings.ToLower(strings.TrimSpace(media))
}

// notMetrics refuses what is no exposition by its first character. The body's text stays out of the message: a page
// that is not the engine's may hold anything.
func notMetrics(body []byte, contentType, foreign string) *Error {
	text := bytes.TrimLeft(body, " \t\r\n")
	switch {
	case len(text) == 0:
		return refuse(fact.ReasonNotMetrics, "the page is empty (%d bytes, content type %s)", len(body), excerpt([]byte(contentType)))
	case strings.IndexByte(foreign, text[0]) < 0:
		return nil
	case text[0] == '<':
		return refuse(fact.ReasonNotMetrics, "the page is HTML or XML (%d bytes, content type %s), perhaps a login page: point the target's url at the engine's /metrics", len(body), excerpt([]byte(contentType)))
	}
	return refuse(fact.ReasonNotMetrics, "the page is JSON (%d bytes, content type %s): point the target's url at the engine's /metrics", len(body), excerpt([]byte(contentType)))
}

func endsInEOF(body []byte) bool {
	last := bytes.TrimRight(body, " \t\r\n")
	return bytes.Equal(last[bytes.LastIndexByte(last, '\n')+1:], []byte("# EOF"))
}
