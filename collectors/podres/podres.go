// Package podres tells which container of the node holds which GPU, by asking the kubelet over its pod-resources socket.
// It knows neither engines nor pods beyond what the kubelet lists, keeps no answer, and does not decide which of two
// holders is the right one.
package podres

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/goodput-exporter/goodput-exporter/exporter/fact"
)

// Config is what a Reader is told once. Its zero value is usable.
type Config struct {
	Sockets   []string      // paths of the kubelet's socket, of which the first that answers is used; nil: where distributions have it
	Resources []string      // further resources whose devices are NVIDIA GPUs, such as "example.com/gpu"; "*" at the end is any rest
	Timeout   time.Duration // of one Read; 0: 5 s
	Cards     Cards         // nil: devices that are called by their file's name stay unresolved
	Slices    Slices        // nil: devices of resource claims stay unresolved
}

// Cards knows which GPU a name of GKE means.
type Cards interface {
	// Card returns the UUID, as in fact.GPU, of the card with that number ("nvidia0" is 0), or of its MIG instance with
	// that id ("nvidia0/gi2"); the instance is "" for the card itself.
	Card(number int, instance string) (uuid string, ok bool)
}

// Slices knows what the cluster's ResourceSlices say.
type Slices interface {
	// Resolve returns the UUID, as in fact.GPU, of a device in a pool of the driver gpu.nvidia.com.
	Resolve(pool, device string) (uuid string, ok bool)
}

const defaultTimeout = 5 * time.Second

// Reader asks one kubelet, through one connection that lasts. It is safe for concurrent use; one Read runs at a time.
//
// Memory: twice an answer of at most 16 MiB while it is read, and the claims that are returned, of which there are at most
// maxDevices.
type Reader struct {
	cfg Config

	// turn holds a token while nobody uses what follows. It is no mutex, so that waiting ends with a context.
	turn   chan struct{}
	conn   *connection // nil: none
	closed bool
}

// New returns a Reader, which connects when it is first asked.
func New(cfg Config) *Reader {
	if len(cfg.Sockets) == 0 {
		cfg.Sockets = usualSockets()
	}
	if cfg.Timeout <= 0 {
		cfg.Timeout = defaultTimeout
	}
	cfg.Sockets, cfg.Resources = slices.Clone(cfg.Sockets), slices.Clone(cfg.Resources)
	r := &Reader{cfg: cfg, turn: make(chan struct{}, 1)}
	r.turn <- struct{}{}
	return r
}

// Read asks for what is held now. It returns within the timeout, or earlier when ctx ends, with claims or with a reason
// and one line for a person.
//
// Claims are sorted, so that nothing can depend on the kubelet's order, and each is there once. Two containers may hold
// the same whole device: the kubelet goes on listing pods that have finished, and its answer has neither phase nor uid.
// Both are returned; who knows the pods has to tell them apart. A container that was given a card for looking at it only
// (admin access of a resource claim) cannot be told from one that computes on it.
func (r *Reader) Read(ctx context.Context) fact.DeviceClaims {
	ctx, cancel := context.WithTimeout(ctx, r.cfg.Timeout)
	defer cancel()
	claims, err := r.read(ctx)
	if err != nil {
		claims = fact.DeviceClaims{Reason: err.reason, Detail: err.detail}
	}
	claims.At = float64(time.Now().UnixNano()) / 1e9
	return claims
}

func (r *Reader) read(ctx context.Context) (claims fact.DeviceClaims, _ *failure) {
	select {
	case <-r.turn:
		defer func() { r.turn <- struct{}{} }()
	case <-ctx.Done():
		return claims, fail(fact.ReasonTimeout, "the kubelet was not asked: the question before has no answer yet")
	}
	if r.closed {
		return claims, fail(fact.ReasonInternal, "the kubelet was not asked: the reader is closed")
	}
	err := r.ask(ctx, listMethod, func(reply []byte) (err error) {
		claims.Claims, err = r.cfg.claims(reply)
		return err
	})
	if err != nil {
		return claims, err
	}
	// Claims are of use without this, and kubelets before 1.23 do not tell it by default.
	err = r.ask(ctx, allocatableMethod, func(reply []byte) (err error) {
		claims.Allocatable, err = r.cfg.allocatable(reply)
		return err
	})
	if err != nil {
		claims.Detail = "which devices the kubelet may give out is not known: " + err.detail
	}
	return claims, nil
}

// ask makes one call. A connection that lasted may have ended without our noticing, as the kubelet's restarts end it: then
// the call is made once more through a new one.
func (r *Reader) ask(ctx context.Context, method string, take func(reply []byte) error) *failure {
	for {
		fresh, err := r.connect(ctx)
		if err != nil {
			return err
		}
		err = r.conn.call(ctx, method, take)
		if err == nil || !err.broken {
			return err
		}
		r.drop()
		// The kubelet has the same deadline, and may tell us that it has passed a moment before our own clock does.
		if fresh || err.reason == fact.ReasonTimeout || ctx.Err() != nil {
			return err
		}
	}
}

// connect makes sure of a connection to the socket that is there now, and says whether it is a new one.
func (r *Reader) connect(ctx context.Context) (fresh bool, _ *failure) {
	if r.conn != nil && r.conn.current() {
		return false, nil
	}
	r.drop()
	var telling *failure
	for _, path := range r.cfg.Sockets {
		conn, err := dial(ctx, path)
		if err == nil {
			r.conn = conn
			return true, nil
		}
		// A socket that was left behind may stand before the one in use.
		if !errors.Is(err, errAbsent) && telling == nil {
			telling = explainDial(path, err)
		}
	}
	if telling == nil {
		telling = absent(r.cfg.Sockets)
	}
	return false, telling
}

func (r *Reader) drop() {
	if r.conn != nil {
		r.conn.close()
		r.conn = nil
	}
}

// Close ends the connection, after a Read that is under way. A later Read says that the reader is closed.
func (r *Reader) Close() error {
	<-r.turn
	defer func() { r.turn <- struct{}{} }()
	r.closed = true
	r.drop()
	return nil
}
