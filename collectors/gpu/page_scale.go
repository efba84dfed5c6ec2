package gpu

import (
	"math"

	"github.com/goodput-exporter/goodput-exporter/collectors/gpu/frame"
)

// ratioScale finds out what 1 of DCGM_FI_DEV_GPU_UTIL_RATIO is. Up to 4.8 the name is an alias of a field that counts
// percent; from 4.9 on it is a share of 1. The names of the memory families changed with it.
type ratioScale struct {
	bytes, mebibytes   bool // families of memory in this unit are there
	fraction, aboveOne bool // such values are there
}

func (s *ratioScale) see(id int) {
	switch id {
	case 1625, 1626, 1627, 1628:
		s.bytes = true
	case frame.FieldMemoryTotal, frame.FieldMemoryFree, frame.FieldMemoryUsed, frame.FieldMemoryReserved:
		s.mebibytes = true
	}
}

func (s *ratioScale) value(v float64) {
	s.fraction = s.fraction || v != math.Trunc(v)
	s.aboveOne = s.aboveOne || v > 1 && v <= 100
}

// divisor is 1 for a share, 100 for percent and 0 where nothing decides. Percents are whole numbers.
func (s *ratioScale) divisor() float64 {
	switch {
	case s.bytes:
		return 1
	case s.mebibytes:
		return 100
	case s.fraction && !s.aboveOne:
		return 1
	case s.aboveOne && !s.fraction:
		return 100
	}
	return 0
}
