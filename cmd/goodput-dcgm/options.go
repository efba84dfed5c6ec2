//go:build linux && cgo

package main

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/alecthomas/kingpin/v2"
	"github.com/prometheus/common/version"

	"github.com/goodput-exporter/goodput-exporter/collectors/gpu/frame"
)

// options are the command line, checked.
type options struct {
	engine    endpoint
	interval  time.Duration // between ticks, and between DCGM's samples
	profiling string        // why profiling fields are not asked for; "": they are, where a card has them
	fields    []int         // what to read, ascending; identity is always among them
}

// The shortest interval is that of DCGM's profiling samples: below it they are invalid on Hopper.
const (
	minInterval = 100 * time.Millisecond
	maxInterval = time.Minute
)

// identity are the fields without which a value belongs to nobody.
var identity = []int{frame.FieldDriver, frame.FieldName, frame.FieldUUID, frame.FieldBus}

// parse reads the command line. done says that there is nothing more to do, and status what to exit with.
func parse(args []string, out, notes io.Writer) (opts options, status int, done bool) {
	// kingpin ends the program itself after --help and --version; here that unwinds to the caller.
	type exit int
	defer func() {
		switch e := recover().(type) {
		case nil:
		case exit:
			status, done = int(e), true
		default:
			panic(e)
		}
	}()
	app := kingpin.New("goodput-dcgm", "Reads DCGM for goodput-exporter, which starts it. Frames go to standard output; it ends when standard input does.")
	app.Version(version.Print("goodput-dcgm"))
	app.HelpFlag.Short('h')
	app.UsageWriter(out)
	app.ErrorWriter(notes)
	app.Terminate(func(status int) { panic(exit(status)) })
	address := app.Flag("address", "Where nv-hostengine listens: host:port, tcp://host:port, unix:///path or vsock://cid:port.").String()
	embedded := app.Flag("embedded", "Run the host engine in this process, where no nv-hostengine runs.").Bool()
	app.Flag("interval", "Between two frames, and between DCGM's samples of a field; 100ms to 1m.").Default("1s").DurationVar(&opts.interval)
	profiling := app.Flag("profiling", "on: read profiling fields where a card has them. off: leave the profiling counters to others, such as Nsight. auto: on with --address, off with --embedded, since a second host engine can take the counters from the first.").Default("auto").Enum("auto", "on", "off")
	fields := app.Flag("fields", "Numbers of the DCGM fields to read, separated by commas; all that goodput-exporter understands by default.").String()

	_, err := app.Parse(args)
	if err == nil {
		opts.engine, err = where(*address, *embedded)
		opts.profiling = unprofiled(*profiling, *embedded)
	}
	if err == nil && (opts.interval < minInterval || opts.interval > maxInterval) {
		err = fmt.Errorf("--interval=%s is not between %s and %s", opts.interval, minInterval, maxInterval)
	}
	if err == nil {
		opts.fields, err = chosen(*fields)
	}
	if err != nil {
		fmt.Fprintf(notes, "goodput-dcgm: %v; see --help\n", err)
		return opts, frame.ExitUsage, true
	}
	return opts, 0, false
}

// unprofiled says why profiling fields are not asked for; "" when they are. A host engine that asks for them can take the
// counters from another one on the node, such as that in a dcgm-exporter, whose own values are 0 from then on
// (NVIDIA/dcgm-exporter#7, NVIDIA/DCGM#106): a host engine of our own does it only when it is told to.
func unprofiled(profiling string, embedded bool) string {
	switch {
	case profiling == "off":
		return "switched off with --profiling=off"
	case profiling == "auto" && embedded:
		return "not asked for by an embedded host engine, which could take the counters from another one; --profiling=on asks"
	}
	return ""
}

// where turns the two flags that name the host engine into one.
func where(address string, embedded bool) (endpoint, error) {
	switch {
	case embedded && address != "":
		return endpoint{}, errors.New("--embedded and --address exclude each other: the one runs a host engine here, the other connects to one")
	case embedded:
		return endpoint{embedded: true}, nil
	case address == "":
		return endpoint{}, errors.New("say --address of an nv-hostengine (as localhost:5555), or --embedded")
	}
	return parseAddress(address)
}

// chosen are the fields to read. What the parent does not understand would be read for nothing, so it is refused.
func chosen(list string) ([]int, error) {
	all := slices.Sorted(slices.Values(append(frame.CardFields(), frame.Profiling()...)))
	if list == "" {
		return all, nil
	}
	fields := slices.Clone(identity)
	for text := range strings.SplitSeq(list, ",") {
		n, err := strconv.Atoi(strings.TrimSpace(text))
		if err != nil || !slices.Contains(all, n) {
			return nil, fmt.Errorf("--fields: %q is not the number of a field that goodput-exporter understands; those are %v", text, all)
		}
		fields = append(fields, n)
	}
	slices.Sort(fields)
	return slices.Compact(fields), nil
}
