package hist

// Native is a histogram of the values themselves on Prometheus's exponential buckets: bucket i of schema s holds the
// values in (base^(i-1), base^i] with base = 2^(2^-s).
//
// Source: the native histogram specification of Prometheus, https://prometheus.io/docs/specs/native_histograms/.
type Native struct {
	Schema        int32
	ZeroThreshold float64 // values up to it are counted in Zero
	Zero          uint64
	First         int32    // index of Buckets[0]
	Buckets       []uint64 // not cumulative
	Sum           float64
	Count         uint64
}
