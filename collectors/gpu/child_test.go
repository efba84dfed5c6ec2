package gpu

import (
	"encoding/binary"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/goodput-exporter/goodput-exporter/exporter/fact"
)

// expect holds a reading against a reason; "" wants a GPU.
func (n *nursery) expect(reason fact.Reason, says string) {
	n.t.Helper()
	r := n.child.Read(n.t.Context())
	if r.Reason != reason || !strings.Contains(r.Detail, says) || (len(r.GPUs) == 1) != (reason == "") || r.Source != NameChild {
		_, starts := n.begun()
		n.t.Errorf("at %v: got %q %q with %d GPUs, want %q %q", time.Since(starts[0]), r.Reason, r.Detail, len(r.GPUs), reason, says)
	}
}

// states are the lines about states in the log.
func (n *nursery) states(want ...string) {
	n.t.Helper()
	got := n.log.lines("GPU telemetry through DCGM")
	if len(got) != len(want) {
		n.t.Errorf("%d lines, want %d:\n%s", len(got), len(want), strings.Join(got, "\n"))
		return
	}
	for i := range want {
		if !strings.Contains(got[i], want[i]) {
			n.t.Errorf("line %d is %s, want %q in it", i, got[i], want[i])
		}
	}
}

func TestAChildThatLives(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := raise(t, func(f *fake) {
			time.Sleep(10 * time.Second)
			healthy(f)
		})
		after(5 * time.Second)
		n.expect(fact.ReasonStarting, "first frame")
		after(time.Hour)
		n.expect("", "")
		n.states("is there")
		n.child.Close()
		n.expect(fact.ReasonNoSource, "closed")
		if born, _ := n.begun(); len(born) != 1 || !born[0].asked.Load() || born[0].killed.Load() {
			t.Errorf("%d children, asked %v, killed %v", len(born), born[0].asked.Load(), born[0].killed.Load())
		}
	})
}

func TestAChildBeginsWhenTheOneBeforeHasEnded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		before := make(chan struct{})
		n := raiseAfter(t, before, healthy)
		after(time.Hour)
		if r := n.child.Read(t.Context()); r.Reason != fact.ReasonStarting || !strings.Contains(r.Detail, "the one before it has ended") {
			t.Errorf("got %s", shown(t, r))
		}
		if born, _ := n.begun(); len(born) != 0 {
			t.Error("two at once")
		}
		close(before)
		after(time.Second)
		n.expect("", "")
		n.child.Close()

		given := raiseAfter(t, make(chan struct{}), healthy) // up before its turn came
		given.child.Close()
		if born, _ := given.begun(); len(born) != 0 {
			t.Error("it was started all the same")
		}
	})
}

func TestAChildThatHangsForAMinute(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := raise(t, func(f *fake) {
			lasting := 5
			for range lasting {
				f.bring(tick(h100(0)))
				time.Sleep(time.Second)
			}
			f.stubborn.Store(true) // stuck in a call that takes 60 s, it hears nothing
			select {
			case <-f.ended:
			case <-time.After(time.Minute):
				f.die(nil)
			}
		}, healthy)
		after(4500 * time.Millisecond)
		n.expect("", "")
		after(2400 * time.Millisecond) // 2.9 s after the last frame
		n.expect("", "")
		after(200 * time.Millisecond)
		n.expect(fact.ReasonStale, "no frame for more than 3s")
		after(askedFor + 100*time.Millisecond)
		if born, _ := n.begun(); !born[0].asked.Load() || !born[0].killed.Load() {
			t.Errorf("asked %v, killed %v", born[0].asked.Load(), born[0].killed.Load())
		}
		n.expect(fact.ReasonTimeout, "brought no frame for 3s and was ended")
		after(2 * time.Second)
		n.expect("", "")
		n.states("is there", "brought no frame", "is there")
		n.child.Close()
	})
}

func TestAChildThatNeverStarts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := raise(t, silent)
		after(DefaultStartTimeout - time.Second)
		n.expect(fact.ReasonStarting, "")
		after(2 * time.Second)
		n.expect(fact.ReasonTimeout, "brought no frame for 30s")
		n.child.Close()
	})
}

// hopeless neither ends when asked nor when killed.
func hopeless(f *fake) {
	f.stubborn.Store(true)
	f.frozen.Store(true)
}

func TestAChildThatCannotBeKilled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := raise(t, func(f *fake) {
			hopeless(f)
			f.bring(tick(h100(0)))
			time.Sleep(time.Hour)
			f.die(nil)
		}, healthy)
		after(30 * time.Minute)
		n.expect(fact.ReasonTimeout, "cannot be killed")
		if born, _ := n.begun(); len(born) != 1 {
			t.Errorf("%d children hang beside each other", len(born))
		}
		after(31 * time.Minute)
		n.expect("", "")
		n.states("is there", "cannot be killed", "brought no frame", "is there")
		n.child.Close()
	})
}

func TestCloseLeavesAChildBehindThatCannotBeKilled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := raise(t, hopeless)
		after(time.Second)
		begin := time.Now()
		n.child.Close()
		if took := time.Since(begin); took > askedFor+killedFor {
			t.Errorf("Close took %v", took)
		}
		born, _ := n.begun()
		born[0].die(nil) // or the test would end before its goroutines
	})
}

func TestWhatIsNoFrame(t *testing.T) {
	for sentence, c := range map[string]struct {
		write  string
		reason fact.Reason
		says   string
	}{
		"text on standard output":  {"Warning: DCGM is deprecated\n", fact.ReasonTooLarge, `first bytes: "Warn"`},
		"a huge frame":             {string(binary.BigEndian.AppendUint32(nil, 5<<20)), fact.ReasonTooLarge, "5242880 bytes"},
		"a frame of no JSON":       {"\x00\x00\x00\x04nope", fact.ReasonParse, "what is no frame"},
		"a frame of a newer child": {"\x00\x00\x00\x0d{\"version\":2}", fact.ReasonDialect, "version 2, this goodput-exporter reads version 1"},
	} {
		t.Run(sentence, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				n := raise(t, func(f *fake) {
					f.bring(tick(h100(0)))
					time.Sleep(time.Second)
					fmt.Fprint(f.out, c.write)
					<-f.ended
				}, silent)
				after(1500 * time.Millisecond)
				n.expect("", "") // the frame before it is young
				after(3 * time.Second)
				n.expect(c.reason, c.says)
				if born, _ := n.begun(); len(born) != 2 || !born[0].asked.Load() {
					t.Errorf("%d children", len(born))
				}
				n.states("is there", c.says[:5])
				n.child.Close()
			})
		})
	}
}

func TestAFrameCutShort(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := raise(t, func(f *fake) {
			fmt.Fprint(f.out, "\x00\x00\x10\x00{\"version\":1")
			fmt.Fprint(f.notes, "goodput-dcgm: the host engine went away; it is asked again\n")
			f.die(nil)
		})
		after(time.Second / 2)
		n.expect(fact.ReasonExited, "exit status 0): the host engine went away")
		n.child.Close()
	})
}

func TestAChildThatClosesItsOutputAndRunsOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := raise(t, func(f *fake) {
			f.out.Close()
			<-f.ended
		})
		after(askedFor + time.Second/2)
		n.expect(fact.ReasonTruncated, "closed its standard output")
		n.child.Close()
	})
}

func TestRestartsComeSlower(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := raise(t, func(f *fake) {
			fmt.Fprintf(f.notes, "goodput-dcgm: no host engine\n")
			f.die(nil)
		})
		after(10 * time.Minute)
		_, starts := n.begun()
		for i, want := 1, firstRestart; i < len(starts); i, want = i+1, min(2*want, lastRestart) {
			if got := starts[i].Sub(starts[i-1]); got < firstRestart || got > lastRestart || got < want*79/100 || got > want*121/100 {
				t.Errorf("restart %d came after %v, want about %v", i, got, want)
			}
		}
		if len(starts) < 13 || len(starts) > 20 {
			t.Errorf("%d starts in 10 minutes", len(starts))
		}
		n.states("no host engine") // once, however often it ended
		if lines := n.log.lines("goodput-dcgm wrote"); len(lines) != 1 {
			t.Errorf("its words were logged %d times", len(lines))
		}
		n.child.Close()
	})
}

func TestAChildThatRanForAWhileIsBackSoon(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := raise(t, func(f *fake) { f.die(nil) }, func(f *fake) { f.die(nil) }, func(f *fake) { f.die(nil) }, lasting(90), healthy)
		after(2 * time.Minute)
		_, starts := n.begun()
		if len(starts) != 5 {
			t.Fatalf("%d starts", len(starts))
		}
		if got := starts[4].Sub(starts[3]) - 90*time.Second; got > 2*time.Second {
			t.Errorf("back after %v", got)
		}
		n.expect("", "")
		n.child.Close()
	})
}

func TestWordsOfAChildAreBounded(t *testing.T) {
	var log logged
	n := newNotes(log.logger())
	for i := range 10_000 {
		fmt.Fprintf(n, "12:00:%d something went wrong\n", i)
	}
	fmt.Fprint(n, strings.Repeat("x", 1<<20), "\n\x1b[31m\x00red\n")
	if got := len(log.lines("goodput-dcgm wrote")); got != maxNotes {
		t.Errorf("%d lines were logged", got)
	}
	if n.last() != "[31mred" || len(n.partial) != 0 {
		t.Errorf("last %q", n.last())
	}
	fmt.Fprint(n, strings.Repeat("y", 1<<20))
	if got := n.last(); len(got) != maxNote {
		t.Errorf("%d bytes of a line were kept", len(got))
	}
}

func TestChildSettings(t *testing.T) {
	good := ChildConfig{Path: "goodput-dcgm", Address: "localhost:5555", Interval: time.Second}
	for says, spoil := range map[string]func(*ChildConfig){
		"path of goodput-dcgm":   func(c *ChildConfig) { c.Path = "" },
		"interval 0s":            func(c *ChildConfig) { c.Interval = 0 },
		"either the address":     func(c *ChildConfig) { c.Address = "" },
		"embedded must be set, ": func(c *ChildConfig) { c.Embedded = true },
	} {
		cfg := good
		spoil(&cfg)
		if _, err := NewChild(cfg); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("got %v, want %q", err, says)
		}
	}
	good.Profiling = "off"
	if got := strings.Join(good.args(), " "); got != "--interval=1s --address=localhost:5555 --profiling=off" {
		t.Errorf("args %s", got)
	}
}
