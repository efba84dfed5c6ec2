//go:build !race

package fold

// raced says that the race detector is on.
const raced = false
