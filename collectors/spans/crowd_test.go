package spans

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
)

// TestWhatComesInOverHTTPIsBoundedByBytes: senders that stop just before the end of large messages hold no more than is
// set aside; small messages of others are taken meanwhile, and large ones once the senders have been left.
func TestWhatComesInOverHTTPIsBoundedByBytes(t *testing.T) {
	c := usualConfig()
	c.MaxMessage = 16 << 20
	inMemoryWith(t, c, func(t *testing.T, r *Receiver, h, _ *pipes) {
		const size = 12 << 20
		chunk := make([]byte, 64<<10)
		for range maxHeld / size {
			conn, err := h.dial(t.Context(), "")
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			go func() {
				fmt.Fprintf(conn, "POST /v1/traces HTTP/1.1\r\nHost: x\r\nContent-Type: application/x-protobuf\r\nContent-Length: %d\r\n\r\n", size)
				for range size/len(chunk) - 1 {
					if _, err := conn.Write(chunk); err != nil {
						return
					}
				}
			}()
		}
		synctest.Wait()
		held := int64(maxHeld / size * (size - len(chunk)))
		if got := r.door.held.Load(); got != held {
			t.Errorf("%d bytes are held, want %d", got, held)
		}
		client := &http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, _, address string) (net.Conn, error) { return h.dial(ctx, address) }, DisableKeepAlives: true}}
		if a, _ := post(t, client, "http://pipe/v1/traces", make([]byte, size)); a.StatusCode != 503 || a.Header.Get("Retry-After") != "2" {
			t.Errorf("a large one more: status %d, Retry-After %q", a.StatusCode, a.Header.Get("Retry-After"))
		}
		if a, _ := post(t, client, "http://pipe/v1/traces", wire(t, export(nil, fresh(requests(5)...)...))); a.StatusCode != 200 {
			t.Errorf("a small message meanwhile: status %d", a.StatusCode)
		}
		if got := r.door.held.Load(); got != held {
			t.Errorf("%d bytes are held afterwards, want %d", got, held)
		}
		time.Sleep(2*readTime + time.Second) // virtual
		if held := r.door.held.Load(); held != 0 {
			t.Errorf("%d bytes are held for nobody", held)
		}
		if got := r.Stats().messages(); got["http busy"] != 1 || got["http ok"] != 1 {
			t.Errorf("messages %v", got)
		}
	})
}

// TestCallsWaitForRoom: over gRPC there are as many messages at once as may all be of the limit; another waits for a
// moment, and is then told to come again.
func TestCallsWaitForRoom(t *testing.T) {
	c := usualConfig()
	c.MaxMessage = maxHeld / 2
	inMemoryWith(t, c, func(t *testing.T, r *Receiver, _, g *pipes) {
		client, err := grpc.NewClient("passthrough:///pipe", grpc.WithContextDialer(g.dial), grpc.WithTransportCredentials(insecure.NewCredentials()))
		if err != nil {
			t.Fatal(err)
		}
		defer client.Close()
		var hang []context.CancelFunc
		for range 2 {
			ctx, cancel := context.WithCancel(t.Context())
			hang = append(hang, cancel)
			if _, err := client.NewStream(ctx, &grpc.StreamDesc{ClientStreams: true}, exportMethod); err != nil {
				t.Fatal(err)
			}
		}
		synctest.Wait()
		begun := time.Now()
		if _, _, err := invoke(t, client, exportMethod, &tracepb.TracesData{}); status.Code(err) != codes.ResourceExhausted || len(status.Convert(err).Details()) != 1 {
			t.Errorf("got %v", err)
		}
		if waited := time.Since(begun); waited != comeAgain {
			t.Errorf("told after %v", waited)
		}
		time.AfterFunc(time.Second, hang[0])
		if _, _, err := invoke(t, client, exportMethod, &tracepb.TracesData{}); err != nil {
			t.Errorf("with room within a moment: %v", err)
		}
		hang[1]()
		synctest.Wait()
		if n := len(r.door.calls) + len(r.door.reading); n != 0 {
			t.Errorf("%d places are taken by nobody", n)
		}
	})
}
