package slo

import "slices"

// network is a directed graph with integer capacities and its maximum flow, by Dinic's algorithm (Dinic 1970:
// shortest augmenting paths, level by level) after a greedy start. Nodes and arcs are numbers in flat slices, which are
// kept between uses, so that a warm network allocates nothing. Arc i and its reverse i^1 are neighbours, the even one
// as it was laid; room holds what is left of each capacity.
type network struct {
	head           []int32 // first arc out of each node; -1 none
	to, room, next []int32 // by arc
	level          []int32 // arcs that a node is away from the sink; -1 unknown
	at             []int32 // the arc out of each node to try next
	queue          []int32
	path           []int32 // arcs from the source to where the search stands
}

// unbounded is the capacity of an arc that never binds; twice its value still fits an int32.
const unbounded = 1 << 29

func (g *network) reset() {
	g.head, g.to, g.room, g.next = g.head[:0], g.to[:0], g.room[:0], g.next[:0]
}

func (g *network) node() int32 {
	g.head = append(g.head, -1)
	return int32(len(g.head) - 1)
}

// arc adds an arc and returns its number. An arc of no capacity is worth adding only if grant raises it later.
func (g *network) arc(from, to, capacity int32) int32 {
	i := int32(len(g.to))
	g.to = append(g.to, to, from)
	g.room = append(g.room, capacity, 0)
	g.next = append(g.next, g.head[from], g.head[to])
	g.head[from], g.head[to] = i, i+1
	return i
}

// through adds a node of limited throughput: what enters at in leaves at out.
func (g *network) through(capacity int32) (in, out int32) {
	in, out = g.node(), g.node()
	g.arc(in, out, capacity)
	return in, out
}

// grant raises the capacity of an arc; a flow found before stays a flow, and augment continues from it.
func (g *network) grant(arc, capacity int32) { g.room[arc] += capacity }

// augment adds the largest flow that the remaining capacities admit and returns its value. The laid arcs must form no
// cycle. Most of the flow is found in one pass along laid arcs alone, where the levels would take one pass for each
// length of path.
func (g *network) augment(source, sink int32) int {
	g.at = append(g.at[:0], g.head...)
	total := g.block(source, sink, true)
	for g.measure(source, sink) {
		total += g.block(source, sink, false)
	}
	return total
}

// measure finds how far nodes are from the sink over arcs with room, up to the source's distance, and reports whether
// the source reaches the sink. Measuring from the sink keeps the search out of dead ends.
func (g *network) measure(source, sink int32) bool {
	n := len(g.head)
	g.level = slices.Grow(g.level[:0], n)[:n]
	for i := range g.level {
		g.level[i] = -1
	}
	g.level[sink] = 0
	g.queue = append(g.queue[:0], sink)
	for k := 0; k < len(g.queue) && g.level[source] < 0; k++ {
		u := g.queue[k]
		for i := g.head[u]; i >= 0; i = g.next[i] {
			if v := g.to[i]; g.level[v] < 0 && g.room[i^1] > 0 {
				g.level[v] = g.level[u] + 1
				g.queue = append(g.queue, v)
			}
		}
	}
	g.at = append(g.at[:0], g.head...)
	return g.level[source] >= 0
}

// block saturates every path of admissible arcs: arcs with room that were laid, or that come one nearer to the sink.
// It walks with an explicit path instead of recursion, because a chain of slices may be long.
func (g *network) block(source, sink int32, laid bool) int {
	total := 0
	g.path = g.path[:0]
	for u := source; ; {
		if u == sink {
			total += int(g.push())
			u = source
			if len(g.path) > 0 {
				u = g.to[g.path[len(g.path)-1]]
			}
			continue
		}
		i := g.at[u]
		for i >= 0 && !(g.room[i] > 0 && (laid && i&1 == 0 || !laid && g.level[g.to[i]] == g.level[u]-1)) {
			i = g.next[i]
		}
		g.at[u] = i
		switch {
		case i >= 0:
			g.path = append(g.path, i)
			u = g.to[i]
		case len(g.path) == 0:
			return total
		default: // a dead end: go back one arc, and do not take it again
			last := g.path[len(g.path)-1]
			g.path = g.path[:len(g.path)-1]
			u = g.to[last^1]
			g.at[u] = g.next[last]
		}
	}
}

// push sends what the path holds and shortens it to before its first saturated arc.
func (g *network) push() int32 {
	flow := int32(unbounded)
	for _, i := range g.path {
		flow = min(flow, g.room[i])
	}
	keep := -1
	for k, i := range g.path {
		g.room[i] -= flow
		g.room[i^1] += flow
		if keep < 0 && g.room[i] == 0 {
			keep = k
		}
	}
	g.path = g.path[:keep]
	return flow
}
