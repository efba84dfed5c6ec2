package boards

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
	"time"
)

// server is a Prometheus, on blocks that were made beforehand or on what it scrapes.
type server struct{ url string }

// serve starts a Prometheus on the blocks in dir and waits until it answers; it ends with the test.
func serve(t *testing.T, dir string) *server {
	t.Helper()
	s, stop := start(t, dir, "global: {}\n")
	t.Cleanup(stop)
	return s
}

func start(t *testing.T, dir, scrapes string, more ...string) (*server, func()) {
	t.Helper()
	config := filepath.Join(t.TempDir(), "prometheus.yml")
	if err := os.WriteFile(config, []byte(scrapes), 0o600); err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := l.Addr().String()
	l.Close() // Prometheus takes the port next; nobody else was told of it
	cmd := exec.Command(tool(t, "prometheus"), append([]string{"--config.file=" + config, "--storage.tsdb.path=" + dir, "--storage.tsdb.retention.time=100y",
		"--web.listen-address=" + address, "--log.level=warn", "--query.max-samples=100000000"}, more...)...)
	var log bytes.Buffer
	cmd.Stdout, cmd.Stderr = &log, &log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	stop := func() {
		cmd.Process.Signal(os.Interrupt) //nolint:errcheck // it may have ended
		<-ended
	}
	s := &server{url: "http://" + address}
	ticker := time.NewTicker(50 * time.Millisecond)
	defer ticker.Stop()
	for deadline := time.After(30 * time.Second); ; {
		if response, err := http.Get(s.url + "/-/ready"); err == nil {
			response.Body.Close()
			if response.StatusCode == http.StatusOK {
				return s, stop
			}
		}
		select {
		case err := <-ended:
			t.Fatalf("prometheus ended: %v\n%s", err, log.String())
		case <-deadline:
			stop()
			t.Fatalf("prometheus is not ready after 30 s\n%s", log.String())
		case <-ticker.C:
		}
	}
}

// series is one result of a query, with its points: of a native histogram the counts.
type series struct {
	Labels map[string]string
	Times  []float64
	Values []float64
}

// span is a stretch of time in unix seconds.
type span struct{ from, to float64 }

func (s span) seconds() float64 { return s.to - s.from }

func (s *server) instant(expr string, at float64) ([]series, error) {
	return s.query("query", url.Values{"query": {expr}, "time": {stamp(at)}})
}

func (s *server) over(expr string, when span, step float64) ([]series, error) {
	return s.query("query_range", url.Values{"query": {expr}, "start": {stamp(when.from)}, "end": {stamp(when.to)}, "step": {stamp(step)}})
}

func stamp(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }

// query asks; an error is what Prometheus has against the query.
func (s *server) query(what string, form url.Values) ([]series, error) {
	var answer struct {
		Status, Error string
		Data          struct {
			Result []struct {
				Metric map[string]string
				Value  [2]any
				Values [][2]any

				// Histogram stands in the place of Value where the result is a native histogram.
				Histogram []any
			}
		}
	}
	if err := s.get("/api/v1/"+what, form, &answer); err != nil {
		return nil, err
	}
	if answer.Status != "success" {
		return nil, fmt.Errorf("%s", answer.Error)
	}
	var all []series
	for _, r := range answer.Data.Result {
		one := series{Labels: r.Metric}
		switch {
		case len(r.Histogram) == 2:
			h, _ := r.Histogram[1].(map[string]any)
			r.Values = [][2]any{{r.Histogram[0], h["count"]}}
		case r.Values == nil:
			r.Values = [][2]any{r.Value}
		}
		for _, p := range r.Values {
			v, err := strconv.ParseFloat(fmt.Sprint(p[1]), 64)
			if err != nil {
				return nil, err
			}
			if at, is := p[0].(float64); is && !math.IsNaN(v) {
				one.Times, one.Values = append(one.Times, at), append(one.Values, v)
			}
		}
		if len(one.Values) > 0 {
			all = append(all, one)
		}
	}
	return all, nil
}

// labelValues is what Grafana asks for label_values(selector, label).
func (s *server) labelValues(selector, label string, when span) ([]string, error) {
	var answer struct {
		Status, Error string
		Data          []string
	}
	err := s.get("/api/v1/label/"+label+"/values", url.Values{"match[]": {selector}, "start": {stamp(when.from)}, "end": {stamp(when.to)}}, &answer)
	if err == nil && answer.Status != "success" {
		err = fmt.Errorf("%s", answer.Error)
	}
	return answer.Data, err
}

func (s *server) get(path string, form url.Values, into any) error {
	response, err := http.Get(s.url + path + "?" + form.Encode())
	if err != nil {
		return err
	}
	defer response.Body.Close()
	return json.NewDecoder(response.Body).Decode(into)
}
