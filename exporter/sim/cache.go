package sim

// prefix is the beginning of a prompt that several requests have in common, as it lies in a rank's prefix cache. Only
// whole blocks can be shared. It comes and goes as a whole, where vLLM adds and evicts single blocks. What a single
// request leaves behind is not modelled: only its n=2 twin, or itself after a preemption, could find it again.
type prefix struct {
	name   string
	tokens int     // of the shared beginning, whole blocks only
	blocks int     // of the cache, once it is there; 0 before
	users  int     // running sequences that hold it
	used   float64 // when it was last let go: the oldest is evicted first
}

// lookup finds how many tokens of a sequence the cache holds, and takes hold of them. They are never all: vLLM computes at
// least the last one, whose output is wanted, and a prompt is longer than what it has in common with others (Mix.draw).
func (r *rank) lookup(s *sequence) int {
	group := s.request.drawn.prefix
	if group.tokens == 0 || r.endpoint.config.NoPrefixCache {
		return 0
	}
	p := r.prefixes[group.name]
	if p == nil {
		p = &prefix{name: group.name, tokens: group.tokens / r.endpoint.config.BlockSize * r.endpoint.config.BlockSize}
		r.prefixes[group.name] = p
	}
	if p.tokens == 0 { // less than a block
		return 0
	}
	s.prefix = p
	if p.blocks == 0 {
		return 0 // it will be there when somebody computes it
	}
	p.users++
	s.sharing = true
	return p.tokens
}

// share hands a prefix over to the cache. vLLM does so when it plans the step that computes the prefix's last block: the
// next sequence of the same step can use it already. Nobody else can have been faster: a sequence that is in the middle of
// its prompt takes all that is left of the budget, so none comes in behind it.
func (r *rank) share(s *sequence) {
	p := s.prefix
	p.blocks = p.tokens / r.endpoint.config.BlockSize
	p.users = 1
	s.blocks -= p.blocks
	s.sharing = true
}

// allocate gives a sequence the blocks that it needs for a number of tokens, at the cost of prefixes that nobody holds.
func (r *rank) allocate(s *sequence, tokens int) bool {
	size, have := r.endpoint.config.BlockSize, s.blocks
	if s.sharing {
		have += s.prefix.blocks
	}
	if tokens <= have*size {
		return true
	}
	need := (tokens+size-1)/size - have
	if r.free < need && r.free+r.evictable() < need {
		return false
	}
	for r.free < need {
		r.evict()
	}
	r.free -= need
	s.blocks += need
	return true
}

// release takes a sequence's blocks back.
func (r *rank) release(s *sequence) {
	r.free += s.blocks
	s.blocks = 0
	if s.sharing {
		s.prefix.users--
		s.prefix.used = r.endpoint.world.now
		s.sharing = false
	}
	s.prefix = nil
}

// decline undoes a lookup for a sequence that could not be admitted. The prefix has not been used, so it gets no younger.
func (r *rank) decline(s *sequence) {
	if s.sharing {
		s.prefix.users--
		s.sharing = false
	}
	s.prefix = nil
}

// evictable is the number of blocks that are cached and held by nobody.
func (r *rank) evictable() int {
	n := 0
	for _, p := range r.prefixes {
		if p.users == 0 {
			n += p.blocks
		}
	}
	return n
}

// evict frees the prefix that nobody has held for the longest time.
func (r *rank) evict() {
	var oldest *prefix
	for _, p := range r.prefixes {
		if p.users > 0 || p.blocks == 0 {
			continue
		}
		if oldest == nil || p.used < oldest.used || (p.used == oldest.used && p.name < oldest.name) {
			oldest = p
		}
	}
	r.free += oldest.blocks
	oldest.blocks = 0
}

// usage is the share of KV blocks that running sequences hold; what is only cached counts as free, as in vLLM.
func (r *rank) usage() float64 {
	total := r.endpoint.config.Blocks
	return float64(total-r.free-r.evictable()) / float64(total)
}
