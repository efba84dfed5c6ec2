package gpu

import (
	"context"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/goodput-exporter/goodput-exporter/exporter/fact"
)

// filePrefix is how the device file of a card is called, before its number.
const filePrefix = "nvidia"

// fileName is a name if a card's device file is called so, else "".
func fileName(name string) string {
	number, is := strings.CutPrefix(name, filePrefix)
	if n, err := strconv.Atoi(number); !is || err != nil || n < 0 || n > 999 || strconv.Itoa(n) != number {
		return ""
	}
	return name
}

// Files is a Source that remembers which card had which device file by the newest reading: device plugins that call a card
// by its file's name (GKE's) say no UUID. It knows nothing while the newest reading is missing, failed or old, since a wrong
// card is worse than none.
type Files struct {
	Source
	limit time.Duration

	mu    sync.Mutex
	cards map[string]string // UUID of a card by its file, and of an instance by that and its number; "" where it is not certain
	at    time.Time
}

// NewFiles makes a source remember. A reading holds for limit.
func NewFiles(s Source, limit time.Duration) *Files { return &Files{Source: s, limit: limit} }

// Read reads the source and remembers what it says.
func (f *Files) Read(ctx context.Context) fact.GPUReading {
	r := f.Source.Read(ctx)
	cards := filesOf(r.GPUs)
	f.mu.Lock()
	defer f.mu.Unlock()
	f.cards, f.at = cards, time.Now()
	return r
}

// Card returns the UUID of the card whose device file has a number, or of an instance of it by the instance's number; the
// instance is "" for the card itself.
func (f *Files) Card(number int, instance string) (uuid string, ok bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	file := filePrefix + strconv.Itoa(number)
	if f.cards[file] == "" || time.Since(f.at) > f.limit { // an instance is no more certain than its card
		return "", false
	}
	uuid = f.cards[fileKey(file, instance)]
	return uuid, uuid != ""
}

func fileKey(file, instance string) string {
	if instance == "" {
		return file
	}
	return file + "/" + instance
}

// filesOf is who has which file. A card that is lost has none: its file may be another's by now. Where two say that they
// have one, neither does.
func filesOf(gpus []fact.GPU) map[string]string {
	cards := map[string]string{}
	for i := range gpus {
		g := &gpus[i]
		if g.File == "" || g.Lost {
			continue
		}
		key := fileKey(g.File, g.Instance)
		if _, taken := cards[key]; taken {
			cards[key] = ""
			continue
		}
		cards[key] = g.UUID
	}
	return cards
}

// BrokenFiles are those of the source below.
func (f *Files) BrokenFiles() []string { return brokenFiles(f.Source) }

// BrokenFiles are those of the page, whether it is the choice or not: it is looked at in any case.
func (a *Auto) BrokenFiles() []string { return brokenFiles(a.page) }

func brokenFiles(s Source) []string {
	if b, ok := s.(interface{ BrokenFiles() []string }); ok {
		return b.BrokenFiles()
	}
	return nil
}
