package fact

// Span is one finished sequence as its engine's tracer told it, all its values together, and what the message that
// brought it says of where it comes from. It is never written to after decoding.
type Span struct {
	Request
	Received float64 // when its message was read, unix seconds
	Trace    [16]byte
	ID       [8]byte
	Parent   [8]byte // the caller's span; zero where the engine began the trace
	// Call is the engine's id of the request: the n sequences of one request share it. "" when it has none.
	Call       string
	Attributes []Attribute // those that objectives split by, of the span or else of its resource; others are not kept
	Origin     *Origin     // shared by the spans of one resource
}

// Start is when the request arrived at the engine, unix seconds.
func (s *Span) Start() float64 { return s.End - s.E2E }

// Attribute is what a span says of its request under a key that the configuration names.
type Attribute struct{ Key, Value string }

// Origin is everything by which the sender of a span can be told. What is not known is "".
type Origin struct {
	Engine       string // resource attribute goodput.engine: the id of a target
	PodUID       string // k8s.pod.uid
	PodName      string // k8s.pod.name
	PodNamespace string // k8s.namespace.name
	Instance     string // service.instance.id: random, one for each process of an engine
	Peer         string // address that the message came from, without the port
}
