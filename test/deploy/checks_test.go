package deploy

import (
	"fmt"
	"sync"
	"testing"

	"helm.sh/helm/v3/pkg/chartutil"
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

// worlds are all that are tried. They are made once, and nobody may change them.
func worlds(t *testing.T) []*world {
	t.Helper()
	found, err := once()
	if err != nil {
		t.Fatal(err)
	}
	return found
}

var once = sync.OnceValues(func() ([]*world, error) {
	var found []*world
	fsys, err := inMemory()
	if err != nil {
		return nil, err
	}
	for _, b := range builds {
		text, err := kustomized(fsys, b)
		if err != nil {
			return nil, err
		}
		b.name = "kustomize " + b.name
		w, err := decoded(b.expect, text)
		if err != nil {
			return nil, err
		}
		found = append(found, w)
	}
	for _, e := range charts {
		values, err := chartutil.ReadValuesFile("testdata/helm/" + e.name + ".values.yaml")
		if err != nil {
			return nil, err
		}
		files, err := rendered(values, release)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", e.name, err)
		}
		e.name, e.instance = "Helm "+e.name, release
		w, err := decoded(e, stream(files))
		if err != nil {
			return nil, err
		}
		found = append(found, w)
	}
	return found, nil
})

// TestWorlds applies every check to every world.
func TestWorlds(t *testing.T) {
	for _, w := range worlds(t) {
		t.Run(w.name, func(t *testing.T) {
			for _, c := range complaints(w) {
				t.Error(c)
			}
		})
	}
}
