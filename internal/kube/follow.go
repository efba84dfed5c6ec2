package kube

import (
	"context"
	"time"
)

// Query says which objects are asked for.
type Query struct {
	Group     string // of the API; "" is the core
	Version   string // "v1"
	Resource  string // "pods"
	Namespace string // "" is all of them, and what has none
	Labels    string // a label selector; "" is all
	Fields    string // a field selector; "" is all
}

// Sink takes what Follow is told. Its methods are called from Follow's goroutine, one at a time, and must not block.
// An object belongs to the sink once it was handed over.
type Sink[T Kind] interface {
	// Replace says that these objects are all that there are now.
	Replace(all []T)
	// Put says that an object has come or has changed.
	Put(T)
	// Delete says that an object is gone. Only its metadata is sure to be there.
	Delete(Metadata)
	// Told says how the following stands, each time that it changes, and at each word of the server.
	Told(State)
}

// State is how it stands with a Follow.
type State struct {
	// Up says that what the sink was told is what the server knows: a list is complete and a watch is running.
	Up bool
	// Heard is when the server last said something of use: a list, an event, or that there is nothing new. Zero: never.
	Heard time.Time
	// Problem is why Up is false, for people, with what to do about it where that is known. "" before the first answer.
	Problem string
}

// Follow tells the sink of all objects, and then of each change, until the context is done. It returns no error: whatever goes
// wrong is told, and tried again. Nothing is deleted because of an error.
func Follow[T Kind](ctx context.Context, c *Client, q Query, sink Sink[T]) {}
