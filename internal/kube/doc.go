// Package kube speaks the Kubernetes API over net/http: credentials of the pod it runs in, list, and watch. It knows no
// kind of object; what an object holds is decoded by its caller. Why not client-go: docs/adr/0004-no-client-go.md.
package kube
