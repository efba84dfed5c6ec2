package exporter

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/goodput-exporter/goodput-exporter/exporter/fact"
	"github.com/goodput-exporter/goodput-exporter/exporter/fold"
)

// GPUs says what is read of GPUs beside the polls. The zero value reads nothing.
type GPUs struct {
	Source   GPUSource     // nil: none
	Interval time.Duration // from one reading to the next; a reading has 0.8 of it

	Claims         ClaimSource // nil: none
	ClaimsInterval time.Duration

	Cost fold.Cost // for the published contract
}

func (g *GPUs) mistakes() (errs []error) {
	if g.Source != nil && g.Interval <= 0 {
		errs = append(errs, fmt.Errorf("interval %v of GPU readings must be positive", g.Interval))
	}
	if g.Claims != nil && g.ClaimsInterval <= 0 {
		errs = append(errs, fmt.Errorf("interval %v of device claims must be positive", g.ClaimsInterval))
	}
	return errs
}

// readings reads GPUs and claims, each in a goroutine of its own with its own deadline, so that no round waits for them: a
// round takes the newest that has come. A source that hangs brings nothing new, and costs nothing else.
type readings struct {
	gpus   reader[fact.GPUReading]
	claims reader[fact.DeviceClaims]
}

func newReadings(log *slog.Logger) *readings {
	return &readings{
		gpus:   reader[fact.GPUReading]{what: "GPUs", log: log},
		claims: reader[fact.DeviceClaims]{what: "device claims", log: log},
	}
}

// follow reads what the settings say from now on, until the context is done. A source that stays is not disturbed.
func (r *readings) follow(ctx context.Context, g GPUs) {
	if g.Source == nil {
		r.gpus.stop()
	} else {
		r.gpus.start(ctx, g.Source, g.Interval, g.Source.Read)
	}
	if g.Claims == nil {
		r.claims.stop()
	} else {
		r.claims.start(ctx, g.Claims, g.ClaimsInterval, g.Claims.Read)
	}
}

// take returns what has come since it was called last; nil for nothing.
func (r *readings) take() (*fact.GPUReading, *fact.DeviceClaims) {
	claims := r.claims.take()
	if claims != nil && claims.Reason == fact.ReasonNoSource {
		claims = nil
	}
	return r.gpus.take(), claims
}

// drain waits until nothing is being read any more, but no longer than the limit.
func (r *readings) drain(limit time.Duration) error {
	end := time.Now().Add(limit)
	return errors.Join(r.gpus.drain(limit), r.claims.drain(time.Until(end)))
}
