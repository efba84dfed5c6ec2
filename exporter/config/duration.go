package config

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// The units of a duration as Prometheus writes it, in the order in which they must stand. A year has 365 days.
const durationUnits = "y w d h m s ms"

func unit(name string) (rank int, length time.Duration) {
	const day = 24 * time.Hour
	switch name {
	case "y":
		return 1, 365 * day
	case "w":
		return 2, 7 * day
	case "d":
		return 3, day
	case "h":
		return 4, time.Hour
	case "m":
		return 5, time.Minute
	case "s":
		return 6, time.Second
	case "ms":
		return 7, time.Millisecond
	}
	return 0, 0
}

// parseDuration reads a duration in Prometheus's notation: whole numbers with units from y to ms in falling order,
// each at most once (1h30m, 1500ms), or a bare 0.
func parseDuration(text string) (time.Duration, error) {
	if text == "0" {
		return 0, nil
	}
	switch {
	case text == "":
		return 0, errors.New("is empty")
	case text[0] == '-':
		return 0, errors.New("is negative")
	case strings.ContainsAny(text, ".,"):
		return 0, errors.New("has a fraction")
	}
	var total time.Duration
	for rest, last := text, 0; rest != ""; {
		digits := rest[:len(rest)-len(strings.TrimLeft(rest, "0123456789"))]
		rest = rest[len(digits):]
		name := rest
		if i := strings.IndexAny(rest, "0123456789"); i >= 0 {
			name = rest[:i]
		}
		rest = rest[len(name):]
		rank, length := unit(name)
		switch {
		case digits == "":
			return 0, errors.New("does not begin with a whole number")
		case name == "":
			return 0, errors.New("has no unit")
		case rank == 0:
			return 0, fmt.Errorf("has the unit %s, which is none of %s", quote(name), durationUnits)
		case rank <= last:
			return 0, fmt.Errorf("has its units out of order, which is %s, each once", durationUnits)
		}
		last = rank
		n, err := strconv.ParseInt(digits, 10, 64)
		if err != nil || n > (math.MaxInt64-int64(total))/int64(length) {
			return 0, errors.New("is longer than 292 years")
		}
		total += time.Duration(n) * length
	}
	return total, nil
}

// formatDuration writes a duration of whole milliseconds so that parseDuration reads it back. Years and weeks are
// used only when nothing remains, because 90d reads better than 12w6d, and 1500ms better than 1s500ms.
func formatDuration(d time.Duration) string {
	if d < time.Millisecond {
		return "0s"
	}
	if d < time.Minute && d%time.Second >= time.Millisecond {
		return strconv.FormatInt(d.Milliseconds(), 10) + "ms"
	}
	var b strings.Builder
	for name := range strings.FieldsSeq(durationUnits) {
		rank, length := unit(name)
		if rank <= 2 && d%length != 0 {
			continue
		}
		if n := d / length; n > 0 {
			fmt.Fprintf(&b, "%d%s", n, name)
			d -= n * length
		}
	}
	return b.String()
}

// seconds is the float64 next to the decimal that was written, so that 250ms equals the 0.25 of a page's le label
// exactly: one division of two exact numbers. time.Duration.Seconds adds two rounded ones.
func seconds(d time.Duration) float64 { return float64(d.Milliseconds()) / 1000 }

// durationRemedy guesses what was meant by something that is no duration.
func durationRemedy(text, unit string) string {
	if n, err := strconv.ParseInt(text, 10, 64); err == nil && n > 0 {
		other := map[string]string{"ms": "s", "s": "ms"}[unit]
		return fmt.Sprintf("write %d%s, or %d%s if that is meant", n, unit, n, other)
	}
	if v, err := strconv.ParseFloat(text, 64); err == nil && v > 0 && v < 1e9 {
		return "write whole numbers with units: " + formatDuration(time.Duration(math.Round(v*1000))*time.Millisecond) + " if seconds are meant"
	}
	// Go's own notation has fractions and small units; people write both.
	if d, err := time.ParseDuration(text); err == nil && d >= time.Millisecond && d%time.Millisecond == 0 {
		return "write " + formatDuration(d)
	}
	return "write whole numbers with units, such as 250ms, 2s, 1h30m or 30d"
}
