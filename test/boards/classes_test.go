package boards

import "math"

// classSums is what a column of the table of classes says.
func classSums(windows []window, ref string) (map[string]float64, bool) {
	of := map[string]func(seen, unseen, lower, upper, tokens float64) float64{
		"A": func(seen, _, _, _, _ float64) float64 { return seen },
		"B": func(seen, unseen, _, _, _ float64) float64 { return seen + unseen },
		"C": func(seen, unseen, lower, _, _ float64) float64 { return lower / (seen + unseen) },
		"D": func(seen, unseen, _, upper, _ float64) float64 { return upper / (seen + unseen) },
		"E": func(_, _, _, _, tokens float64) float64 { return tokens },
	}[ref]
	sums := map[string][5]float64{}
	for _, w := range windows {
		for _, c := range w.Classes {
			s := sums[name(w.SLO, c.Class)]
			for i, v := range []float64{c.Seen, c.Unseen, c.Lower, c.Upper, c.TokensLower} {
				s[i] += v
			}
			sums[name(w.SLO, c.Class)] = s
		}
	}
	expected := map[string]float64{}
	for key, s := range sums {
		if v := of(s[0], s[1], s[2], s[3], s[4]); !math.IsNaN(v) { // nothing was of the class
			expected[key] = v
		}
	}
	return expected, true
}
