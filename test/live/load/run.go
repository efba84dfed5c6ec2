package load

import (
	"cmp"
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
	Prefix  string                 // of the request ids, which have to differ between the runs on one engine
	Client  *http.Client           // nil: one without a limit on connections
	OnStep  func(i int, step Step) // called when a step begins
	Timeout time.Duration          // of one request; 0: a minute
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
	f := flights{crowd: c, rng: rand.New(rand.NewPCG(c.Seed, 0x10ad)), next: time.Now()}
	var err error
	for i := range c.Steps {
		if c.OnStep != nil {
			c.OnStep(i, c.Steps[i])
		}
		if err = f.step(ctx, i); err != nil {
			break
		}
	}
	f.flying.Wait()
	slices.SortFunc(f.all, func(a, b Seen) int { return cmp.Compare(a.Start, b.Start) })
	return f.all, err
}

// flights are the requests of a run: those under way, and what was seen of those that have ended.
type flights struct {
	crowd  Crowd
	rng    *rand.Rand
	next   time.Time // when the last request was due
	sent   int
	flying sync.WaitGroup
	mu     sync.Mutex
	all    []Seen
}

// step sends the requests of one step, each when it is due. The schedule does not depend on the engine: a request that
// is sent late does not push back those after it.
func (f *flights) step(ctx context.Context, i int) error {
	step := &f.crowd.Steps[i]
	end := f.next.Add(step.Length)
	for {
		if f.next = f.next.Add(step.gap(f.rng)); f.next.After(end) {
			f.next = end
			return until(ctx, end)
		}
		if err := until(ctx, f.next); err != nil {
			return err
		}
		ask := step.draw(f.rng)
		ask.ID, ask.Step = fmt.Sprintf("%s%d", f.crowd.Prefix, f.sent), i
		prompt := words(f.rng, ask.Prompt)
		f.sent++
		f.flying.Go(func() {
			seen := f.crowd.send(ctx, ask, prompt)
			f.mu.Lock()
			f.all = append(f.all, seen)
			f.mu.Unlock()
		})
	}
}

// until waits for a moment, or for the end of the context.
func until(ctx context.Context, at time.Time) error {
	timer := time.NewTimer(time.Until(at))
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
