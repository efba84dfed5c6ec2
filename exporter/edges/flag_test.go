package edges

import (
	"encoding/json"
	"os/exec"
	"reflect"
	"testing"

	"github.com/goodput-exporter/goodput-exporter/exporter/fact"
	"github.com/goodput-exporter/goodput-exporter/exporter/slo"
)

// TestJSONIsWhatItWasMadeFrom reads the value of the option with another reader.
func TestJSONIsWhatItWasMadeFrom(t *testing.T) {
	lists := For([]slo.Objective{promise(at(fact.TTFT, 0.001), at(fact.TPOT, 0.02), at(fact.E2E, 86400))}, vllmEdges())
	var got map[string][]float64
	if err := json.Unmarshal([]byte(JSON(lists)), &got); err != nil {
		t.Fatal(err)
	}
	want := map[string][]float64{}
	for _, l := range lists {
		want[l.Name] = l.Edges
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("read %v, want %v", got, want)
	}
	if JSON(nil) != "{}" || Flag(nil) != "" {
		t.Errorf("no lists are %q and %q", JSON(nil), Flag(nil))
	}
}

// TestQuotedWordsAreTheShellsWords asks a shell what it makes of each word.
func TestQuotedWordsAreTheShellsWords(t *testing.T) {
	shell, err := exec.LookPath("sh")
	if err != nil {
		t.Skip("there is no POSIX shell here")
	}
	for _, word := range []string{"", "plain", "http://127.0.0.1:4318/v1/traces", `{"a":[1,2]}`, "it's", "''", "$HOME `id` \\ \"x\"", "a\nb", "*", "~", "-n", "#", "é", "{a,b}"} {
		out, err := exec.Command(shell, "-c", "printf %s "+Quote(word)).CombinedOutput()
		if err != nil || string(out) != word {
			t.Errorf("%q is written %s, which the shell reads as %q (%v)", word, Quote(word), out, err)
		}
	}
	if Quote("http://h:1/p?") == "http://h:1/p?" {
		t.Error("a pattern of the shell is left bare")
	}
}

func TestOlder(t *testing.T) {
	for name, c := range map[string]struct {
		a, b string
		want bool
	}{
		"number by number":    {"0.8.3", "0.11", true},
		"the same":            {"0.31", "0.31", false},
		"a missing part is 0": {"0.31", "0.31.0", false},
		"a later patch":       {"0.31", "0.31.1", true},
		"newer":               {"0.32", "0.31", false},
		"a release candidate stands for a release": {"0.31rc1", "0.31", false},
		"a word is new":                       {"main", "0.31", false},
		"a number beyond all versions is new": {"99999999999999999999", "0.31", false},
	} {
		t.Run(name, func(t *testing.T) {
			if got := Older(c.a, c.b); got != c.want {
				t.Errorf("%v", got)
			}
		})
	}
}

func TestFixedEdgesWereLengthenedOnce(t *testing.T) {
	for name, c := range map[string]struct {
		version   string
		ttft, lat float64 // last edges
	}{
		"before 0.8.4": {"0.8.3", 10, 60}, "since": {"0.8.4", 2560, 7680},
	} {
		t.Run(name, func(t *testing.T) {
			own := Fixed(c.version, vllmEdges())
			if l := own[fact.TTFT]; l[len(l)-1] != c.ttft {
				t.Errorf("ttft ends at %v", l[len(l)-1])
			}
			if l := own[fact.Queue]; l[len(l)-1] != c.lat {
				t.Errorf("queue ends at %v", l[len(l)-1])
			}
		})
	}
	if n := Lines(nil, vllmEdges()); n != 23+2*20+5*22 {
		t.Errorf("vLLM's own edges take %d lines", n)
	}
}
