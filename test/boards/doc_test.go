// Package boards asks the queries of the committed dashboards of a real Prometheus that holds replayed engines: recorded
// ones and simulated ones. It has tests only.
package boards
