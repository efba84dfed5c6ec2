package load

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"
)

// errHungUp is why a request of a client that lost its patience was cut.
var errHungUp = errors.New("the client hung up")

// send asks for one completion and follows the stream to its end.
func (c Crowd) send(ctx context.Context, ask Ask, prompt string) Seen {
	ctx, hangUp := context.WithCancelCause(ctx)
	defer hangUp(nil)
	ctx, release := context.WithTimeout(ctx, c.Timeout)
	defer release()
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, c.URL+"/v1/completions", bytes.NewReader(c.body(ask, prompt)))
	if err != nil {
		return Seen{Ask: ask, Outcome: Unreached, Detail: err.Error()}
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("X-Request-Id", ask.ID) // the engine's spans carry it
	if ask.HangUpAfter > 0 {
		timer := time.AfterFunc(ask.HangUpAfter, func() { hangUp(errHungUp) })
		defer timer.Stop()
	}

	seen := Seen{Ask: ask, Start: unix(time.Now())}
	response, err := c.Client.Do(request)
	if err != nil {
		seen.end(ctx, err)
		return seen
	}
	defer response.Body.Close()
	seen.Status = response.StatusCode
	if response.StatusCode != http.StatusOK {
		why, _ := io.ReadAll(io.LimitReader(response.Body, 400)) // the status is what counts
		seen.Outcome, seen.Detail, seen.End = Refused, string(why), unix(time.Now())
		return seen
	}
	seen.follow(ctx, response.Body, hangUp)
	return seen
}

// body is the request. Answers have exactly the length that was asked for, so that each sequence's is known.
func (c Crowd) body(ask Ask, prompt string) []byte {
	body := map[string]any{
		"model": c.Model, "prompt": prompt, "max_tokens": ask.Output, "n": ask.N, "stream": true,
		"ignore_eos": true, "temperature": 1,
	}
	if fault := faults[ask.Fault]; fault != nil {
		fault(body)
	}
	out, err := json.Marshal(body)
	if err != nil {
		panic(err) // strings, numbers and booleans can be written
	}
	return out
}

// event is what matters of one server-sent event of the stream.
type event struct {
	Choices []struct {
		Index  int     `json:"index"`
		Reason *string `json:"finish_reason"`
	} `json:"choices"`
	Error *struct {
		Message string `json:"message"`
		Code    int    `json:"code"`
	} `json:"error"`
}

// follow reads the stream until it ends, or until the client has had enough.
func (s *Seen) follow(ctx context.Context, stream io.Reader, hangUp context.CancelCauseFunc) {
	lines := bufio.NewScanner(stream)
	lines.Buffer(nil, 1<<20)
	for chunks := 0; lines.Scan(); {
		data, ok := strings.CutPrefix(lines.Text(), "data:")
		if !ok {
			continue
		}
		now := unix(time.Now())
		if data = strings.TrimSpace(data); data == "[DONE]" {
			s.close(now)
			return
		}
		var e event
		if err := json.Unmarshal([]byte(data), &e); err != nil {
			s.Outcome, s.Detail, s.End = Broken, fmt.Sprintf("an event that is no JSON: %v", err), now
			return
		}
		if e.Error != nil {
			s.Outcome, s.Detail, s.End = Broken, e.Error.Message, now
			if e.Error.Code == http.StatusServiceUnavailable {
				s.Outcome, s.Inside = Refused, true
			}
			return
		}
		for _, choice := range e.Choices {
			s.chunk(choice.Index, now, choice.Reason != nil)
			chunks++
		}
		if s.HangUpAfter > 0 && chunks > 0 || s.HangUpAt > 0 && chunks >= s.HangUpAt {
			hangUp(errHungUp)
			s.Outcome, s.End = Cancelled, now
			return
		}
	}
	err := lines.Err()
	if err == nil {
		err = io.ErrUnexpectedEOF
	}
	s.end(ctx, err)
}

// chunk notes a part of one sequence's answer.
func (s *Seen) chunk(index int, now float64, ended bool) {
	for i := range s.Sequences {
		if q := &s.Sequences[i]; q.Index == index {
			q.MaxGap = max(q.MaxGap, now-q.Last)
			q.Last, q.Ended = now, q.Ended || ended
			return
		}
	}
	s.Sequences = append(s.Sequences, Sequence{Index: index, First: now, Last: now, Ended: ended})
}

// close judges a stream that said that it is complete.
func (s *Seen) close(now float64) {
	s.Outcome, s.End = Finished, now
	ended := 0
	for _, q := range s.Sequences {
		if q.Ended {
			ended++
		}
	}
	if ended != s.N {
		s.Outcome, s.Detail = Broken, fmt.Sprintf("%d of %d sequences ended", ended, s.N)
	}
}

// end judges a request that was cut, by whom it was cut.
func (s *Seen) end(ctx context.Context, err error) {
	s.Outcome, s.Detail, s.End = Broken, err.Error(), unix(time.Now())
	var op *net.OpError
	switch {
	case errors.Is(context.Cause(ctx), errHungUp):
		s.Outcome, s.Detail = Cancelled, ""
	case errors.As(err, &op) && op.Op == "dial":
		s.Outcome = Unreached
	}
}

func unix(t time.Time) float64 { return float64(t.UnixMicro()) / 1e6 }
