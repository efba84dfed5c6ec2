package main

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/goodput-exporter/goodput-exporter/exporter/fact"
	"github.com/goodput-exporter/goodput-exporter/exporter/sim"
)

// life is an engine's container from its start to its end, with the truth about it.
type life struct {
	world     *sim.World
	answers   float64 // from when on, unix seconds: until then its model is loaded
	sequences []sim.Sequence
	pages     []renderedPage
}

// dayPod is a pod of the day.
type dayPod struct {
	testPod
	*life
	dead bool // it has failed, and is still in the API
}

func (p *dayPod) id() string      { return fmt.Sprintf("%s.%s:%d", p.namespace, p.name, p.ports[0]) }
func (p *dayPod) address() string { return fmt.Sprintf("%s:%d", p.ip, p.ports[0]) }

// nodeDay is the life of a node.
type nodeDay struct {
	*node
	rng   *rand.Rand
	pods  []*dayPod // in the API now
	lives map[string][]*life
	born  int
	away  bool // the API server does not answer

	mu      sync.Mutex
	serving map[string]*life // by address
	at      float64          // moment that pages are of

	starts, ends, failures, moves, reused, reloads, outages int
}

// begin starts a container: a world of its own, which begins now and answers once its model is loaded.
func (d *nodeDay) begin(p *dayPod) {
	l := &life{answers: d.now + 30 + 300*d.rng.Float64()}
	d.born++
	e := sim.Engine{ID: "a", Model: sim.ChatModel, Step: sim.H100, MaxSeqs: 64, Torn: 0.01}
	c := sim.Config{
		Seed: uint64(d.born), Start: l.answers, Engines: []sim.Engine{e},
		Loads: []sim.Load{{Name: "a", Engines: []string{"a"}, Rate: sim.Constant(0.2 + 0.3*d.rng.Float64()), Mix: sim.Chat}},
		Truth: sim.Truth{Sequence: func(q sim.Sequence) { l.sequences = append(l.sequences, q) }},
	}
	if d.rng.IntN(3) == 0 {
		c.Outages = []sim.Outage{{Engine: "a", After: 900, Every: 4000, Down: 90, Crash: true}}
	}
	world, err := sim.New(c)
	if err != nil {
		d.t.Fatal(err)
	}
	l.world = world
	p.life = l
	d.lives[p.id()] = append(d.lives[p.id()], l)
	d.mu.Lock()
	d.serving[p.address()] = l
	d.mu.Unlock()
	d.cluster.serve(p.address(), func(w http.ResponseWriter, _ *http.Request) { d.answer(w, p.address()) })
}

// answer is what is at an address now.
func (d *nodeDay) answer(w http.ResponseWriter, address string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	l := d.serving[address]
	if l == nil || d.at < l.answers {
		http.Error(w, "nothing listens", http.StatusBadGateway)
		return
	}
	l.world.Run(d.at)
	body, up := l.world.Page("a")
	if !up {
		http.Error(w, "nothing listens", http.StatusBadGateway)
		return
	}
	w.Header().Set("Content-Type", l.world.ContentType("a"))
	_, _ = w.Write(body)
}

// start has a pod come; name "" is a new name.
func (d *nodeDay) start(name string, port int) {
	d.starts++
	if name == "" {
		name = fmt.Sprintf("acme-%d", d.starts)
	}
	p := &dayPod{testPod: testPod{
		namespace: "ml", name: name, uid: fmt.Sprintf("uid-%d", d.starts), ip: d.freeIP(), ports: []int{port}, notReady: true,
		started: time.Unix(int64(d.now), 0), owner: "StatefulSet/acme",
	}}
	d.pods = append(d.pods, p)
	d.begin(p)
	d.cluster.put(p.testPod)
}

// freeIP is one of few addresses, which come again and again: that of no pod that lives. One that has failed keeps its own in
// the API, and loses it all the same.
func (d *nodeDay) freeIP() string {
	for {
		ip := fmt.Sprintf("10.0.0.%d", 1+d.rng.IntN(5))
		if !slices.ContainsFunc(d.pods, func(p *dayPod) bool { return !p.dead && p.ip == ip }) {
			if slices.ContainsFunc(d.pods, func(p *dayPod) bool { return p.ip == ip }) {
				d.reused++
			}
			return ip
		}
	}
}

// end takes a pod's engine away; with fail the pod stays in the API as a failed one.
func (d *nodeDay) end(p *dayPod, fail bool) {
	d.mu.Lock()
	delete(d.serving, p.address())
	d.mu.Unlock()
	if fail {
		p.dead, p.phase = true, "Failed"
		d.cluster.put(p.testPod)
		d.failures++
		return
	}
	d.ends++
	p.deleted = true
	d.cluster.put(p.testPod)
	d.remove(p)
}

func (d *nodeDay) remove(p *dayPod) {
	d.pods = slices.DeleteFunc(d.pods, func(o *dayPod) bool { return o == p })
	d.cluster.remove(p.key())
}

// living are the pods with an engine.
func (d *nodeDay) living() (all []*dayPod) {
	for _, p := range d.pods {
		if !p.dead {
			all = append(all, p)
		}
	}
	return all
}

// happen does one of the things that happen on a node.
func (d *nodeDay) happen() {
	alive := d.living()
	var one *dayPod
	if len(alive) > 0 {
		one = alive[d.rng.IntN(len(alive))]
	}
	switch k := d.rng.IntN(10); {
	case one == nil || k < 3 && len(alive) < 4:
		d.start("", 8000)
	case k < 5:
		d.end(one, false)
	case k == 5:
		d.end(one, true)
	case k == 6: // a stateful set replaces its pod: the name stays, the port may move
		d.moves++
		d.end(one, false)
		d.start(one.name, 8000+d.rng.IntN(2))
	case k == 7:
		for _, p := range slices.Clone(d.pods) {
			if p.dead {
				d.remove(p)
			}
		}
	default:
		d.reloads++
		selector := []string{"app=vllm", "app in (vllm)", "app"}[d.rng.IntN(3)]
		d.configure(dayConfig + fmt.Sprintf("engines: {access: {proxy_url: %q}, kubernetes: {node: gpu-1, api: {server: %q}, selectors: [%q], ports: [http]}}\ngpu: {source: none}\n",
			d.cluster.network.URL, d.cluster.api.URL, selector))
	}
}

const dayConfig = "poll: {interval: 15s}\njudgement: {window: 60s}\nslos: [{name: all, clauses: {ttft: 1s, tpot: 25ms, e2e: 5s}, objective: 0.95}]\n"

// know waits until the exporter knows what lives, unless the API server is away.
func (d *nodeDay) know() {
	if d.away {
		return
	}
	ready := map[string]bool{}
	var ids []string
	for _, p := range d.living() {
		if p.notReady && d.now > p.answers+20 {
			p.notReady = false
			d.cluster.put(p.testPod)
		}
		ids = append(ids, p.id())
		ready[p.id()] = !p.notReady
	}
	slices.Sort(ids)
	d.wait(fmt.Sprint("engines ", ids), func() bool {
		targets := d.generation.targets.Targets()
		for _, t := range targets {
			if ready[t.ID] == t.Starting {
				return false
			}
		}
		return slices.Equal(d.ids(), ids)
	})
}

// pass lets some time pass.
func (d *nodeDay) pass(seconds float64) {
	for end := d.now + seconds; d.now < end; {
		d.now += d.interval
		d.know()
		d.round()
	}
}

// TestADayOfANode: pods come, load their models, crash, fail, go, take each other's addresses and names, and move ports; the
// configuration is reloaded and the API server is away in between. Each window of each engine counts what its containers have
// truly finished between the window's pages, and together they leave nothing out that a page has shown.
func TestADayOfANode(t *testing.T) {
	computes(t)
	hours := 24.0
	if testing.Short() {
		hours = 4
	}
	c := newCluster(t)
	d := &nodeDay{rng: rand.New(rand.NewPCG(4, 8)), lives: map[string][]*life{}, serving: map[string]*life{}}
	d.node = watchNode(t, c, dayConfig+c.config(", ports: [http]"))
	d.node.page = func(target fact.Target) fact.Poll {
		d.mu.Lock()
		d.at = d.now + simPageTook/2
		d.mu.Unlock()
		return d.ask(target)
	}
	d.node.polled = func(target fact.Target, sent float64) {
		lives := d.lives[target.ID]
		l := lives[len(lives)-1]
		l.pages = append(l.pages, renderedPage{sent: sent, at: d.at, process: l.world.Process("a")})
	}
	unexplained, happened := 0, 0
	for end := d.now + hours*3600; d.now < end; {
		d.pass(60 + 900*d.rng.Float64())
		if d.away {
			d.away = false
			d.cluster.setDown(false)
			continue
		}
		if happened++; happened%50 == 20 {
			d.away = true
			d.outages++
			d.cluster.setDown(true)
		}
		d.happen()
		for i := range d.snapshot.Engines {
			if u := d.snapshot.Engines[i].Ledger.Unexplained; u.Known && u.Upper > 0 {
				unexplained++
			}
		}
	}
	for _, p := range d.living() {
		d.end(p, false)
	}
	d.pass(300)
	if len(d.snapshot.Engines) > 0 || unexplained > 0 {
		t.Errorf("%d engines are left on the page, %d ledgers have unexplained requests", len(d.snapshot.Engines), unexplained)
	}
	d.audit()
}

// audit holds all windows against the truth.
func (d *nodeDay) audit() {
	counted := map[string]uint64{}
	for _, w := range d.windows {
		in, known := d.within(w.Engine, w.Start, w.End)
		if !known {
			d.t.Errorf("%s (%.0f, %.0f]: ends at no page", w.Engine, w.Start-simStart, w.End-simStart)
			continue
		}
		if good := qualified(w.SLO, in); uint64(len(in)) != w.Sequences || good < w.Lower || good > w.Upper {
			d.t.Errorf("%s (%.0f, %.0f]: %d sequences in [%d, %d], in truth %d of %d", w.Engine, w.Start-simStart, w.End-simStart, w.Sequences, w.Lower, w.Upper, good, len(in))
		}
		counted[w.Engine] += w.Sequences
	}
	var all uint64
	for id, lives := range d.lives {
		var shown uint64
		for _, l := range lives {
			shown += l.shown()
		}
		if counted[id] != shown {
			d.t.Errorf("%s: windows count %d sequences, pages have shown %d", id, counted[id], shown)
		}
		all += shown
	}
	d.t.Logf("%d windows, %d sequences of %d engines; %d pods came, %d went, %d failed, %d were replaced under their name, %d took the address of the dead; %d reloads, %d outages of the API server",
		len(d.windows), all, len(d.lives), d.starts, d.ends, d.failures, d.moves, d.reused, d.reloads, d.outages)
	if !testing.Short() && (d.failures < 3 || d.moves < 3 || d.reused < 3 || d.reloads < 5 || d.outages < 2 || all < 5000) {
		d.t.Error("too little has happened")
	}
}

// shown counts the sequences that had ended when the last page of their process was rendered.
func (l *life) shown() (n uint64) {
	last := map[int]float64{}
	for _, p := range l.pages {
		last[p.process] = p.at
	}
	for _, q := range l.sequences {
		if q.Values.End <= last[q.Process] {
			n++
		}
	}
	return n
}

// within lists the sequences that ended between two pages of one process; from its birth where there is no page at the start.
func (d *nodeDay) within(id string, start, end float64) (in []sim.Sequence, known bool) {
	for _, l := range d.lives[id] {
		i := slices.IndexFunc(l.pages, func(p renderedPage) bool { return p.sent == end })
		if i < 0 {
			continue
		}
		to, process, from := l.pages[i].at, l.pages[i].process, 0.0
		for _, p := range l.pages[:i+1] {
			if p.sent == start && p.process == process {
				from = p.at
			}
		}
		for _, q := range l.sequences {
			if q.Process == process && q.Values.End > from && q.Values.End <= to {
				in = append(in, q)
			}
		}
		return in, true
	}
	return nil, false
}
