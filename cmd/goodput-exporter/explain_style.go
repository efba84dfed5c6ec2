package main

import (
	"fmt"
	"io"
	"math"
	"os"
	"strconv"
	"strings"
	"time"
	"unicode"

	"golang.org/x/term"
)

// paint colours text on a terminal; the zero paint does not.
type paint struct{ on bool }

// paintFor colours what goes to a terminal.
func paintFor(out io.Writer) paint {
	f, ok := out.(*os.File)
	return paint{on: coloured(ok && term.IsTerminal(int(f.Fd())), os.Getenv)}
}

// coloured says whether a terminal is to be coloured: not one whose user has asked for none (no-color.org), nor one that
// is too plain for it.
func coloured(terminal bool, env func(string) string) bool {
	return terminal && env("NO_COLOR") == "" && env("TERM") != "dumb"
}

func (p paint) with(code, text string) string {
	if !p.on || text == "" {
		return text
	}
	return "\x1b[" + code + "m" + text + "\x1b[0m"
}

// Meaning never rests on a colour alone: the words say it too.
func (p paint) title(s string) string { return p.with("1", s) }
func (p paint) good(s string) string  { return p.with("32", s) }
func (p paint) bad(s string) string   { return p.with("31", s) }
func (p paint) doubt(s string) string { return p.with("33", s) }
func (p paint) aside(s string) string { return p.with("2", s) }

// printable takes out of a page's text what would steer a terminal.
func printable(s string) string {
	if strings.IndexFunc(s, func(r rune) bool { return !unicode.IsPrint(r) }) < 0 {
		return s
	}
	return strconv.Quote(s)
}

// seconds3 writes measured seconds with three digits: 12.3 ms, 1.25 s, 2m5s.
func seconds3(s float64) string {
	switch {
	case s < 0:
		return "-" + seconds3(-s)
	case s < 0.9995:
		return digits3(s*1e3) + " ms"
	case s < 120:
		return digits3(s) + " s"
	}
	return time.Duration(math.Round(s) * float64(time.Second)).String()
}

func digits3(v float64) string {
	rounded, err := strconv.ParseFloat(strconv.FormatFloat(v, 'g', 3, 64), 64)
	if err != nil {
		return "?"
	}
	return strconv.FormatFloat(rounded, 'f', -1, 64)
}

// points writes percentage points with one digit behind the point, rounded up: an interval is never shown narrower than
// it is.
func points(v float64) string {
	return strconv.FormatFloat(max(0, math.Ceil(v*10-1e-9))/10, 'f', 1, 64)
}

// within writes an interval of counts, one number where the ends meet.
func within(lower, upper uint64) string {
	if lower == upper {
		return strconv.FormatUint(lower, 10)
	}
	return fmt.Sprintf("%d to %d", lower, upper)
}

// sharesOf writes lower to upper of all as percentages, rounded outwards so that the truth stays inside.
func sharesOf(lower, upper, all uint64) string {
	if all == 0 {
		return "of none"
	}
	down := math.Floor(float64(lower)/float64(all)*1000) / 10
	up := math.Ceil(float64(upper)/float64(all)*1000) / 10
	if lower == upper {
		return fmt.Sprintf("%.1f %%", down)
	}
	return fmt.Sprintf("%.1f to %.1f %%", down, up)
}

// stampUTC writes a time of a page.
func stampUTC(unix float64) string {
	return time.Unix(0, int64(unix*1e9)).UTC().Format("2006-01-02 15:04:05 UTC")
}

// edgeText writes a bucket edge, exactly: 25 ms, 1.5 s, 7680 s.
func edgeText(s float64) string {
	if s < 1 {
		return exactDigits(s*1e3) + " ms"
	}
	return exactDigits(s) + " s"
}

// exactDigits keeps the digits of a decimal that a product with a power of ten has blurred.
func exactDigits(v float64) string {
	rounded, err := strconv.ParseFloat(strconv.FormatFloat(v, 'g', 12, 64), 64)
	if err != nil {
		return "?"
	}
	return strconv.FormatFloat(rounded, 'f', -1, 64)
}
