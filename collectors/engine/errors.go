package engine

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/goodput-exporter/goodput-exporter/exporter/fact"
)

// Error is why a page was refused. It holds text of the page (names, label values) only where that names the place,
// cut to a line's length.
type Error struct {
	Reason fact.Reason
	Line   int    // of the page, from 1; 0 when the page as a whole is at fault
	Series string // the series or family at fault; "" when there is none
	Msg    string // what is wrong, and what to do where something can be done
}

func (e *Error) Error() string {
	var b strings.Builder
	if e.Line > 0 {
		b.WriteString("line " + strconv.Itoa(e.Line) + ": ")
	}
	if e.Series != "" {
		b.WriteString(e.Series + ": ")
	}
	b.WriteString(e.Msg)
	return b.String()
}

// ReasonOf is the closed reason inside an error of Decode; "" for nil, and parse for an error of another origin.
func ReasonOf(err error) fact.Reason {
	if err == nil {
		return ""
	}
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Reason
	}
	return fact.ReasonParse
}

func refuse(reason fact.Reason, format string, args ...any) *Error {
	return &Error{Reason: reason, Msg: fmt.Sprintf(format, args...)}
}

// on adds the place to an error that does not have one yet.
func (e *Error) on(line int, series string) *Error {
	if e.Line == 0 {
		e.Line = line
	}
	if e.Series == "" {
		e.Series = series
	}
	return e
}

// maxExcerpt is how much of a page's text an error repeats.
const maxExcerpt = 120

// excerpt quotes the beginning of page text for an error message: one line, printable, bounded. What is not UTF-8, a
// letter that was cut in two included, becomes an escape.
func excerpt(text []byte) string {
	cut := ""
	if len(text) > maxExcerpt {
		text, cut = text[:maxExcerpt], "..."
	}
	return strconv.Quote(string(text)) + cut
}
