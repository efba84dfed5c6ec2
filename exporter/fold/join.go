package fold

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/goodput-exporter/goodput-exporter/exporter/fact"
)

// joined is what GPUs an engine has by the newest join.
type joined struct {
	join         string
	gpus         []*gpu // cards before their instances, each once
	partial, why string
}

// join finds out which GPUs belong to which engine, anew in each round: it is a relation, for one engine may have many
// GPUs and several engines may share one. Each engine is asked for by the best evidence that there is of it; what does
// not decide is not guessed.
func (s *State) join(at float64) {
	n := &s.gpus
	for _, g := range n.visible {
		g.engines, g.join, g.shared, g.owner = nil, JoinUnmatched, false, nil
	}
	var current []*engine
	for _, id := range s.ids() {
		e := s.engines[id]
		e.gpus.joined = joined{}
		if !e.gone {
			current = append(current, e)
		}
	}
	claims := n.claimants(current, at)
	ambiguous := false
	for _, e := range current {
		e.gpus.joined = s.joinEngine(e, claims, len(current), at)
		ambiguous = ambiguous || e.gpus.join == JoinAmbiguous
		for _, g := range e.gpus.gpus {
			if len(g.engines) == 0 || joinRank(e.gpus.join) < joinRank(g.join) {
				g.join = e.gpus.join
			}
			g.engines = append(g.engines, e.target.ID)
		}
	}
	n.conflicts = 0
	for _, g := range n.visible {
		holders, conflict := claims.holders(g.told.UUID)
		if conflict {
			n.conflicts++
		}
		g.shared = holders > 1 || len(g.engines) > 1
		if ambiguous && len(g.engines) == 0 && !n.split(g) {
			g.join = JoinAmbiguous
		}
	}
	n.shareCards()
	for _, e := range current {
		e.own(at, s.opts.GPUStale)
	}
}

// joinRank is the place of a join in the order of trying.
func joinRank(join string) int { return slices.Index([]string{JoinUUID, JoinPod, JoinOnly}, join) }

// joinEngine asks for the GPUs of one of so many engines.
func (s *State) joinEngine(e *engine, claims *claimants, engines int, at float64) (j joined) {
	n := &s.gpus
	mine := claims.of[e]
	switch named := s.opts.EngineGPUs[e.target.ID]; {
	case len(n.visible) == 0:
		return joined{join: JoinUnmatched, why: "no GPU is known"}
	case len(named) > 0:
		j = n.joinNamed(named)
	case len(mine) > 0:
		j = n.joinPod(&e.target, mine)
	case engines == 1 && len(claims.all) == 0 && !n.untold(at) && n.nodes() <= 1:
		j = joined{join: JoinOnly, gpus: slices.DeleteFunc(slices.Clone(n.visible), n.split)}
	default:
		return n.unjoined(&e.target, claims, engines, at)
	}
	if len(j.gpus) > 0 {
		j.partial = also(j.partial, elsewhere(&e.target))
	}
	return j
}

// joinNamed joins by the configuration.
func (n *gpuState) joinNamed(uuids []string) joined {
	j := joined{join: JoinUUID}
	var absent []string
	for _, uuid := range uuids {
		if !j.add(n.shown(uuid)) {
			absent = append(absent, uuid)
		}
	}
	if len(absent) == 0 {
		return j.sorted()
	}
	why := "the configuration names " + some(absent) + ", which the source of readings does not have"
	if len(j.gpus) == 0 {
		return joined{join: JoinUnmatched, why: why}
	}
	j.partial = why
	return j.sorted()
}

// shown is a GPU that is told of; nil for another.
func (n *gpuState) shown(uuid string) *gpu {
	if g := n.known[uuid]; g != nil && slices.Contains(n.visible, g) {
		return g
	}
	return nil
}

// add adds a GPU, unless it is there; false for none.
func (j *joined) add(g *gpu) bool {
	if g != nil && !slices.Contains(j.gpus, g) {
		j.gpus = append(j.gpus, g)
	}
	return g != nil
}

func (j joined) sorted() joined {
	slices.SortFunc(j.gpus, compareGPUs)
	return j
}

// split reports whether a GPU is a card whose instances are told of: it is them that are held, not the card.
func (n *gpuState) split(card *gpu) bool {
	return slices.ContainsFunc(n.visible, func(g *gpu) bool { return g.told.Card != "" && g.told.Card == card.told.UUID })
}

// nodes is how many nodes the GPUs are of, as far as is told: a page may be that of a whole cluster.
func (n *gpuState) nodes() int {
	var names []string
	for _, g := range n.visible {
		if g.told.Node != "" && !slices.Contains(names, g.told.Node) {
			names = append(names, g.told.Node)
		}
	}
	return len(names)
}

// shareCards marks a card that is an engine's while instances of it are another's.
func (n *gpuState) shareCards() {
	for _, part := range n.visible {
		card := n.shown(part.told.Card)
		if card == nil || len(card.engines) == 0 {
			continue
		}
		if part.shared || slices.ContainsFunc(part.engines, func(id string) bool { return !slices.Contains(card.engines, id) }) {
			card.shared = true
		}
	}
}

// Labels of targets that say that an engine is spread over nodes.
const (
	labelNodes      = "goodput_nodes" // how many nodes
	labelGroupSize  = "lws_size"      // pods of a LeaderWorkerSet's group: its annotation leaderworkerset.sigs.k8s.io/size
	labelRayCluster = "ray_cluster"   // the name of a Ray cluster
)

// elsewhere says why GPUs of an engine may be on other nodes; "" when nothing says so.
func elsewhere(t *fact.Target) string {
	for _, label := range [...]string{labelNodes, labelGroupSize} {
		if n, err := strconv.Atoi(t.Labels[label]); err == nil && n > 1 {
			return fmt.Sprintf("the engine is spread over %d nodes or pods (its target's label %s), and the GPUs of the others are not seen from here", n, label)
		}
	}
	if name := t.Labels[labelRayCluster]; name != "" {
		return fmt.Sprintf("the engine is of a Ray cluster (its target's label %s), which may have GPUs that are not seen from here", labelRayCluster)
	}
	return ""
}

// also joins what is said of one thing.
func also(a, b string) string {
	if a == "" || b == "" {
		return a + b
	}
	return a + "; " + b
}

// some lists names for a person: the first few.
func some(names []string) string {
	const few = 3
	if len(names) > few {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:few], ", "), len(names)-few)
	}
	return strings.Join(names, ", ")
}
