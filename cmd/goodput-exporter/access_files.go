package main

import "slices"

// brokenFiles counts the files of all accesses (engines', the GPUs' page's, and the receivers' of spans) that could not be
// used when they were last needed, and logs those that were not among them before. s.mu must be held.
func (s *served) brokenFiles(ofSpans []string) int {
	broken := slices.Concat(s.now.fetcher.BrokenFiles(), s.now.gpus.brokenFiles(), ofSpans)
	slices.Sort(broken)
	broken = slices.Compact(broken)
	for _, path := range broken {
		if !slices.Contains(s.broken, path) {
			s.log.Warn("A file with a token, password, certificate or key cannot be used: what it held before is, if it could be used before", "file", path)
		}
	}
	for _, path := range s.broken {
		if !slices.Contains(broken, path) {
			s.log.Info("A file with a token, password, certificate or key can be used again, or is not needed any more", "file", path)
		}
	}
	s.broken = broken
	return len(broken)
}

// brokenFiles are those of the source.
func (g *gpuSources) brokenFiles() []string {
	if g == nil || g.source == nil {
		return nil
	}
	if b, ok := g.source.(interface{ BrokenFiles() []string }); ok {
		return b.BrokenFiles()
	}
	return nil
}
