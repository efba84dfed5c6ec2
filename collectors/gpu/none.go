package gpu

import (
	"context"
	"time"

	"github.com/goodput-exporter/goodput-exporter/exporter/fact"
)

// None is the source of a node without GPUs, or of one whose GPUs nobody asks for.
type None struct{}

// Name is NameNone.
func (None) Name() string { return NameNone }

// Read says that there is no source.
func (None) Read(context.Context) fact.GPUReading {
	return fact.GPUReading{Source: NameNone, At: unix(time.Now()), Reason: fact.ReasonNoSource, Detail: "gpu.source is none"}
}

// Close has nothing to close.
func (None) Close() error { return nil }

var (
	_ Source = (*Page)(nil)
	_ Source = (*Child)(nil)
	_ Source = (*Auto)(nil)
	_ Source = None{}
)
