package boards

import (
	"bytes"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"

	"github.com/goodput-exporter/goodput-exporter/collectors/engine"
	"github.com/goodput-exporter/goodput-exporter/collectors/gpu"
	"github.com/goodput-exporter/goodput-exporter/collectors/spans"
	serving "github.com/goodput-exporter/goodput-exporter/exporter"
	"github.com/goodput-exporter/goodput-exporter/exporter/config"
	"github.com/goodput-exporter/goodput-exporter/exporter/fact"
	"github.com/goodput-exporter/goodput-exporter/exporter/fold"
	"github.com/goodput-exporter/goodput-exporter/exporter/sim"
	"github.com/goodput-exporter/goodput-exporter/exporter/slo"
)

// simulatedNode is the world of a node whose GPUs are simulated: its engines are polled, and so are a dcgm-exporter's page and
// a kubelet.
const simulatedNode = "a simulated node with GPUs"

const (
	nodeStart  = 1.8e9 // unix seconds; a multiple of the scrape interval
	nodeLength = 1500  // seconds
	nodePoll   = 5     // seconds
	nodeSample = 30    // seconds between two samples of the dcgm-exporter: its default
	nodeSoon   = 1e-6  // by how much later than a sample the truth is asked for, since unix seconds have not all the digits

	nodeHour, nodeKWh = 2, 0.25 // EUR
)

// node is a world while it is watched, and what is true of it.
type node struct {
	world *sim.World
	cfg   config.Config
	state *fold.State
	pages map[string]*engine.Decoder
	gpus  *gpu.Decoder
	spans *spans.Decoder
	came  []fact.Span // not yet in a round

	snapshot *fold.Snapshot
	registry *prometheus.Registry
	text     bytes.Buffer

	objective slo.Objective
	sequences map[string][]sim.Sequence // by engine
	samples   []nodeTruth               // when the dcgm-exporter looked at the GPUs
	committed []commit
}

// nodeTruth is what is true of the GPUs at a moment.
type nodeTruth struct {
	at   float64
	gpus []sim.GPU
}

// commit is a judgement window, and in which round it was committed.
type commit struct {
	at float64
	fold.Window
}

func newNode(t *testing.T) *node {
	t.Helper()
	n := &node{cfg: config.Default(), pages: map[string]*engine.Decoder{}, gpus: gpu.NewDecoder("", 0), sequences: map[string][]sim.Sequence{}, registry: prometheus.NewRegistry()}
	n.cfg.SLOs = []config.SLO{{
		Name: "chat", Objective: 0.95, Window: 720 * time.Hour, Policy: slo.DefaultPolicy(),
		Clauses: map[fact.Family]time.Duration{fact.TTFT: 120 * time.Millisecond, fact.TPOT: 17 * time.Millisecond},
	}}
	n.objective = n.cfg.Objectives()[0]
	n.spans = spans.NewDecoder(n.cfg.Spans.Names, nil, n.cfg.Spans.MaxMessage)
	c := nodeConfig()
	c.Truth = sim.Truth{Sequence: func(q sim.Sequence) { n.sequences[q.Engine] = append(n.sequences[q.Engine], q) }}
	c.Spans = func(m sim.Message) {
		batch, err := n.spans.Decode(spans.Message{Peer: m.Peer, Path: sim.SpansPath, ContentType: sim.SpansContentType, Body: m.Body, Received: m.At})
		if err != nil {
			t.Fatal(err)
		}
		n.came = append(n.came, batch.Spans...)
	}
	var err error
	if n.world, err = sim.New(c); err != nil {
		t.Fatal(err)
	}
	cost := fold.Cost{Currency: "EUR", PerGPUHour: nodeHour, PerKWhour: nodeKWh}
	n.state = fold.New(fold.Options{
		Objectives: n.cfg.Objectives(), Started: nodeStart, JudgementWindow: 60, Grids: n.cfg.Grids(), Stale: 3 * nodePoll, Stall: 60, Spans: true, Grace: 10,
		OnePrompt: n.cfg.Handlers.OnePrompt, ManyPrompts: n.cfg.Handlers.ManyPrompts, GPUStale: 3 * nodePoll, EngineGPUs: n.named(), Cost: cost,
	})
	n.registry.MustRegister(serving.NewSnapshotCollector(serving.SnapshotConfig{Started: nodeStart, Published: func() serving.Published {
		return serving.Published{Snapshot: n.snapshot, Objectives: n.cfg.Objectives(), Cost: cost}
	}}))
	return n
}

// watch lets time pass, and the exporter watch. What a scrape would have brought is written down.
func (n *node) watch(t *testing.T) {
	t.Helper()
	for at := float64(nodeStart) + nodePoll; at <= nodeStart+nodeLength; at += nodePoll {
		if next := n.world.GPUSampled() + nodeSample; n.world.GPUSampled() > nodeStart && next <= at {
			n.world.Run(next + nodeSoon)
			if math.Abs(n.world.GPUSampled()-next) > nodeSoon {
				t.Fatalf("the sample that is due at %v was taken at %v", next, n.world.GPUSampled())
			}
			n.samples = append(n.samples, nodeTruth{next, n.world.GPUs()})
		}
		n.world.Run(at)
		n.round(t, at)
		if math.Mod(at, scrape) == 0 {
			n.scrape(t, at)
		}
	}
	n.text.WriteString("# EOF\n")
}

func (n *node) round(t *testing.T, at float64) {
	t.Helper()
	const took = 0.005
	r := fold.Round{At: at + took}
	for _, id := range n.world.Engines() {
		r.Targets = append(r.Targets, fact.Target{ID: id, Labels: map[string]string{"pod_name": id, "pod_namespace": "serving"}})
		r.Polls = append(r.Polls, n.poll(t, id, at, at+took))
	}
	reading := n.gpus.Decode(n.world.GPUPage(sim.GPURegime48), at)
	if reading.Reason != "" || len(reading.Warnings) > 0 {
		t.Fatalf("at %v the page of the GPUs is read as %s: %s %q", at, reading.Reason, reading.Detail, reading.Warnings)
	}
	r.GPUs, r.Claims = &reading, n.claims(at)
	r.Spans, n.came = n.came, nil
	n.snapshot = n.state.Apply(r)
	for _, w := range n.snapshot.Windows {
		n.committed = append(n.committed, commit{at, w})
	}
}

func (n *node) poll(t *testing.T, id string, sent, received float64) fact.Poll {
	t.Helper()
	p := fact.Poll{Target: id, Sent: sent, Received: received}
	body, up := n.world.Page(id)
	if !up {
		p.Reason, p.Detail = fact.ReasonRefused, "connection refused"
		return p
	}
	if n.pages[id] == nil {
		n.pages[id] = engine.NewDecoder()
	}
	var err error
	if p.Sample, err = n.pages[id].Decode(body, n.world.ContentType(id)); err != nil {
		t.Fatal(err)
	}
	return p
}

// scrape writes down the counters and gauges. Histograms are left out: boards of GPUs have none.
func (n *node) scrape(t *testing.T, at float64) {
	t.Helper()
	gathered, err := n.registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	ms := int64(at * 1000)
	for _, f := range gathered {
		if f.GetType() == dto.MetricType_HISTOGRAM {
			continue
		}
		for _, m := range f.Metric {
			m.TimestampMs = &ms
		}
		if _, err := expfmt.MetricFamilyToOpenMetrics(&n.text, f); err != nil {
			t.Fatal(err)
		}
	}
}

// sampleAt is the truth of the sample that was shown at a time.
func (n *node) sampleAt(at float64) (s nodeTruth, ok bool) {
	i := slices.IndexFunc(n.samples, func(s nodeTruth) bool { return s.at > at })
	if i < 0 {
		i = len(n.samples)
	}
	if i < 1 {
		return s, false
	}
	return n.samples[i-1], true
}
