// Package cluster tries the exporter on a real kube-apiserver with a real etcd: its discovery, its permissions and its
// manifests. It has tests only; `make cluster` builds the servers and runs them.
package cluster
