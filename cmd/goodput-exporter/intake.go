package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"

	"github.com/goodput-exporter/goodput-exporter/collectors/spans"
	"github.com/goodput-exporter/goodput-exporter/exporter/config"
	"github.com/goodput-exporter/goodput-exporter/exporter/fact"
)

// intake is where spans are taken in, whatever configuration is in force: it outlives reloads, so that no span is lost
// between two of them. It has a receiver for each protocol, so that one listener can change while the other stays. The
// zero value is not ready; follow is called by one goroutine at a time, the others may be called from any.
type intake struct {
	log *slog.Logger
	tap func(spans.Message) // nil: none

	mu     sync.Mutex
	doors  map[string]*door // by protocol
	ending []*door          // that are none of these any more, and still count
	left   []fact.Span      // taken from receivers that have ended, for the next Drain
	past   tallies          // of receivers that have ended
}

// door is one receiver at work.
type door struct {
	*spans.Receiver
	config spans.Config
	cancel context.CancelFunc
	ended  chan struct{}
}

func newIntake(log *slog.Logger, tap func(spans.Message)) *intake {
	return &intake{log: log, tap: tap, doors: map[string]*door{}, past: newTallies()}
}

// protocols are the listeners in the order of their keys.
var protocols = []string{spans.HTTP, spans.GRPC}

// spansConfig is what a configuration asks of the receiver of a protocol; false: no such receiver.
func (in *intake) spansConfig(cfg *config.Config, protocol string) (c spans.Config, wanted bool) {
	s := &cfg.Spans
	c = spans.Config{
		Names: s.Names, Attributes: cfg.SpanAttributes(), Buffer: s.Buffer, MaxMessage: s.MaxMessage,
		CertFile: cfg.Path(s.TLS.CertFile), KeyFile: cfg.Path(s.TLS.KeyFile), ClientCAFile: cfg.Path(s.TLS.ClientCAFile),
		TokenFile: cfg.Path(s.BearerTokenFile), Tap: in.tap, Logger: in.log,
	}
	if protocol == spans.HTTP {
		c.HTTP = s.Listen
	} else {
		c.GRPC = s.GRPCListen
	}
	return c, c.HTTP+c.GRPC != ""
}

// change is what following a configuration has come to so far.
type change struct {
	in   *intake
	undo []func() // in the order in which things were done

	opened map[string]*door // by protocol, not yet in place of the ones before
	closed []string         // protocols whose receiver is to go
}

// follow makes the receivers what a configuration asks for. A receiver at another address is opened before the one before
// it is closed, and what that holds is not lost. With an error all is as it was, as it is after calling back; either settle
// or back must be called otherwise.
func (in *intake) follow(cfg *config.Config) (settle, back func(), err error) {
	c := &change{in: in, opened: map[string]*door{}}
	for _, protocol := range protocols {
		wanted, any := in.spansConfig(cfg, protocol)
		if err := c.one(protocol, wanted, any); err != nil {
			c.back()
			return nil, nil, err
		}
	}
	return c.settle, c.back, nil
}

// one prepares the receiver of one protocol.
func (c *change) one(protocol string, wanted spans.Config, any bool) error {
	now := c.in.door(protocol)
	switch {
	case now == nil && !any:
		return nil
	case !any:
		c.closed = append(c.closed, protocol)
		return nil
	case c.in.taken(protocol, wanted):
		return fmt.Errorf("spans: %s is where spans come in under the other protocol until the reload has succeeded; choose another port, or restart the exporter", wanted.HTTP+wanted.GRPC)
	case now == nil:
		return c.open(protocol, wanted)
	}
	err := now.Reconfigure(wanted)
	switch before := now.config; {
	case err == nil:
		now.config = wanted
		c.undo = append(c.undo, func() { now.config, _ = before, now.Reconfigure(before) })
		return nil
	case !errors.Is(err, spans.ErrListeners):
		return err
	case before.HTTP == wanted.HTTP && before.GRPC == wanted.GRPC:
		return c.reopen(protocol, now, wanted)
	}
	return c.open(protocol, wanted)
}

func (c *change) open(protocol string, wanted spans.Config) error {
	d, err := c.in.open(wanted)
	if err != nil {
		return err
	}
	c.opened[protocol] = d
	return nil
}

// reopen puts a receiver in the place of one at the same address, which has to go first. Senders are refused for the
// moment in between, and come again.
func (c *change) reopen(protocol string, now *door, wanted spans.Config) error {
	before := now.config
	c.in.close(protocol)
	d, err := c.in.open(wanted)
	if err != nil {
		c.restore(protocol, before)
		return err
	}
	c.in.place(protocol, d)
	c.undo = append(c.undo, func() {
		c.in.close(protocol)
		c.restore(protocol, before)
	})
	return nil
}

func (c *change) restore(protocol string, before spans.Config) {
	d, err := c.in.open(before)
	if err != nil {
		c.in.log.Error("spans are not taken in any more: the receiver before the reload cannot be opened again; restart the exporter when the cause is gone", "protocol", protocol, "error", err)
		return
	}
	c.in.place(protocol, d)
}

func (c *change) settle() {
	for protocol, d := range c.opened {
		before := c.in.place(protocol, d)
		c.in.end(before)
	}
	for _, protocol := range c.closed {
		c.in.close(protocol)
	}
	c.in.forget()
}

func (c *change) back() {
	for _, d := range c.opened {
		c.in.end(d)
	}
	for _, undo := range slices.Backward(c.undo) {
		undo()
	}
}

// open starts a receiver, which is in no place yet.
func (in *intake) open(c spans.Config) (*door, error) {
	receiver, err := spans.Listen(c)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(context.Background())
	d := &door{Receiver: receiver, config: c, cancel: cancel, ended: make(chan struct{})}
	go func() {
		defer close(d.ended)
		if err := receiver.Run(ctx); err != nil {
			in.log.Error("spans are not taken in any more", "address", c.HTTP+c.GRPC, "error", err)
		}
	}()
	return d, nil
}

// end ends a receiver and keeps what it holds and counted.
func (in *intake) end(d *door) {
	if d == nil {
		return
	}
	d.cancel()
	<-d.ended
	in.mu.Lock()
	defer in.mu.Unlock()
	in.left = append(in.left, d.Drain()...)
	in.past.add(d.Stats())
	in.ending = slices.DeleteFunc(in.ending, func(x *door) bool { return x == d })
}

// place puts a receiver in the place of another, which is returned and goes on until it is ended.
func (in *intake) place(protocol string, d *door) (before *door) {
	in.mu.Lock()
	defer in.mu.Unlock()
	if before = in.doors[protocol]; before != nil {
		in.ending = append(in.ending, before)
	}
	if d == nil {
		delete(in.doors, protocol)
	} else {
		in.doors[protocol] = d
	}
	return before
}

func (in *intake) close(protocol string) { in.end(in.place(protocol, nil)) }

func (in *intake) door(protocol string) *door {
	in.mu.Lock()
	defer in.mu.Unlock()
	return in.doors[protocol]
}

// forget drops what nobody is going to drain.
func (in *intake) forget() {
	in.mu.Lock()
	defer in.mu.Unlock()
	if len(in.doors) == 0 {
		in.left = nil
	}
}

// shut ends all receivers.
func (in *intake) shut() {
	for _, protocol := range protocols {
		in.close(protocol)
	}
}

// Drain hands over the spans of all receivers.
func (in *intake) Drain() []fact.Span {
	in.mu.Lock()
	defer in.mu.Unlock()
	all := in.left
	in.left = nil
	for _, d := range in.all() {
		if came := d.Drain(); len(all) == 0 {
			all = came
		} else {
			all = append(all, came...)
		}
	}
	return all
}

// all are the receivers that may hold spans. The lock must be held.
func (in *intake) all() []*door {
	all := slices.Clone(in.ending)
	for _, protocol := range protocols {
		if d := in.doors[protocol]; d != nil {
			all = append(all, d)
		}
	}
	return all
}

// addresses are where spans are taken in, by protocol.
func (in *intake) addresses() (http, grpc string) {
	if d := in.door(spans.HTTP); d != nil {
		http, _ = d.Addrs()
	}
	if d := in.door(spans.GRPC); d != nil {
		_, grpc = d.Addrs()
	}
	return http, grpc
}

// taken reports whether an address is that of another protocol's receiver.
func (in *intake) taken(protocol string, wanted spans.Config) bool {
	in.mu.Lock()
	defer in.mu.Unlock()
	for other, d := range in.doors {
		if other != protocol && d.config.HTTP+d.config.GRPC == wanted.HTTP+wanted.GRPC {
			return true
		}
	}
	return false
}

// where spans are taken in, for a person: "127.0.0.1:4318 (HTTP)".
func (in *intake) where() string {
	http, grpc := in.addresses()
	switch {
	case http != "" && grpc != "":
		return fmt.Sprintf("%s (HTTP) and %s (gRPC)", http, grpc)
	case http != "":
		return http + " (HTTP)"
	}
	return grpc + " (gRPC)"
}
