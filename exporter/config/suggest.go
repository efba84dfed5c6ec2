package config

import "strings"

// unknown notes a name that does not exist, with the one that was probably meant.
func (r *reader) unknown(e entry, what string, known []string) bool {
	if r.count > maxMistakes { // it will not be listed: save the search
		return r.add(e.line, e.path, "", "")
	}
	return r.add(e.line, e.path, "is not a known "+what, didYouMean(e.name, known))
}

func didYouMean(name string, known []string) string {
	if best := closest(name, known); best != "" {
		return "did you mean " + best + "?"
	}
	return "known here: " + strings.Join(known, ", ")
}

// closest returns the known name that the fewest edits lead to, "" when even that is another word altogether.
func closest(name string, known []string) string {
	best, least := "", 1+min(3, len(name)/3+1)
	if len(name) > 64 {
		return ""
	}
	for _, k := range known {
		if d := edits(strings.ToLower(name), k); d < least {
			best, least = k, d
		}
	}
	return best
}

// edits is the number of insertions, deletions and replacements of a byte between two words (Levenshtein 1965).
func edits(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			replace := diagonal
			if a[i] != b[j] {
				replace++
			}
			diagonal = row[j+1]
			row[j+1] = min(replace, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
