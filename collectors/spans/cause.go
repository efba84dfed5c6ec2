package spans

import (
	"sync"
	"time"
)

// cause is why a message was not taken, told finer than by its outcome. The set is closed: the log has one line for each,
// so that one mistake does not hide another.
type cause string

const (
	causeGRPCToHTTP  cause = "grpc_to_http" // gRPC at spans.listen
	causeHTTPToGRPC  cause = "http_to_grpc" // HTTP at spans.grpc_listen
	causeTLSToPlain  cause = "tls_to_plain" // TLS where none is spoken
	causePlainToTLS  cause = "plain_to_tls" // no TLS where it is asked for
	causePath        cause = "path"         // another path than that of traces
	causeSignal      cause = "signal"       // metrics, logs or profiles
	causeMethod      cause = "method"       // of HTTP or of the gRPC service
	causeContentType cause = "content_type" // none of OTLP's
	causeCompression cause = "compression"  // neither gzip nor none
	causeGzip        cause = "gzip"         // damaged
	causeJSON        cause = "json"         // cannot be read
	causeProtobuf    cause = "protobuf"     // cannot be read
	causeReader      cause = "reader"       // a mistake in this program
	causeSize        cause = "size"         // more bytes than spans.max_message
	causeParts       cause = "parts"        // more spans, resources or attributes than are read
	causeToken       cause = "token"        // none, or another
	causeCrowd       cause = "crowd"        // too many messages at once
	causeCut         cause = "cut"          // ended before its end
	causeSlow        cause = "slow"         // did not arrive in time
)

// signalPaths are where OTLP's exporters of other signals send to over HTTP.
var signalPaths = map[string]bool{"/v1/metrics": true, "/v1/logs": true, "/v1development/profiles": true}

const (
	onlyTraces = "only traces are taken: over HTTP by POST to " + tracesPath + ", over gRPC by opentelemetry.proto.collector.trace.v1.TraceService/Export"

	protocolVariable = "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL"
)

var (
	busy = answer{outcome: Busy, cause: causeCrowd, detail: "too many messages at once; come again"}

	unauthorized = answer{outcome: Unauthorized, cause: causeToken,
		detail: "a bearer token is asked for, and none or another one was shown; set OTEL_EXPORTER_OTLP_TRACES_HEADERS=authorization=Bearer%20TOKEN, with %-escapes for what is no letter, digit or -._~ in TOKEN"}

	otherSignal = answer{outcome: Unsupported, cause: causeSignal, detail: "this is the path of another signal: " + onlyTraces}
	otherPath   = answer{outcome: Unsupported, cause: causePath,
		detail: "the path is not " + tracesPath + ": vLLM takes its endpoint as it is, so end that with " + tracesPath + "; " + onlyTraces}
	otherMethod  = answer{outcome: Unsupported, cause: causeMethod, detail: "another method: " + onlyTraces}
	cutShort     = answer{outcome: Broken, cause: causeCut, detail: "the message ended before its end"}
	tooSlow      = answer{outcome: Broken, cause: causeSlow, detail: "the message did not arrive within " + readTime.String()}
	unknownCoded = answer{outcome: Unsupported, cause: causeCompression, detail: unknownEncoding}

	grpcToHTTP = answer{outcome: Unsupported, cause: causeGRPCToHTTP,
		detail: "this is gRPC, and HTTP is spoken here: send it to spans.grpc_listen, or set " + protocolVariable + "=http/protobuf and end the endpoint with " + tracesPath}
	httpToGRPC = answer{outcome: Unsupported, cause: causeHTTPToGRPC,
		detail: "this is HTTP, and gRPC is spoken here: send it to spans.listen, or set " + protocolVariable + "=grpc and leave the path out of the endpoint"}
	tlsToPlain = answer{outcome: Unsupported, cause: causeTLSToPlain,
		detail: "this is TLS, and none is spoken here: begin the endpoint with http:// and, over gRPC, set OTEL_EXPORTER_OTLP_TRACES_INSECURE=true; or set spans.tls_config"}
	plainToTLS = answer{outcome: Unsupported, cause: causePlainToTLS,
		detail: "this is no TLS, and spans.tls_config asks for it here: begin the endpoint with https:// and set OTEL_EXPORTER_OTLP_CERTIFICATE"}
)

// quiet is for how long a cause must have been away to be news again.
const quiet = time.Hour

// news knows when each cause was last there. Its keys are of closed sets, so it does not grow.
type news struct {
	mu   sync.Mutex
	last map[[2]string]time.Time
}

// is reports whether a cause was not there for an hour, or never.
func (n *news) is(where, what string) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.last == nil {
		n.last = map[[2]string]time.Time{}
	}
	key, now := [2]string{where, what}, time.Now()
	before, known := n.last[key]
	n.last[key] = now
	return !known || now.Sub(before) >= quiet
}

// sender is what a resource says of who sends, for the log: the address is often the same for all.
type sender struct{ service, instance, engine string }

const maxSender = 128 // bytes kept of each

// senderOf reads a resource as far as it can be read.
func senderOf(resource []byte) (s sender) {
	var f field
	for n := 0; len(resource) > 0 && n < maxAttributes; n++ {
		var err *Error
		if resource, err = f.next(resource); err != nil {
			return s
		}
		if f.number != resourceAttributes {
			continue
		}
		key, v, err := keyValue(f.bytes)
		if err != nil {
			return s
		}
		switch string(key) {
		case "service.name":
			s.service = cut(v.text(), maxSender)
		case "service.instance.id":
			s.instance = cut(v.text(), maxSender)
		case "goodput.engine":
			s.engine = cut(v.text(), maxSender)
		}
	}
	return s
}

// attributes are what the log says of a sender: what it told of itself, and its address.
func (s sender) attributes(peer string) (all []any) {
	for _, part := range [...][2]string{{"service", s.service}, {"instance", s.instance}, {"engine", s.engine}} {
		if part[1] != "" {
			all = append(all, part[0], part[1])
		}
	}
	return append(all, "peer", peer)
}
