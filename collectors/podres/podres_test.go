package podres

import (
	"context"
	"net"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc/codes"

	"github.com/goodput-exporter/goodput-exporter/exporter/fact"
)

// patient is a timeout that a loaded machine does not reach.
const patient = time.Minute

// reader is a Reader of these sockets that the end of the test closes.
func reader(t testing.TB, sockets ...string) *Reader {
	t.Helper()
	r := New(Config{Sockets: sockets, Timeout: patient})
	t.Cleanup(func() { r.Close() })
	return r
}

// must reads without a failure.
func must(t testing.TB, r *Reader) fact.DeviceClaims {
	t.Helper()
	got := r.Read(t.Context())
	if got.Reason != "" {
		t.Fatalf("%s: %s", got.Reason, got.Detail)
	}
	return got
}

// refused reads, and wants a reason with all of these words beside it and no claims.
func refused(t testing.TB, r *Reader, reason fact.Reason, words ...string) {
	t.Helper()
	got := r.Read(t.Context())
	if got.Reason != reason || got.Claims != nil || got.Allocatable != nil || got.At == 0 || strings.Contains(got.Detail, "\n") {
		t.Errorf("got %+v, want reason %s", got, reason)
	}
	for _, w := range words {
		if !strings.Contains(got.Detail, w) {
			t.Errorf("%q does not say %q", got.Detail, w)
		}
	}
}

// vllm is a pod of serving with whole cards.
func vllm(name string, cards ...string) message {
	return pod("serving", name, container("vllm", devices("nvidia.com/gpu", cards...)))
}

func TestReadTellsWhoHoldsWhat(t *testing.T) {
	k := serve(t, "", vllm("acme-1", cardB), pod("kube-system", "dns", container("dns")),
		pod("serving", "acme-0", container("sidecar"), container("vllm", devices("nvidia.com/mig-1g.10gb", migA+"::1"))))
	k.allows(says(allocatable(ofResource("nvidia.com/gpu", cardB, cardA))))
	before := float64(time.Now().UnixNano()) / 1e9
	got := must(t, reader(t, k.path))
	if after := float64(time.Now().UnixNano()) / 1e9; got.At < before || got.At > after {
		t.Errorf("taken at %v, asked at %v, answered at %v", got.At, before, after)
	}
	got.At = 0
	want := fact.DeviceClaims{
		Claims: []fact.DeviceClaim{
			{Namespace: "serving", Pod: "acme-0", Container: "vllm", Device: migA, Replica: "1"},
			{Namespace: "serving", Pod: "acme-1", Container: "vllm", Device: cardB},
		},
		Allocatable: []string{cardA, cardB},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

func TestANodeWithoutPodsIsAnAnswer(t *testing.T) {
	got := must(t, reader(t, serve(t, "").path))
	if len(got.Claims) != 0 || got.Allocatable == nil || len(got.Allocatable) != 0 || got.Detail != "" {
		t.Errorf("got %+v", got)
	}
}

func TestTheConnectionLasts(t *testing.T) {
	k := serve(t, "", vllm("acme-0", cardA))
	r := reader(t, k.path)
	for range 5 {
		must(t, r)
	}
	if n := k.accepted.Load(); n != 1 {
		t.Errorf("%d connections", n)
	}
}

// JON-03, kubernetes/kubernetes#132020: a pod that has finished is listed with the card that another runs on by now. The
// kubelet does not say which is which, so both come back, in an order that is not the kubelet's.
func TestJON03TwoHoldersOfACardComeBackInNoOrderOfTheKubelets(t *testing.T) {
	old, running := vllm("train-old", cardA), vllm("acme-0", cardA)
	var first []fact.DeviceClaim
	for _, order := range [][]message{{old, running}, {running, old}} {
		got := must(t, reader(t, serve(t, "", order...).path)).Claims
		if len(got) != 2 || got[0].Pod != "acme-0" || got[1].Pod != "train-old" || got[0].Device != cardA || got[1].Device != cardA {
			t.Errorf("got %+v", got)
		}
		if first != nil && !reflect.DeepEqual(got, first) {
			t.Errorf("%+v in one order, %+v in the other", first, got)
		}
		first = got
	}
}

// JON-05, NVIDIA/dcgm-exporter#509: the answer of a busy node exceeds gRPC's 4 MiB. One over our limit costs itself only.
func TestJON05AnAnswerOfABusyNode(t *testing.T) {
	k := serve(t, "")
	r := reader(t, k.path)
	large := busy(4_800_000)
	k.lists(says(large))
	if got := must(t, r).Claims; len(large) < 4_800_000 || len(got) != 8 {
		t.Errorf("%d claims of %d bytes", len(got), len(large))
	}
	k.lists(says(busy(maxReply)))
	refused(t, r, fact.ReasonTooLarge, k.path, "more than 16777216 bytes")
	k.lists(says(large))
	if got := must(t, r).Claims; len(got) != 8 || k.accepted.Load() != 1 {
		t.Errorf("afterwards %d claims, %d connections", len(got), k.accepted.Load())
	}
}

// JON-09, NVIDIA/dcgm-exporter#501: cards that come from resource claims are in no list of devices.
func TestJON09ACardOfAResourceClaim(t *testing.T) {
	k := serve(t, "", pod("serving", "acme-0", container("vllm", claimed("gpu-claim", given("gpu.nvidia.com", "node-a", "gpu-3", "")))))
	want := fact.DeviceClaim{Namespace: "serving", Pod: "acme-0", Container: "vllm", Claim: "serving/gpu-claim", Device: "node-a/gpu-3", Unresolved: "dra"}
	if got := must(t, reader(t, k.path)).Claims; !reflect.DeepEqual(got, []fact.DeviceClaim{want}) {
		t.Errorf("without slices: %+v", got)
	}
	r := New(Config{Sockets: []string{k.path}, Timeout: patient, Slices: oneSlice{}})
	defer r.Close()
	want.Device, want.Unresolved = cardB, ""
	if got := must(t, r).Claims; !reflect.DeepEqual(got, []fact.DeviceClaim{want}) {
		t.Errorf("with slices: %+v", got)
	}
}

// A restart ends the connection without our noticing; the Read after it must not fail.
func TestARestartOfTheKubeletCostsNothing(t *testing.T) {
	k := serve(t, "", vllm("acme-0", cardA))
	r := reader(t, k.path)
	must(t, r)
	k.server.Stop()
	refused(t, r, fact.ReasonConnect, k.path, "no socket of a kubelet", "mount")
	k = serve(t, k.path, vllm("acme-1", cardA))
	if got := must(t, r).Claims; len(got) != 1 || got[0].Pod != "acme-1" {
		t.Errorf("after a restart: %+v", got)
	}
	k.server.Stop()
	serve(t, k.path, vllm("acme-2", cardA))
	if got := must(t, r).Claims; len(got) != 1 || got[0].Pod != "acme-2" {
		t.Errorf("after a restart between two reads: %+v", got)
	}
}

// A connection may end although the socket is the same one.
func TestAConnectionThatEndedIsMadeAnewAtOnce(t *testing.T) {
	k := serve(t, "", vllm("acme-0", cardA))
	r := reader(t, k.path)
	for range 5 {
		must(t, r)
		k.hangUp()
	}
	if n := k.accepted.Load(); n != 5 {
		t.Errorf("%d connections", n)
	}
}

// The old kubelet may go on answering on the connection that it has.
func TestASocketThatWasMadeAnewIsUsed(t *testing.T) {
	old := serve(t, "", vllm("acme-0", cardA))
	r := reader(t, old.path)
	must(t, r)
	// Beside it and renamed, so that the two are different files whatever the file system does with freed numbers.
	beside := old.path + ".new"
	serve(t, beside, vllm("acme-1", cardA))
	if err := os.Rename(beside, old.path); err != nil {
		t.Fatal(err)
	}
	if got := must(t, r).Claims; len(got) != 1 || got[0].Pod != "acme-1" {
		t.Errorf("got %+v", got)
	}
}

func TestTheFirstSocketThatAnswersIsUsed(t *testing.T) {
	dir := t.TempDir()
	k := serve(t, "", vllm("acme-0", cardA))
	left := abandoned(t, filepath.Join(dir, "left.sock"))
	if got := must(t, reader(t, filepath.Join(dir, "absent.sock"), left, dir, k.path)).Claims; len(got) != 1 {
		t.Errorf("got %+v", got)
	}
	// The one that tells most is reported: that a file is not there is usual.
	refused(t, reader(t, filepath.Join(dir, "absent.sock"), left), fact.ReasonRefused, left, "mount the directory")
	refused(t, reader(t, filepath.Join(dir, "absent.sock"), filepath.Join(dir, "other.sock")), fact.ReasonConnect, "absent.sock or 1 other places", "--root-dir")
}

// abandoned makes a socket that nobody listens on.
func abandoned(t *testing.T, path string) string {
	t.Helper()
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	l.SetUnlinkOnClose(false)
	l.Close()
	return path
}

func TestWithoutSocketsTheUsualPlacesAreTried(t *testing.T) {
	r := New(Config{})
	if len(r.cfg.Sockets) != 5 || r.cfg.Sockets[0] != "/var/lib/kubelet/pod-resources/kubelet.sock" || r.cfg.Timeout != 5*time.Second {
		t.Errorf("%+v", r.cfg)
	}
}

// hangs answers nothing until the call is given up.
func hangs(ctx context.Context) ([]byte, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

func TestAKubeletThatHangsCostsTheTimeout(t *testing.T) {
	k := serve(t, "", vllm("acme-0", cardA))
	r := reader(t, k.path)
	must(t, r)
	r.cfg.Timeout = 50 * time.Millisecond
	k.lists(hangs)
	refused(t, r, fact.ReasonTimeout, k.path, "connected, but no answer")
	k.lists(says(listed(vllm("acme-1", cardA))))
	r.cfg.Timeout = patient
	if got := must(t, r).Claims; len(got) != 1 || got[0].Pod != "acme-1" || k.accepted.Load() != 2 {
		t.Errorf("afterwards %+v, through the connection that hung", got)
	}
	// What is given up by the caller says so.
	k.lists(hangs)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if got := r.Read(ctx); got.Reason != fact.ReasonTimeout {
		t.Errorf("got %+v", got)
	}
	ended, end := context.WithCancel(t.Context())
	end()
	if got := r.Read(ended); got.Reason != fact.ReasonTimeout || got.Detail == "" {
		t.Errorf("got %+v", got)
	}
}

func TestClaimsAreToldWithoutWhatMayBeGivenOut(t *testing.T) {
	for name, c := range map[string]struct {
		a    answer
		says string
	}{
		"a kubelet before 1.21":              {refuses(codes.Unimplemented, "unknown method"), "1.21"},
		"a kubelet that has it switched off": {refuses(codes.Unknown, "Pod Resources API GetAllocatableResources disabled"), "KubeletPodResourcesGetAllocatable"},
		"an answer that cannot be":           {says(message{0x0f}), "does not speak"},
	} {
		t.Run(name, func(t *testing.T) {
			k := serve(t, "", vllm("acme-0", cardA))
			k.allows(c.a)
			got := must(t, reader(t, k.path))
			if len(got.Claims) != 1 || got.Allocatable != nil || !strings.Contains(got.Detail, c.says) || !strings.Contains(got.Detail, "is not known") {
				t.Errorf("got %+v", got)
			}
		})
	}
}

func TestManyMayReadAndNobodyReadsOnceItIsClosed(t *testing.T) {
	k := serve(t, "", vllm("acme-0", cardA))
	r := New(Config{Sockets: []string{k.path}, Timeout: patient})
	var reading sync.WaitGroup
	for range 8 {
		reading.Go(func() {
			for range 5 {
				if got := r.Read(t.Context()); len(got.Claims) != 1 && got.Reason != fact.ReasonInternal {
					t.Errorf("got %+v", got)
				}
			}
		})
	}
	must(t, r)
	r.Close()
	reading.Wait()
	refused(t, r, fact.ReasonInternal, "closed")
	if err := r.Close(); err != nil {
		t.Errorf("closed twice: %v", err)
	}
	if n := k.accepted.Load(); n != 1 {
		t.Errorf("%d connections", n)
	}
}

// A Read that has to wait for another ends with its own context.
func TestWaitingForAnotherReadEndsInTime(t *testing.T) {
	k := serve(t, "")
	asked := make(chan struct{}, 1)
	k.lists(func(ctx context.Context) ([]byte, error) { asked <- struct{}{}; return hangs(ctx) })
	r := New(Config{Sockets: []string{k.path}, Timeout: patient})
	long, end := context.WithCancel(t.Context())
	var reading sync.WaitGroup
	reading.Go(func() { r.Read(long) })
	<-asked
	short, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	if got := r.Read(short); got.Reason != fact.ReasonTimeout || !strings.Contains(got.Detail, "the question before") {
		t.Errorf("got %+v", got)
	}
	end()
	reading.Wait()
	r.Close()
}

func TestNothingIsLeftBehind(t *testing.T) {
	k := serve(t, "", vllm("acme-0", cardA))
	before := runtime.NumGoroutine()
	for range 20 {
		r := New(Config{Sockets: []string{k.path}, Timeout: patient})
		must(t, r)
		k.lists(refuses(codes.Unavailable, "restarting")) // which makes it connect again and again
		for range 3 {
			r.Read(t.Context())
		}
		k.lists(says(nil))
		r.Close()
	}
	after := 0
	for deadline := time.Now().Add(5 * time.Second); time.Now().Before(deadline); runtime.Gosched() {
		if after = runtime.NumGoroutine(); after <= before {
			return
		}
	}
	stacks := make([]byte, 1<<20)
	t.Errorf("%d goroutines, %d before:\n%s", after, before, stacks[:runtime.Stack(stacks, true)])
}
