// Package kubernetes knows the engines among the pods of a node, or of a cluster, and where the node's dcgm-exporter is.
package kubernetes
