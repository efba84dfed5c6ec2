package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/goodput-exporter/goodput-exporter/exporter/sim"
)

// kubeletOf listens on a unix socket and lists one pod with a container that holds a GPU, as device plugins give it.
func kubeletOf(t *testing.T, namespace, pod, uuid string) (socket string) {
	t.Helper()
	device := protoField(protoField(nil, 1, []byte("nvidia.com/gpu")), 2, []byte(uuid))
	container := protoField(protoField(nil, 1, []byte("vllm")), 2, device)
	list := protoField(nil, 1, protoField(protoField(protoField(nil, 1, []byte(pod)), 2, []byte(namespace)), 3, container))

	return kubeletThatLists(t, list)
}

// TestAPodsGPUsAreItsEngines: from the API server, the kubelet and the page of the node's GPUs, to the series that joins them. The
// two engines of the node differ in their pods only, so that nothing else could tell whose the GPU is.
func TestAPodsGPUsAreItsEngines(t *testing.T) {
	world, err := sim.New(sim.Config{Seed: 1, Start: float64(time.Now().Unix()) - 60, Engines: []sim.Engine{{ID: "a", Model: sim.ChatModel, Step: sim.H100, MaxSeqs: 128, GPU: sim.GPUModel{Count: 1}}}})
	if err != nil {
		t.Fatal(err)
	}
	world.Run(unix(time.Now()))
	page := world.GPUPage(sim.GPURegime48)
	uuid := world.GPUs()[0].UUID
	gpus := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(page) }))
	t.Cleanup(gpus.Close)

	c := newCluster(t)
	for i, name := range []string{"acme-0", "beta-0"} {
		ip := fmt.Sprintf("10.0.0.%d", i+1)
		c.put(testPod{namespace: "ml", name: name, ip: ip})
		c.serve(ip+":8000", simulatedEngine(t))
	}
	text := strings.Replace(c.config(""), "gpu: {source: none}", fmt.Sprintf("gpu: {source: dcgm-exporter, url: %q, interval: 1s, pod_resources: {enabled: true, socket: %q}}", gpus.URL+"/metrics", kubeletOf(t, "ml", "beta-0", uuid)), 1)
	p := serveProgram(t, fast+kubeSLO+text)
	p.shows(`goodput_engine_gpus{engine="ml.beta-0:8000",join="pod",model="llama-3.1-8b"} 1`)
	body := p.shows(`goodput_gpu_info{`)
	for line := range strings.Lines(body) {
		if strings.HasPrefix(line, "goodput_gpu_info{") && (!strings.Contains(line, `engine="ml.beta-0:8000"`) || !strings.Contains(line, `gpu="`+uuid+`"`) || !strings.Contains(line, `join="pod"`)) {
			t.Error(line)
		}
	}
	p.shows(`goodput_engine_gpus{engine="ml.acme-0:8000",join="unmatched",model="llama-3.1-8b"} 0`)
}
