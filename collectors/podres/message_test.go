package podres

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/goodput-exporter/goodput-exporter/exporter/fact"
)

func TestAnAnswerInAnyOrderOfItsFields(t *testing.T) {
	ids := message(nil).text(2, cardA).text(1, "nvidia.com/gpu")
	c := message(nil).with(2, ids).text(1, "vllm")
	claims, err := new(Config).claims(listed(message(nil).with(3, c).text(2, "serving").text(1, "acme-0")))
	want := []fact.DeviceClaim{{Namespace: "serving", Pod: "acme-0", Container: "vllm", Device: cardA}}
	if err != nil || !reflect.DeepEqual(claims, want) {
		t.Errorf("got %+v, %v", claims, err)
	}
}

func TestADeviceThatIsListedForTwoNUMANodesIsHeldOnce(t *testing.T) {
	two := container("vllm", devices("nvidia.com/gpu", cardB, cardA), devices("nvidia.com/gpu", cardA))
	claims, err := new(Config).claims(listed(pod("serving", "acme-0", two)))
	if err != nil || len(claims) != 2 || claims[0].Device != cardA || claims[1].Device != cardB {
		t.Errorf("got %+v, %v", claims, err)
	}
}

func TestAClaimThatTwoPodsShareIsToldWithItsName(t *testing.T) {
	share := claimed("both", given("gpu.nvidia.com", "node-a", "gpu-3", ""))
	cfg := Config{Slices: oneSlice{}}
	claims, err := cfg.claims(listed(pod("serving", "b", container("vllm", share)), pod("serving", "a", container("vllm", share))))
	want := []fact.DeviceClaim{
		{Namespace: "serving", Pod: "a", Container: "vllm", Device: cardB, Claim: "serving/both"},
		{Namespace: "serving", Pod: "b", Container: "vllm", Device: cardB, Claim: "serving/both"},
	}
	if err != nil || !reflect.DeepEqual(claims, want) {
		t.Errorf("got %+v, %v", claims, err)
	}
}

func TestAllocatableDevicesAreCountedWithoutReplicas(t *testing.T) {
	for name, c := range map[string]struct {
		reply message
		want  []string
	}{
		"none":                        {nil, []string{}},
		"none that is a GPU":          {allocatable(ofResource("example.com/nic", "eth0")), []string{}},
		"cards, in the order of UUID": {allocatable(ofResource("nvidia.com/gpu", cardB), ofResource("nvidia.com/gpu", cardA)), []string{cardA, cardB}},
		"replicas of one card":        {allocatable(ofResource("nvidia.com/gpu", cardA+"::0", cardA+"::1")), []string{cardA}},
		"what is not resolved":        {allocatable(ofResource("nvidia.com/gpu", "nvidia0/vgpu0", "nvidia0/vgpu1")), []string{"nvidia0"}},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := new(Config).allocatable(c.reply)
			if err != nil || !reflect.DeepEqual(got, c.want) {
				t.Errorf("got %q, %v, want %q", got, err, c.want)
			}
		})
	}
}

func TestAnswersThatAreNotTaken(t *testing.T) {
	gpu := devices("nvidia.com/gpu", cardA)
	whole := listed(pod("serving", "acme-0", container("vllm", gpu)))
	for name, c := range map[string]struct {
		reply []byte
		want  error
	}{
		"one that was cut":                    {whole[:len(whole)-1], errWire},
		"a tag that is none":                  {append(slices.Clone(whole), 0), errWire},
		"a length beyond the end":             {protowire.AppendVarint(protowire.AppendTag(nil, 1, protowire.BytesType), 1<<40), errWire},
		"a number that does not end":          {append(protowire.AppendTag(nil, 9, protowire.VarintType), 0xff), errWire},
		"a pod's name that is no text":        {listed(pod("serving", "\xff", container("vllm", gpu))), errText},
		"a namespace of no end":               {listed(pod(strings.Repeat("x", 254), "acme-0")), errText},
		"a container's name that is no text":  {listed(pod("serving", "acme-0", container("\xff"))), errText},
		"a device that is no text":            {listed(pod("serving", "acme-0", container("vllm", devices("nvidia.com/gpu", "\xff")))), errText},
		"a pool that is no text":              {listed(pod("serving", "acme-0", container("vllm", claimed("c", given("gpu.nvidia.com", "\xff", "gpu-0", ""))))), errText},
		"a resource claim's name of no end":   {listed(pod("serving", "acme-0", container("vllm", claimed(strings.Repeat("x", 254))))), errText},
		"a GPU of a pod without a name":       {listed(pod("serving", "", container("vllm", gpu))), errNoName},
		"rubbish within a container":          {listed(pod("serving", "acme-0", message{0x0f})), errWire},
		"rubbish within devices":              {listed(pod("serving", "acme-0", container("vllm", message(nil).with(2, message{0x0f})))), errWire},
		"rubbish within a resource claim":     {listed(pod("serving", "acme-0", container("vllm", message(nil).with(5, message{0x0f})))), errWire},
		"rubbish within a claim's device":     {listed(pod("serving", "acme-0", container("vllm", claimed("c", message{0x0f})))), errWire},
		"one device more than can be":         {listed(pod("serving", "acme-0", container("vllm", many(maxDevices+1)))), errTooMany},
		"as many empty ones, in little space": {listed(pod("serving", "acme-0", container("vllm", devices("nvidia.com/gpu", make([]string, maxDevices+1)...)))), errTooMany},
	} {
		t.Run(name, func(t *testing.T) {
			claims, err := new(Config).claims(c.reply)
			if !errors.Is(err, c.want) || claims != nil {
				t.Errorf("got %d claims, %v; want %v", len(claims), err, c.want)
			}
		})
	}
	if claims, err := new(Config).claims(listed(pod("serving", "acme-0", container("vllm", many(maxDevices))))); err != nil || len(claims) != maxDevices {
		t.Errorf("at the limit: %d claims, %v", len(claims), err)
	}
	if _, err := new(Config).allocatable(append(whole, 0)); !errors.Is(err, errWire) {
		t.Errorf("allocatable: %v", err)
	}
}

// many are the replicas of one card.
func many(n int) message {
	ids := make([]string, n)
	for i := range ids {
		ids[i] = fmt.Sprintf("%s::%d", cardA, i)
	}
	return devices("nvidia.com/gpu", ids...)
}

// FuzzAnswer holds what any bytes must keep: no panic, the answer unchanged, and claims that are sorted, there once, of
// bounded length and fit for a label.
func FuzzAnswer(f *testing.F) {
	f.Add([]byte(listed(pod("serving", "acme-0", container("vllm", devices("nvidia.com/gpu", cardA, "nvidia0/gi2/vgpu1", migA+"::3"))))))
	f.Add([]byte(listed(pod("serving", "acme-0", container("vllm", claimed("c", given("gpu.nvidia.com", "node-a", "gpu-3", "s")))))))
	f.Add([]byte(listed(pod("a", "b", container("c", devices("nvidia.com/mig-1g.10gb", "MIG-"+cardA+"/7/0"))), pod("a", "", container("")))))
	f.Add([]byte(allocatable(ofResource("nvidia.com/gpu", cardA, cardB))))
	f.Fuzz(func(t *testing.T, reply []byte) {
		before := slices.Clone(reply)
		cfg := Config{Cards: twoCards{}, Slices: oneSlice{}}
		claims, err := cfg.claims(reply)
		devices, errDevices := cfg.allocatable(reply)
		if !slices.Equal(reply, before) {
			t.Fatal("the answer was changed")
		}
		if err != nil && claims != nil || errDevices != nil && devices != nil {
			t.Error("an answer that is refused is taken in part")
		}
		seen := map[fact.DeviceClaim]bool{}
		for _, c := range claims {
			if seen[c] || c.Pod == "" {
				t.Errorf("twice, or without a pod: %+v", c)
			}
			seen[c] = true
			for _, s := range []string{c.Namespace, c.Pod, c.Container, c.Device, c.Replica, c.Claim} {
				if !utf8.ValidString(s) || len(s) > 2*maxText+1 {
					t.Errorf("%q in %+v", s, c)
				}
			}
			card, _, _ := strings.Cut(c.Device, "/") // an instance of old drivers is told with its card
			if _, is := canonical(card); !is && c.Unresolved == "" {
				t.Errorf("taken as a UUID: %+v", c)
			}
		}
		if !slices.IsSorted(devices) {
			t.Errorf("not sorted: %q", devices)
		}
	})
}

// BenchmarkAnswer reads an answer of a busy node: 4.8 MB, of which 8 devices are GPUs.
func BenchmarkAnswer(b *testing.B) {
	reply := busy(4_800_000)
	b.SetBytes(int64(len(reply)))
	b.ReportAllocs()
	for b.Loop() {
		if claims, err := new(Config).claims(reply); err != nil || len(claims) != 8 {
			b.Fatal(len(claims), err)
		}
	}
}

// busy is an answer of at least so many bytes: pods with a thousand devices of another resource each, and one of eight GPUs.
func busy(size int) message {
	other := make([]string, 1000)
	for i := range other {
		other[i] = fmt.Sprintf("fuse-%d", i)
	}
	cards := make([]string, 8)
	for i := range cards {
		cards[i] = fmt.Sprintf("GPU-cccccccc-0000-4000-8000-%012d", i)
	}
	m := listed(pod("serving", "acme-0", container("vllm", devices("nvidia.com/gpu", cards...))))
	for i := 0; len(m) < size; i++ {
		m = append(m, listed(pod("batch", fmt.Sprintf("job-%d", i), container("main", devices("example.com/fuse", other...))))...)
	}
	return m
}
