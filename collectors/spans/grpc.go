package spans

import (
	"context"
	"io"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/metadata"
	grpcpeer "google.golang.org/grpc/peer"
	"google.golang.org/grpc/stats"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"
)

// exportMethod is the one that is served. What a recording of it holds is not told by its name, hence the content type.
const (
	exportMethod    = "/opentelemetry.proto.collector.trace.v1.TraceService/Export"
	grpcContentType = "application/grpc+proto"
	grpcWindow      = 64 << 10 // bytes, the least that gRPC takes; at most maxConnections of them are filled
)

// serveGRPC serves until the context is done.
func (r *Receiver) serveGRPC(ctx context.Context) error {
	options := []grpc.ServerOption{
		grpc.UnknownServiceHandler(r.exportGRPC), // every method, so that those of other signals get an answer that helps
		grpc.ForceServerCodecV2(bytesCodec{}),
		//lint:ignore SA1019 the other way is a registry of the whole process, whose gzip is inflated before its size is known
		grpc.RPCDecompressor(stillGzipped{}),
		grpc.StatsHandler(encodings{r}),
		grpc.MaxRecvMsgSize(int(r.grpcLimit)),
		grpc.MaxConcurrentStreams(maxAtOnce),
		// What a connection may send that nobody has asked for yet. By default this grows up to 16 MiB.
		grpc.StaticStreamWindowSize(grpcWindow), grpc.StaticConnWindowSize(grpcWindow),
		grpc.MaxHeaderListSize(maxHeader),
		grpc.ConnectionTimeout(headerTime),
		grpc.KeepaliveParams(keepalive.ServerParameters{MaxConnectionIdle: idleTime, Time: time.Minute, Timeout: readTime}),
		grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{MinTime: readTime, PermitWithoutStream: true}),
		grpc.WaitForHandlers(true),
	}
	if r.settings.Load().CertFile != "" {
		options = append(options, grpc.Creds(credentials.NewTLS(r.tls(GRPC))))
	}
	server := grpc.NewServer(options...)
	failed := make(chan error, 1)
	go func() { failed <- server.Serve(r.greet(r.grpc, GRPC)) }()
	select {
	case err := <-failed:
		server.Stop()
		r.receiving.Wait()
		return err
	case <-ctx.Done():
	}
	late := time.AfterFunc(closeTime, server.Stop)
	server.GracefulStop()
	late.Stop()
	<-failed
	r.receiving.Wait()
	return nil
}

// exportGRPC answers one call. It is a stream to gRPC, so that who sends is known before a message is read.
func (r *Receiver) exportGRPC(_ any, stream grpc.ServerStream) error {
	ctx := stream.Context()
	var from string
	if p, ok := grpcpeer.FromContext(ctx); ok {
		from = peer(p.Addr.String())
	}
	a := r.call(stream, from)
	r.finish(GRPC, from, a)
	switch a.outcome {
	case OK, Partial:
		return stream.SendMsg(message(exportResponse(a)))
	case Full, Busy:
		return retry(stream, a)
	}
	return status.Error(grpcCode(a.outcome), a.detail)
}

func (r *Receiver) call(stream grpc.ServerStream, from string) answer {
	s := r.settings.Load()
	if method, _ := grpc.MethodFromServerStream(stream); method != exportMethod {
		return otherMethod
	}
	var shown string
	if md, ok := metadata.FromIncomingContext(stream.Context()); ok {
		if v := md.Get("authorization"); len(v) == 1 {
			shown = v[0]
		}
	}
	if !s.access.admits(shown) {
		return unauthorized
	}
	if !r.door.enter() {
		return busy
	}
	defer r.door.leave()
	if !r.door.call(stream.Context()) {
		return busy
	}
	defer r.door.hangUp()
	m, no := r.receive(stream, s.MaxMessage)
	if no != nil {
		return *no
	}
	defer m.buffer.Free()
	body := m.buffer.ReadOnlyData()
	return r.take(s, Message{
		Peer: from, Path: exportMethod, ContentType: grpcContentType, ContentEncoding: sniff(body), Body: body, Received: now(),
	})
}

// receive waits for the message as long as HTTP does for one. gRPC has no deadline for that, but ends the wait when the
// call has been answered.
func (r *Receiver) receive(stream grpc.ServerStream, limit int64) (*received, *answer) {
	type result struct {
		m   received
		err error
	}
	done := make(chan result, 1)
	r.receiving.Go(func() {
		var x result
		x.err = stream.RecvMsg(&x.m)
		done <- x
	})
	late := time.NewTimer(readTime)
	defer late.Stop()
	select {
	case x := <-done:
		if x.err == nil {
			return &x.m, nil
		}
		if status.Code(x.err) == codes.ResourceExhausted {
			return nil, &answer{outcome: TooLarge, cause: causeSize, detail: tooLarge(limit).Detail}
		}
		return nil, &cutShort
	case <-late.C:
		return nil, &tooSlow
	}
}

// retry tells a sender to come again, and when: in the status, as OTLP asks, and in the trailer where Python's exporter
// looks for it.
func retry(stream grpc.ServerStream, a answer) error {
	info := &errdetails.RetryInfo{RetryDelay: durationpb.New(comeAgain)}
	if text, err := proto.Marshal(info); err == nil {
		stream.SetTrailer(metadata.Pairs("google.rpc.retryinfo-bin", string(text)))
	}
	st := status.New(grpcCode(a.outcome), a.detail)
	if with, err := st.WithDetails(info); err == nil {
		st = with
	}
	return st.Err()
}

// received is a message as bytes, which are gRPC's until they are freed.
type received struct{ buffer mem.Buffer }

// message is an answer as bytes.
type message []byte

// bytesCodec leaves messages as they are, for this server alone.
type bytesCodec struct{}

func (bytesCodec) Name() string { return "proto" }

func (bytesCodec) Marshal(v any) (mem.BufferSlice, error) {
	return mem.BufferSlice{mem.SliceBuffer(v.(message))}, nil
}

func (bytesCodec) Unmarshal(data mem.BufferSlice, v any) error {
	v.(*received).buffer = data.MaterializeToBuffer(mem.DefaultBufferPool())
	return nil
}

// stillGzipped lets gzipped messages through as they are, so that they are inflated like those of HTTP, with the limit
// counted while that goes on, and only as many at once as there are cores.
type stillGzipped struct{}

func (stillGzipped) Type() string { return gzipped }

func (stillGzipped) Do(r io.Reader) ([]byte, error) { return io.ReadAll(r) }

// sniff tells whether a message is gzipped: no protobuf message begins with gzip's two bytes, whose first would be a
// field of wire type 7, which there is not.
func sniff(body []byte) string {
	if len(body) >= 2 && body[0] == 0x1f && body[1] == 0x8b {
		return gzipped
	}
	return ""
}

// encodings counts the messages whose compression is not known: gRPC refuses them before anyone is asked.
type encodings struct{ r *Receiver }

func (encodings) TagRPC(ctx context.Context, _ *stats.RPCTagInfo) context.Context   { return ctx }
func (encodings) TagConn(ctx context.Context, _ *stats.ConnTagInfo) context.Context { return ctx }
func (encodings) HandleConn(context.Context, stats.ConnStats)                       {}

func (e encodings) HandleRPC(_ context.Context, s stats.RPCStats) {
	if in, ok := s.(*stats.InHeader); ok {
		if c := encoding(in.Compression); c != identity && c != gzipped {
			var from string
			if in.RemoteAddr != nil {
				from = peer(in.RemoteAddr.String())
			}
			e.r.finish(GRPC, from, unknownCoded)
		}
	}
}
