// Command simfit compares the simulator with a recorded engine, and writes what comes out into docs/sim.md. It measures
// and fits the simulator's constants on the first half of a recording, plays the whole load, and puts what the simulator
// says about the second half beside what the engine did. Every run gives the same page on amd64; another architecture may
// round differently, and one different rounding changes who shares a step with whom.
package main

import (
	"flag"
	"fmt"
	"math"
	"os"
	"strings"
)

// worlds are simulated with the same constants, so that chance can be told from error.
const worlds = 10

// slow is the factor on all step times of the worlds that show how steep everything is near the knee.
const slow = 1.05

func main() {
	folder := flag.String("recording", "testdata/recordings/vllm-0.32-day", "folder of the recording")
	page := flag.String("page", "docs/sim.md", "page whose tables are written anew")
	flag.Parse()
	if err := run(*folder, *page); err != nil {
		fmt.Fprintln(os.Stderr, "simfit:", err)
		os.Exit(1)
	}
}

func run(folder, page string) error {
	old, err := os.ReadFile(page)
	if err != nil {
		return err
	}
	tables, err := compare(folder)
	if err != nil {
		return err
	}
	tables["scenarios"] = scenarios()
	text := string(old)
	for name, table := range tables {
		if text, err = replace(text, name, table); err != nil {
			return fmt.Errorf("%s: %w", page, err)
		}
	}
	return os.WriteFile(page, []byte(text), 0o644) //nolint:gosec // documentation
}

// compare makes the tables about a recording.
func compare(folder string) (map[string]string, error) {
	r, err := readRecording(folder)
	if err != nil {
		return nil, err
	}
	real := r.real()
	m, err := measure(r, r.before(real))
	if err != nil {
		return nil, err
	}
	step, rms, err := r.fitted(r.start, r.middle())
	if err != nil {
		return nil, err
	}
	other, _, err := r.fitted(r.middle(), math.Inf(1))
	if err != nil {
		return nil, err
	}
	c := constants{step: step, overhead: m.overhead}
	c.step.Noise = m.noise
	played, err := r.play(c)
	if err != nil {
		return nil, err
	}
	slower, err := r.play(c.times(slow))
	if err != nil {
		return nil, err
	}
	return map[string]string{
		"constants":  found(m, step, other, rms),
		"comparison": comparison(real, played, slower, r.second()),
		"steps":      steps(r, real, played),
		"overload":   overload(r, real, played),
	}, nil
}

// play simulates the whole load in several worlds.
func (r *recording) play(c constants) (out [][]outcome, err error) {
	for seed := range uint64(worlds) {
		w, err := r.simulate(c, r.end, seed)
		if err != nil {
			return nil, err
		}
		out = append(out, w)
	}
	return out, nil
}

// before is what ended in the first half: all that measuring and fitting may see.
func (r *recording) before(all []outcome) (out []outcome) {
	for _, o := range all {
		if o.ended <= r.middle() {
			out = append(out, o)
		}
	}
	return out
}

// replace puts a table between the two comments that name it.
func replace(text, name, table string) (string, error) {
	begin, end := "<!-- "+name+" -->\n", "<!-- /"+name+" -->\n"
	head, rest, ok := strings.Cut(text, begin)
	_, tail, closed := strings.Cut(rest, end)
	if !ok || !closed {
		return "", fmt.Errorf("there are no lines %q and %q, one after the other", strings.TrimSpace(begin), strings.TrimSpace(end))
	}
	return head + begin + "\n" + table + "\n" + end + tail, nil
}
