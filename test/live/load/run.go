package load

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"sync"
	"time"
)

// Crowd is a load to be run.
type Crowd struct {
	URL     string // of the engine: http://127.0.0.1:8000
	Model   string
	Steps   []Step
	Seed    uint64
	Prefix  string                    // of the request ids, which have to differ between the runs on one engine
	Client  *http.Client              // nil: one without a limit on connections
	OnStep  func(step int, name Step) // called when a step begins; nil: nobody is told
	Timeout time.Duration             // of one request; 0: a minute
}

// Run sends the requests and returns what was seen of all of them, by their start, when the last one has ended. When
// the context ends no more are sent and those under way are cut: they count as broken.
func (c Crowd) Run(ctx context.Context) ([]Seen, error) {
	if err := Validate(c.Steps); err != nil {
		return nil, err
	}
	if c.Client == nil {
		transport := &http.Transport{MaxIdleConnsPerHost: 256}
		defer transport.CloseIdleConnections()
		c.Client = &http.Client{Transport: transport}
	}
	if c.Timeout == 0 {
		c.Timeout = time.Minute
	}
	var (
		rng    = rand.New(rand.NewPCG(c.Seed, 0x10ad))
		mu     sync.Mutex
		all    []Seen
		flying sync.WaitGroup
		next   = time.Now()
		sent   int
	)
	for i := range c.Steps {
		step := &c.Steps[i]
		if c.OnStep != nil {
			c.OnStep(i, *step)
		}
		end := next.Add(step.Length)
		for {
			// The schedule is fixed in advance: a client that is late does not push back those after it.
			at := next.Add(step.gap(rng))
			if at.After(end) {
				at = end
			}
			if !until(ctx, at) {
				flying.Wait()
				return sorted(all), ctx.Err()
			}
			if next = at; at.Equal(end) {
				break
			}
			ask := step.draw(rng)
			ask.ID, ask.Step = fmt.Sprintf("%s%d", c.Prefix, sent), i
			prompt := words(rng, ask.Prompt)
			sent++
			flying.Go(func() {
				seen := c.send(ctx, ask, prompt)
				mu.Lock()
				all = append(all, seen)
				mu.Unlock()
			})
		}
	}
	flying.Wait()
	return sorted(all), nil
}

// until waits for a moment; false when the context ended before it.
func until(ctx context.Context, at time.Time) bool {
	timer := time.NewTimer(time.Until(at))
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

func sorted(all []Seen) []Seen {
	slices.SortFunc(all, func(a, b Seen) int {
		switch {
		case a.Start < b.Start:
			return -1
		case a.Start > b.Start:
			return 1
		}
		return 0
	})
	return all
}
