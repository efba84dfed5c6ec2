package podres

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"path"
	"strings"
	"syscall"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/goodput-exporter/goodput-exporter/exporter/fact"
)

// failure is why there is no answer. Its text is ours: nothing that was sent is repeated.
type failure struct {
	reason fact.Reason
	detail string
	broken bool // nothing more can be had through that connection
}

func (f *failure) Error() string { return f.detail }

func fail(reason fact.Reason, format string, args ...any) *failure {
	return &failure{reason: reason, detail: fmt.Sprintf(format, args...)}
}

func absent(paths []string) *failure {
	return fail(fact.ReasonConnect, "no socket of a kubelet at %s: mount the host's directory /var/lib/kubelet/pod-resources (or the same below the kubelet's --root-dir) into the container under its own path, or say where the socket is", list(paths))
}

// explainDial says why no connection came about.
func explainDial(path string, err error) *failure {
	timeout, late := errors.AsType[net.Error](err)
	switch {
	case errors.Is(err, errDirectory), errors.Is(err, errNoSocket):
		return fail(fact.ReasonConnect, "%s: %v", path, err)
	case errors.Is(err, fs.ErrPermission):
		return fail(fact.ReasonAuth, "%s: permission denied: the socket and its directory belong to root: run the exporter as uid 0 (runAsUser: 0; no capability is needed), or as a group that may write to the socket; where SELinux is enforcing, with a type that may connect to it", path)
	case errors.Is(err, syscall.ECONNREFUSED):
		return fail(fact.ReasonRefused, "%s: nothing listens there: the kubelet is down, or it has made its socket anew after a restart and the container still holds the old one: mount the directory, not the socket", path)
	case errors.Is(err, context.DeadlineExceeded), late && timeout.Timeout():
		return fail(fact.ReasonTimeout, "%s: no connection in time: the kubelet is hung or overloaded, see its log", path)
	case errors.Is(err, context.Canceled):
		return fail(fact.ReasonTimeout, "%s: given up before there was a connection", path)
	}
	cause := "the connection failed"
	if e, ok := errors.AsType[syscall.Errno](err); ok {
		cause = e.Error()
		if e == syscall.EINVAL {
			cause += " (a path of a socket has at most 107 bytes)"
		}
	}
	return fail(fact.ReasonConnect, "%s: %s", path, cause)
}

// explainCall says why a call brought no answer.
func explainCall(socket, method string, err error) *failure {
	s := status.Convert(err)
	at := socket + ": " + path.Base(method)
	switch s.Code() {
	case codes.DeadlineExceeded:
		f := fail(fact.ReasonTimeout, "%s: connected, but no answer in time: the kubelet is hung or overloaded, see its log", at)
		f.broken = true // the next question should not wait behind this one
		return f
	case codes.Canceled:
		return fail(fact.ReasonTimeout, "%s: given up before there was an answer", at)
	case codes.Unavailable:
		f := fail(fact.ReasonTruncated, "%s: the connection ended before there was an answer: the kubelet is being restarted, or what listens there is no kubelet", at)
		f.broken = true
		return f
	case codes.ResourceExhausted:
		// Both the client, which does not take a long message, and the kubelet, which lets in so many calls a second, say so.
		if strings.Contains(s.Message(), "larger than max") {
			return fail(fact.ReasonTooLarge, "%s: the answer has more than %d bytes, which is the limit here and of the kubelet's own clients: see which pods or devices make it so long", at, maxReply)
		}
		return fail(fact.ReasonStatus, "%s: the kubelet refuses more calls for now: something else on the node asks it too often", at)
	case codes.Unimplemented:
		return fail(fact.ReasonDialect, "%s: what listens there does not know the method: pod-resources v1 needs a kubelet of 1.20 or later, GetAllocatableResources one of 1.21", at)
	case codes.PermissionDenied, codes.Unauthenticated:
		return fail(fact.ReasonAuth, "%s: what listens there refuses the call (%s)", at, s.Code())
	case codes.Unknown:
		return fail(fact.ReasonStatus, "%s: the kubelet refuses the call; GetAllocatableResources has to be enabled before 1.23 (feature gate KubeletPodResourcesGetAllocatable); see the kubelet's log", at)
	}
	return fail(fact.ReasonStatus, "%s: the call failed with status %s; see the kubelet's log", at, s.Code())
}

// explainReply says why an answer was not taken.
func explainReply(socket, method string, err error) *failure {
	reason := fact.ReasonParse
	if errors.Is(err, errTooMany) {
		reason = fact.ReasonTooLarge
	}
	return fail(reason, "%s: the answer of %s is not taken: %v", socket, path.Base(method), err)
}
