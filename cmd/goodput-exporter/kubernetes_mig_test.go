package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// TestAPodsMIGInstanceIsItsEngines: the kubelet calls a MIG instance by its UUID, the page by its card and a number. From the API
// server, the kubelet and the page to the series that joins them, or to the one that says that nothing does.
func TestAPodsMIGInstanceIsItsEngines(t *testing.T) {
	const (
		card     = "GPU-aaaaaaaa-0000-4000-8000-000000000001"
		instance = "MIG-aaaaaaaa-0000-5000-8000-000000000003"
		unknown  = `goodput_engine_gpus{engine="ml.beta-0:8000",join="unmatched",model="llama-3.1-8b"} 0`
		joined   = `goodput_engine_gpus{engine="ml.beta-0:8000",join="pod",model="llama-3.1-8b"} 1`
	)
	held := func(id, pod string) string {
		return fmt.Sprintf("DCGM_FI_PROF_GR_ENGINE_ACTIVE{gpu=\"0\",UUID=%q,device=\"nvidia0\",modelName=\"NVIDIA H100 80GB HBM3\",GPU_I_PROFILE=\"3g.40gb\",GPU_I_ID=%q,hostname=\"n\",container=\"vllm\",namespace=\"ml\",pod=%q} 0.5\n", card, id, pod)
	}
	free := func(id string) string {
		return strings.ReplaceAll(strings.ReplaceAll(held(id, ""), `"vllm"`, `""`), `"ml"`, `""`)
	}
	for sentence, c := range map[string]struct {
		device, page string
		want         []string // there
	}{
		"the page says who holds it":         {instance, held("1", "other-0") + held("2", "beta-0"), []string{joined, fmt.Sprintf("engine=%q,gpu=%q", "ml.beta-0:8000", card+"/2")}},
		"the page does not":                  {instance, free("1") + free("2"), []string{unknown}},
		"the page says another":              {instance, held("1", "other-0") + held("2", "acme-1"), []string{unknown}},
		"the page says two":                  {instance, held("1", "beta-0") + held("2", "beta-0"), []string{unknown}},
		"a driver that says card and number": {"MIG-" + card + "/2/0", free("1") + free("2"), []string{joined, fmt.Sprintf("engine=%q,gpu=%q", "ml.beta-0:8000", card+"/2")}},
	} {
		t.Run(sentence, func(t *testing.T) {
			gpus := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(c.page)) }))
			t.Cleanup(gpus.Close)
			cluster := newCluster(t)
			for i, name := range []string{"acme-0", "beta-0"} {
				ip := fmt.Sprintf("10.0.0.%d", i+1)
				cluster.put(testPod{namespace: "ml", name: name, ip: ip})
				cluster.serve(ip+":8000", simulatedEngine(t))
			}
			text := strings.Replace(cluster.config(""), "gpu: {source: none}", fmt.Sprintf("gpu: {source: dcgm-exporter, url: %q, interval: 1s, pod_resources: {enabled: true, socket: %q}}", gpus.URL+"/metrics", kubeletOf(t, "ml", "beta-0", c.device)), 1)
			p := serveProgram(t, fast+kubeSLO+text)
			for _, want := range c.want {
				p.shows(want)
			}
			p.shows(`goodput_engine_gpus{engine="ml.acme-0:8000",join="unmatched",model="llama-3.1-8b"} 0`)
		})
	}
}
