package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"time"

	"github.com/goodput-exporter/goodput-exporter/exporter/sim"
)

// How a message with spans is sent: as often as this, with a pause before each further time, and then dropped, in the
// manner of OpenTelemetry's exporters.
const (
	sendAttempts = 3
	sendPause    = time.Second
	sendTimeout  = 5 * time.Second
)

// sendSpans posts what the engines' tracers send to a receiver, until the context is done.
func (f *fleet) sendSpans(ctx context.Context, url string, log *slog.Logger) error {
	client := &http.Client{Transport: &http.Transport{}, Timeout: sendTimeout}
	defer client.CloseIdleConnections()
	tick := time.NewTicker(worldTick)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		for m := f.message(); m != nil; m = f.message() {
			if err := send(ctx, client, url, m.Body); err != nil && ctx.Err() == nil {
				log.Warn("An engine's spans are lost", "engine", m.Engine, "spans", m.Requests, "error", err)
			}
		}
	}
}

// message takes the next message.
func (f *fleet) message() *sim.Message {
	f.mu.Lock()
	defer f.mu.Unlock()
	m := f.mail.next()
	if m != nil {
		f.mail.pop()
	}
	return m
}

// send posts one message, again if the receiver has no room for now or does not answer.
func send(ctx context.Context, client *http.Client, url string, body []byte) (err error) {
	for attempt := range sendAttempts {
		if attempt > 0 {
			select {
			case <-ctx.Done():
				return ctx.Err()
			case <-time.After(sendPause):
			}
		}
		var again bool
		if again, err = post(ctx, client, url, body); !again {
			return err
		}
	}
	return err
}

// post reports whether it is worth while to send the same again.
func post(ctx context.Context, client *http.Client, url string, body []byte) (again bool, err error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		return false, err
	}
	r.Header.Set("Content-Type", sim.SpansContentType)
	resp, err := client.Do(r)
	if err != nil {
		return true, err
	}
	defer resp.Body.Close()
	_, _ = io.Copy(io.Discard, io.LimitReader(resp.Body, 64<<10)) // so that the connection can be used again
	if resp.StatusCode != http.StatusOK {
		return resp.StatusCode == http.StatusTooManyRequests || resp.StatusCode >= 500, fmt.Errorf("%s answers %s", url, resp.Status)
	}
	return false, nil
}
