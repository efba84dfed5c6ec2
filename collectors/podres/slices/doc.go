// Package slices knows which GPU a device of Dynamic Resource Allocation is, from the node's ResourceSlices.
package slices
