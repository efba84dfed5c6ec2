package deploy

import (
	"fmt"
	"testing"
)

// check finds what is wrong with a world, by a name that mutants refer to.
type check struct {
	name string
	find func(w *world) complain
}

// checks are all that types cannot tell.
var checks = []check{
	{"names", misnamed},
	{"labels", mislabelled},
	{"durations", misdated},
	{"size", tooLarge},
	{"volumes", mismounted},
	{"references", dangling},
	{"selectors", selectsNothing},
	{"ports", unknownPorts},
	{"job", wrongJob},
	{"pod", misshapenPods},
	{"memory", tooLittleMemory},
	{"security", tooMuchPower},
	{"admission", notAdmitted},
	{"permissions", wrongPermissions},
	{"placement", misplaced},
	{"network", cutOff},
	{"once", countedTwice},
	{"probes", notServed},
	{"arguments", misunderstood},
	{"configuration", misconfigured},
}

// complaints are all of a world, each with its check's name in front.
func complaints(w *world) []string {
	var found []string
	for _, c := range checks {
		for _, f := range c.find(w) {
			found = append(found, c.name+": "+f)
		}
	}
	return found
}

// complain collects what a check finds.
type complain []string

func (c *complain) f(format string, args ...any) { *c = append(*c, fmt.Sprintf(format, args...)) }

func TestKustomize(t *testing.T) {
	fsys := inMemory(t)
	for _, b := range builds {
		t.Run(b.name, func(t *testing.T) {
			text, err := kustomized(fsys, b)
			if err != nil {
				t.Fatal(err)
			}
			holds(t, b.expect, text)
		})
	}
}

func TestHelm(t *testing.T) {
	for _, e := range charts {
		t.Run(e.name, func(t *testing.T) {
			files, err := rendered(setOfValues(t, e.name), release)
			if err != nil {
				t.Fatal(err)
			}
			e.instance = release
			holds(t, e, stream(files))
		})
	}
}

// holds decodes a world and applies every check to it.
func holds(t *testing.T, e expect, text []byte) {
	t.Helper()
	w, err := decoded(e, text)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range complaints(w) {
		t.Error(c)
	}
}
