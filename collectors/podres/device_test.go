package podres

import (
	"strings"
	"testing"

	"github.com/goodput-exporter/goodput-exporter/exporter/fact"
)

// twoCards are a card with number 0, whose instance 2 has a UUID, and nothing else.
type twoCards struct{}

func (twoCards) Card(number int, instance string) (string, bool) {
	switch {
	case number == 0 && instance == "":
		return cardA, true
	case number == 0 && instance == "2":
		return migA, true
	}
	return "", false
}

// oneSlice is a ResourceSlice of one pool with one device, and another that has a UUID of no known form.
type oneSlice struct{}

func (oneSlice) Resolve(pool, device string) (string, bool) {
	if device == "gpu-7" {
		return "GPU-no-uuid", true
	}
	return cardB, pool == "node-a" && device == "gpu-3"
}

func TestFormsOfADevice(t *testing.T) {
	const gpu = "nvidia.com/gpu"
	long := strings.Repeat("x", 255) + "é"
	// What a container with one device holds, as device, replica, why not; "none" where it is no GPU.
	for name, c := range map[string]struct {
		part    message
		knowing bool // cards and slices
		want    string
	}{
		"a card":                                   {part: devices(gpu, cardA), want: cardA + ",,"},
		"a MIG instance of the mixed strategy":     {part: devices("nvidia.com/mig-1g.10gb", migA), want: migA + ",,"},
		"a MIG instance of the single strategy":    {part: devices(gpu, migA), want: migA + ",,"},
		"a MIG instance as old drivers name it":    {part: devices(gpu, "MIG-"+cardA+"/7/0"), want: cardA + "/7,,"},
		"a time slice of a card":                   {part: devices(gpu, cardA+"::3"), want: cardA + ",3,"},
		"a time slice under the shared name":       {part: devices("nvidia.com/gpu.shared", cardA+"::11"), want: cardA + ",11,"},
		"a time slice of a MIG instance":           {part: devices("nvidia.com/mig-1g.10gb.shared", migA+"::0"), want: migA + ",0,"},
		"a replica that has no number":             {part: devices(gpu, cardA+"::x"), want: cardA + "::x,,form"},
		"a replica of an empty number":             {part: devices(gpu, cardA+"::"), want: cardA + "::,,form"},
		"a card by its file, of cards unknown":     {part: devices(gpu, "nvidia0"), want: "nvidia0,,name"},
		"a card by its file":                       {part: devices(gpu, "nvidia0"), knowing: true, want: cardA + ",,"},
		"a card by its file that is not there":     {part: devices(gpu, "nvidia5"), knowing: true, want: "nvidia5,,name"},
		"a share of a card by its file":            {part: devices(gpu, "nvidia0/vgpu1"), knowing: true, want: cardA + ",1,"},
		"a share of a card by its file, unknown":   {part: devices(gpu, "nvidia0/vgpu1"), want: "nvidia0,1,name"},
		"an instance by its file":                  {part: devices(gpu, "nvidia0/gi2"), knowing: true, want: migA + ",,"},
		"an instance by its file, unknown":         {part: devices(gpu, "nvidia0/gi2"), want: "nvidia0/gi2,,name"},
		"an instance that the card does not have":  {part: devices(gpu, "nvidia0/gi9"), knowing: true, want: "nvidia0/gi9,,name"},
		"a share of an instance by its file":       {part: devices(gpu, "nvidia0/gi2/vgpu1"), knowing: true, want: migA + ",1,"},
		"a file's name with more behind it":        {part: devices(gpu, "nvidia0/gi2/vgpu1/x"), knowing: true, want: "nvidia0/gi2/vgpu1/x,,form"},
		"a file's name in another order":           {part: devices(gpu, "nvidia0/vgpu1/gi2"), knowing: true, want: "nvidia0/vgpu1/gi2,,form"},
		"a file's name without a number":           {part: devices(gpu, "nvidiactl"), knowing: true, want: "nvidiactl,,form"},
		"a file's name with a number beyond all":   {part: devices(gpu, "nvidia99999999999999999999"), knowing: true, want: "nvidia99999999999999999999,,form"},
		"an index alone":                           {part: devices(gpu, "0"), knowing: true, want: "0,,form"},
		"an id of a plugin that chooses otherwise": {part: devices(gpu, cardA+"-3"), want: cardA + "-3,,form"},
		"a UUID that is none":                      {part: devices(gpu, "GPU-zaaaaaaa-0000-4000-8000-000000000001"), want: "GPU-zaaaaaaa-0000-4000-8000-000000000001,,form"},
		"a UUID without its dashes":                {part: devices(gpu, "GPU-"+strings.Repeat("a", 36)), want: "GPU-" + strings.Repeat("a", 36) + ",,form"},
		"an old instance without its parts":        {part: devices(gpu, "MIG-"+cardA+"/7"), want: "MIG-" + cardA + "/7,,form"},
		"an empty id":                              {part: devices(gpu, ""), want: ",,form"},
		"an id of no end":                          {part: devices(gpu, long+long), want: strings.Repeat("x", 255) + ",,form"},
		"a device of a resource that was named":    {part: devices("example.com/gpu", cardA), want: cardA + ",,"},
		"a device of a resource of a family":       {part: devices("example.com/slice-4", cardA), want: cardA + ",,"},
		"a device of another resource":             {part: devices("example.com/gpux", cardA), want: "none"},
		"a network card":                           {part: devices("nvidia.com/hostdev", cardA), want: "none"},
		"a claim's device, of slices unknown":      {part: claimed("gpus", given("gpu.nvidia.com", "node-a", "gpu-3", "")), want: "node-a/gpu-3,,dra"},
		"a claim's device":                         {part: claimed("gpus", given("gpu.nvidia.com", "node-a", "gpu-3", "")), knowing: true, want: cardB + ",,"},
		"a claim's device that no slice has":       {part: claimed("gpus", given("gpu.nvidia.com", "node-a", "gpu-4", "")), knowing: true, want: "node-a/gpu-4,,dra"},
		"a claim's device under an odd UUID":       {part: claimed("gpus", given("gpu.nvidia.com", "node-a", "gpu-7", "")), knowing: true, want: "node-a/gpu-7,,dra"},
		"a share of a claim's device":              {part: claimed("gpus", given("gpu.nvidia.com", "node-a", "gpu-3", "7c1e")), knowing: true, want: cardB + ",7c1e,"},
		"a claim on another driver":                {part: claimed("net", given("dra.net", "node-a", "gpu-3", "")), want: "none"},
		"a claim on the driver of domains":         {part: claimed("imex", given("compute-domain.nvidia.com", "node-a", "channel-0", "")), want: "none"},
		"a claim told by the runtime's name alone": {part: claimed("gpus", message(nil).with(1, message(nil).text(1, "k8s.gpu.nvidia.com/claim=1f-gpu-0"))), want: "k8s.gpu.nvidia.com/claim=1f-gpu-0,,dra"},
		"another's claim told by that name":        {part: claimed("net", message(nil).with(1, message(nil).text(1, "k8s.dra.net/claim=gpu.nvidia.com"))), want: "none"},
	} {
		t.Run(name, func(t *testing.T) {
			cfg := Config{Resources: []string{"example.com/gpu", "example.com/slice-*"}}
			if c.knowing {
				cfg.Cards, cfg.Slices = twoCards{}, oneSlice{}
			}
			claims, err := cfg.claims(listed(pod("serving", "acme-0", container("vllm", c.part))))
			if err != nil {
				t.Fatal(err)
			}
			got := "none"
			if len(claims) == 1 {
				got = strings.Join([]string{claims[0].Device, claims[0].Replica, claims[0].Unresolved}, ",")
			}
			if got != c.want || len(claims) > 1 {
				t.Errorf("got %q of %+v, want %q", got, claims, c.want)
			}
		})
	}
}

// emptyCards says that it knows, and then does not.
type emptyCards struct{}

func (emptyCards) Card(int, string) (string, bool)       { return "", true }
func (emptyCards) Resolve(string, string) (string, bool) { return "", true }

func TestAnEmptyUUIDIsNone(t *testing.T) {
	cfg := Config{Cards: emptyCards{}, Slices: emptyCards{}}
	claims, err := cfg.claims(listed(pod("serving", "acme-0", container("vllm",
		devices("nvidia.com/gpu", "nvidia0"), claimed("gpus", given("gpu.nvidia.com", "node-a", "gpu-3", ""))))))
	if err != nil || len(claims) != 2 || claims[0].Unresolved != fact.UnresolvedDRA || claims[1].Unresolved != fact.UnresolvedName {
		t.Errorf("got %+v, %v", claims, err)
	}
}
