package spans

import (
	"encoding/json"

	"google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
)

// replyEncoding is how an answer is written: the export's response, or google.rpc.Status for what was not taken.
type replyEncoding struct {
	contentType string
	response    func(answer) []byte
}

// encodingOf is that of the question; a question in none is answered with text.
func encodingOf(isJSON bool, unknown *Error) replyEncoding {
	switch {
	case unknown != nil:
		return replyEncoding{"text/plain; charset=utf-8", func(a answer) []byte { return []byte(a.detail + "\n") }}
	case isJSON:
		return replyEncoding{"application/json", jsonReply}
	}
	return replyEncoding{"application/x-protobuf", protobufReply}
}

func protobufReply(a answer) []byte {
	if a.outcome == OK || a.outcome == Partial {
		return exportResponse(a)
	}
	body, _ := proto.Marshal(statusOf(a)) // of text that is valid UTF-8
	return body
}

// exportResponse is an ExportTraceServiceResponse: empty, or with what was not taken.
func exportResponse(a answer) []byte {
	if a.outcome != Partial {
		return []byte{}
	}
	const partialSuccess, rejectedSpans, errorMessage = 1, 1, 2
	p := protowire.AppendVarint(protowire.AppendTag(nil, rejectedSpans, protowire.VarintType), a.rejected)
	p = protowire.AppendString(protowire.AppendTag(p, errorMessage, protowire.BytesType), a.detail)
	return protowire.AppendBytes(protowire.AppendTag(nil, partialSuccess, protowire.BytesType), p)
}

func jsonReply(a answer) []byte {
	var body []byte
	switch a.outcome {
	case OK:
		return []byte("{}")
	case Partial:
		type partial struct {
			Rejected uint64 `json:"rejectedSpans,string"`
			Message  string `json:"errorMessage"`
		}
		body, _ = json.Marshal(map[string]partial{"partialSuccess": {a.rejected, a.detail}})
	default:
		body, _ = protojson.Marshal(statusOf(a))
	}
	return body
}

func statusOf(a answer) *status.Status {
	return &status.Status{Code: int32(grpcCode(a.outcome)), Message: a.detail}
}

func grpcCode(outcome string) codes.Code {
	switch outcome {
	case OK, Partial:
		return codes.OK
	case Malformed:
		return codes.InvalidArgument
	case Unsupported:
		return codes.Unimplemented
	case Unauthorized:
		return codes.Unauthenticated
	case Broken:
		return codes.DeadlineExceeded
	}
	return codes.ResourceExhausted // TooLarge, Full, Busy
}
