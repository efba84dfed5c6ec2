package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"net/http"
	"sort"
	"strconv"
	"strings"
	"time"
)

// count is a number of requests that the exporter knows as an interval.
type count struct {
	Lower uint64 `json:"lower"`
	Upper uint64 `json:"upper"`
	Known bool   `json:"known"`
}

// window is a committed judgement window of an engine under an SLO. Start and End are when its first and last page were
// asked for, unix seconds.
type window struct {
	Engine      string  `json:"engine"`
	SLO         string  `json:"slo"`
	Start       float64 `json:"start"`
	End         float64 `json:"end"`
	Partial     bool    `json:"partial"`
	Arrived     count   `json:"arrived"`
	Failed      count   `json:"failed"`
	Cancelled   count   `json:"cancelled"`
	Sequences   uint64  `json:"sequences"`
	SequencesOK bool    `json:"sequences_ok"`
	Requests    uint64  `json:"requests"`
	Lower       uint64  `json:"lower"`
	Upper       uint64  `json:"upper"`
	Evidence    string  `json:"evidence"`
	Spans       seen    `json:"spans"`
	Method      string  `json:"method"`
	Note        string  `json:"note"`
	Reason      string  `json:"reason"`
}

// seen is what the spans of a window contributed to it.
type seen struct {
	Expected bool   `json:"expected"`
	Seen     uint64 `json:"seen"`
	Unsure   uint64 `json:"unsure"`
	Complete bool   `json:"complete"`
	Conflict bool   `json:"conflict"`
}

// quantile says that an order statistic of a sliding window lies in (Lower, Upper].
type quantile struct {
	Engine   string `json:"engine"`
	Quantile struct {
		Metric string  `json:"metric"`
		Q      float64 `json:"q"`
		Window float64 `json:"window"`
		Start  float64 `json:"start"`
		End    float64 `json:"end"`
		Lower  float64 `json:"lower"`
		Upper  edge    `json:"upper"`
		Count  uint64  `json:"count"`
	} `json:"quantile"`
}

// edge is an edge of a histogram; the last one is written as the text +Inf.
type edge float64

// UnmarshalJSON reads a number or the name of one.
func (e *edge) UnmarshalJSON(data []byte) error {
	f, err := strconv.ParseFloat(strings.Trim(string(data), `"`), 64)
	*e = edge(f)
	return err
}

// MarshalJSON writes it back in the same way.
func (e edge) MarshalJSON() ([]byte, error) {
	if math.IsInf(float64(e), 1) {
		return []byte(`"+Inf"`), nil
	}
	return json.Marshal(float64(e))
}

// poll is a page of the engine that the exporter read: it shows the engine at some moment between the two times.
type poll struct{ Sent, Received float64 }

// round is what /debug/round says.
type round struct {
	Rounds   uint64 `json:"rounds"`
	Snapshot *struct {
		Engines []struct {
			Up       bool    `json:"up"`
			LastPoll float64 `json:"last_poll"`
			PollTook float64 `json:"poll_took"`
		} `json:"engines"`
		Windows   []window   `json:"windows"`
		Quantiles []quantile `json:"quantiles"`
	} `json:"snapshot"`
}

// published is all that the exporter said while it was watched.
type published struct {
	Windows   []window
	Quantiles []quantile
	Polls     []poll
	Missed    uint64 // rounds that were over before they were looked at; their windows would be missing
	last      uint64
}

// take adds a round, if it is a new one.
func (p *published) take(r round) {
	if r.Snapshot == nil || r.Rounds == p.last {
		return
	}
	if p.last > 0 {
		p.Missed += r.Rounds - p.last - 1
	}
	p.last = r.Rounds
	p.Windows = append(p.Windows, r.Snapshot.Windows...)
	p.Quantiles = append(p.Quantiles, r.Snapshot.Quantiles...)
	for _, e := range r.Snapshot.Engines {
		if n := len(p.Polls); e.Up && (n == 0 || p.Polls[n-1].Received < e.LastPoll) {
			p.Polls = append(p.Polls, poll{e.LastPoll - e.PollTook, e.LastPoll})
		}
	}
}

// lastBefore is the last page that the exporter had asked for before a moment.
func (p *published) lastBefore(t float64) (poll, bool) {
	i := sort.Search(len(p.Polls), func(i int) bool { return p.Polls[i].Sent >= t })
	if i == 0 {
		return poll{}, false
	}
	return p.Polls[i-1], true
}

// received is when the page that was asked for at a moment had come.
func (p *published) received(sent float64) float64 {
	for _, q := range p.Polls {
		if q.Sent > sent-1e-3 && q.Sent < sent+1e-3 {
			return q.Received
		}
	}
	return sent
}

// watch reads rounds until the context ends, often enough that none is missed.
func watch(ctx context.Context, exporter string) (*published, error) {
	p := &published{}
	ticker := time.NewTicker(200 * time.Millisecond)
	defer ticker.Stop()
	for {
		var r round
		body, err := get(context.WithoutCancel(ctx), exporter+"/debug/round")
		if err == nil {
			err = json.Unmarshal(body, &r)
		}
		if err != nil {
			return p, fmt.Errorf("the exporter's round: %w", err)
		}
		p.take(r)
		select {
		case <-ctx.Done():
			return p, nil
		case <-ticker.C:
		}
	}
}

// get fetches a page in full.
func get(ctx context.Context, url string) ([]byte, error) {
	ctx, release := context.WithTimeout(ctx, 10*time.Second)
	defer release()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s answers %s", url, response.Status)
	}
	return io.ReadAll(response.Body)
}

// page reads the samples of a page in the text format: name with labels, as written, to value.
func page(text string) map[string]float64 {
	out := map[string]float64{}
	lines := bufio.NewScanner(strings.NewReader(text))
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		line := lines.Text()
		i := strings.LastIndexByte(line, ' ')
		if strings.HasPrefix(line, "#") || i < 0 {
			continue
		}
		if v, err := strconv.ParseFloat(line[i+1:], 64); err == nil {
			out[line[:i]] = v
		}
	}
	return out
}

// sum adds the samples of a name whose labels hold all the given pairs; false when there is none.
func sum(samples map[string]float64, name string, pairs ...string) (total float64, found bool) {
next:
	for key, v := range samples {
		n, labels, _ := strings.Cut(key, "{")
		if n != name {
			continue
		}
		for _, pair := range pairs {
			if !strings.Contains(labels, pair) {
				continue next
			}
		}
		total, found = total+v, true
	}
	return total, found
}
