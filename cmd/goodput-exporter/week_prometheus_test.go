package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"sort"
	"strconv"
	"testing"
	"time"

	"github.com/goodput-exporter/goodput-exporter/alerts"
)

// realPrometheus are the two programs of a Prometheus that is installed.
type realPrometheus struct{ server, tool string }

// prometheusTools finds them. Without them a test is skipped, or fails where GOODPUT_REQUIRE_PROMETHEUS is set.
func prometheusTools(t *testing.T) realPrometheus {
	t.Helper()
	server, err1 := exec.LookPath("prometheus")
	tool, err2 := exec.LookPath("promtool")
	if err := errors.Join(err1, err2); err != nil {
		if os.Getenv("GOODPUT_REQUIRE_PROMETHEUS") != "" {
			t.Fatalf("%v, and GOODPUT_REQUIRE_PROMETHEUS is set", err)
		}
		t.Skipf("%v: install Prometheus, or run .ci/run, which fetches it", err)
	}
	return realPrometheus{server, tool}
}

// promtool runs in a directory: where in its interval a group is evaluated depends on its name and on its file's path, so a
// path that is the same every time gives the same times every time.
func (p realPrometheus) promtool(t *testing.T, dir string, args ...string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), p.tool, args...)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("promtool %q: %v\n%s", args, err, out)
	}
}

// start serves a directory of blocks until the returned function is called.
func (p realPrometheus) start(t *testing.T, data string) (base string, stop func()) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := listener.Addr().String()
	listener.Close()
	empty := filepath.Join(t.TempDir(), "prometheus.yml")
	if err := os.WriteFile(empty, []byte("global: {}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cmd := exec.CommandContext(ctx, p.server, "--config.file="+empty, "--storage.tsdb.path="+data, "--web.listen-address="+address,
		"--storage.tsdb.retention.time=100y", "--log.level=error", "--query.max-samples=200000000")
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	stop = func() { cancel(); _ = cmd.Wait() } // it is ended by a signal, which Wait calls an error
	base = "http://" + address
	for range 600 {
		if resp, err := http.Get(base + "/-/ready"); err == nil {
			resp.Body.Close()
			if resp.StatusCode == http.StatusOK {
				return base, stop
			}
		}
		time.Sleep(50 * time.Millisecond) // another process: there is no virtual clock to wait on
	}
	stop()
	t.Fatal("prometheus is not ready after 30 s")
	return "", nil
}

// firing is one alert from when it fires to when it is resolved, seconds since the start of the week.
type firing struct {
	alert, severity string
	from, to        float64
}

// evalStep is the interval of evaluation, seconds: that of the groups with alerts.
const evalStep = 30

// evaluate makes blocks of what was scraped, has promtool evaluate the recording rules on them, level by level, and asks a
// real Prometheus for every alert's expression at every evaluation.
func (p realPrometheus) evaluate(t *testing.T, groups alerts.Groups, page, data string, length float64) []firing {
	t.Helper()
	p.promtool(t, "", "tsdb", "create-blocks-from", "openmetrics", "--quiet", "--max-block-duration=200h", page, data)
	for i, level := range levels(groups) {
		dir, rules := t.TempDir(), fmt.Sprintf("level-%d.yml", i)
		file, err := os.Create(filepath.Join(dir, rules))
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(level.WriteYAML(file), file.Close()); err != nil {
			t.Fatal(err)
		}
		base, stop := p.start(t, data)
		p.promtool(t, dir, "tsdb", "create-blocks-from", "rules", "--quiet", "--url="+base, fmt.Sprintf("--start=%d", weekStart),
			fmt.Sprintf("--end=%d", int(weekStart+length)), "--output-dir="+data, rules)
		stop()
	}
	base, stop := p.start(t, data)
	defer stop()
	var history []firing
	for _, g := range groups {
		for _, r := range g.Rules {
			if r.Alert != "" {
				history = append(history, p.fire(t, base, r, length)...)
			}
		}
	}
	sort.Slice(history, func(i, j int) bool { return history[i].from < history[j].from })
	return history
}

var recordedName = regexp.MustCompile(`\bmodel(_slo)?:[a-z0-9_:]+`)

// levels are the recording rules that alerts read, first those that read no other, then those that read these.
func levels(groups alerts.Groups) (out [2]alerts.Groups) {
	reads, level := map[string][]string{}, map[string]int{}
	var need func(expr string)
	need = func(expr string) {
		for _, name := range recordedName.FindAllString(expr, -1) {
			if _, known := level[name]; !known {
				level[name] = min(1, len(reads[name]))
				for _, other := range reads[name] {
					need(other)
				}
			}
		}
	}
	for _, g := range groups {
		for _, r := range g.Rules {
			if r.Record != "" {
				reads[r.Record] = recordedName.FindAllString(r.Expr, -1)
			}
		}
	}
	for _, g := range groups {
		for _, r := range g.Rules {
			if r.Alert != "" {
				need(r.Expr)
			}
		}
	}
	for _, g := range groups {
		for l := range out {
			kept := alerts.Group{Name: g.Name, Interval: g.Interval}
			for _, r := range g.Rules {
				if at, is := level[r.Record]; is && at == l {
					kept.Rules = append(kept.Rules, r)
				}
			}
			if len(kept.Rules) > 0 {
				out[l] = append(out[l], kept)
			}
		}
	}
	return out
}

// fire evaluates one alert as Prometheus does: it is pending for a while, and may keep firing after its condition has ended.
func (p realPrometheus) fire(t *testing.T, base string, r alerts.Rule, length float64) (all []firing) {
	t.Helper()
	wait, keep := duration(t, r.For), duration(t, r.KeepFiringFor)
	for _, times := range p.query(t, base, r.Expr, length) {
		var pendingSince, fired, last float64
		firingNow := false
		for s := 0.0; s <= length; s += evalStep {
			if times[s] {
				if last < s-evalStep || last == 0 {
					if !firingNow {
						pendingSince = s
					}
				}
				last = s
				if !firingNow && s-pendingSince >= wait {
					firingNow, fired = true, s
				}
				continue
			}
			if firingNow && s-last > keep {
				all = append(all, firing{r.Alert, r.Labels["severity"], fired, s})
				firingNow = false
			}
		}
		if firingNow {
			all = append(all, firing{r.Alert, r.Labels["severity"], fired, length})
		}
	}
	return all
}

func duration(t *testing.T, s string) float64 {
	t.Helper()
	if s == "" {
		return 0
	}
	d, err := time.ParseDuration(s)
	if err != nil {
		t.Fatal(err)
	}
	return d.Seconds()
}

// query says, for each series of an expression, at which evaluations it is there. A day at a time: a query may have 11,000
// points.
func (p realPrometheus) query(t *testing.T, base, expr string, length float64) map[string]map[float64]bool {
	t.Helper()
	out := map[string]map[float64]bool{}
	for from := 0.0; from <= length; from += day {
		to := min(length, from+day-evalStep)
		resp, err := http.PostForm(base+"/api/v1/query_range", url.Values{
			"query": {expr}, "step": {strconv.Itoa(evalStep)},
			"start": {fmt.Sprintf("%.0f", weekStart+from)}, "end": {fmt.Sprintf("%.0f", weekStart+to)},
		})
		if err != nil {
			t.Fatal(err)
		}
		var answer struct {
			Status, Error string
			Data          struct {
				Result []struct {
					Metric map[string]string
					Values [][2]any
				}
			}
		}
		err = json.NewDecoder(resp.Body).Decode(&answer)
		resp.Body.Close()
		if err != nil || answer.Status != "success" {
			t.Fatalf("%s: %v %s", expr, err, answer.Error)
		}
		for _, series := range answer.Data.Result {
			key := fmt.Sprint(series.Metric)
			if out[key] == nil {
				out[key] = map[float64]bool{}
			}
			for _, v := range series.Values {
				out[key][v[0].(float64)-weekStart] = true
			}
		}
	}
	return out
}
