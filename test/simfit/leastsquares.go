package main

import "math"

// system collects weighted equations in a few unknowns, for the solution with the smallest sum of squares.
type system struct {
	a [][]float64 // normal matrix
	b []float64
}

func newSystem(unknowns int) *system {
	s := &system{b: make([]float64, unknowns)}
	for range unknowns {
		s.a = append(s.a, make([]float64, unknowns))
	}
	return s
}

// add says that the sum of coefficients times unknowns should be a value.
func (s *system) add(weight, value float64, coefficients ...float64) {
	for i, c := range coefficients {
		for j, d := range coefficients {
			s.a[i][j] += weight * c * d
		}
		s.b[i] += weight * c * value
	}
}

// solve eliminates, largest pivot first. It uses the system up. An unknown that no equation has is 0.
func (s *system) solve() []float64 {
	n := len(s.b)
	for i := range n {
		p := i
		for k := i + 1; k < n; k++ {
			if math.Abs(s.a[k][i]) > math.Abs(s.a[p][i]) {
				p = k
			}
		}
		s.a[i], s.a[p], s.b[i], s.b[p] = s.a[p], s.a[i], s.b[p], s.b[i]
		if s.a[i][i] == 0 {
			continue
		}
		for k := i + 1; k < n; k++ {
			f := s.a[k][i] / s.a[i][i]
			for j := i; j < n; j++ {
				s.a[k][j] -= f * s.a[i][j]
			}
			s.b[k] -= f * s.b[i]
		}
	}
	x := make([]float64, n)
	for i := n - 1; i >= 0; i-- {
		v := s.b[i]
		for j := i + 1; j < n; j++ {
			v -= s.a[i][j] * x[j]
		}
		if s.a[i][i] != 0 {
			x[i] = v / s.a[i][i]
		}
	}
	return x
}
