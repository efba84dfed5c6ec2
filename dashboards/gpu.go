package dashboards

import "github.com/goodput-exporter/goodput-exporter/exporter/catalog"

// gpuBoard shows the GPUs of all nodes, whose they are, and what qualified work costs on them.
func gpuBoard() *builder {
	return frame(GPUUID, "Goodput: GPU",
		"The GPUs under the engines: whose they are, what they do, what holds them down, and what a kept promise costs. Values of a card and of its MIG instances are never added up.").
		WithVariable(modelChoice()).
		WithVariable(sloChoice()).
		WithVariable(choice(catalog.LabelGPU, "GPU", "UUID of a card or MIG instance.", catalog.GPUInfo, ".*")).
		WithRow(section("Whose are they, and are they there", "")).
		WithPanel(gpuIdentity()).
		WithPanel(gpuPresence()).
		WithPanel(gpuHeld()).
		WithPanel(gpuClaims()).
		WithRow(section("What qualified work costs", "")).
		WithPanel(joulesPerToken()).
		WithPanel(joulesPerRequest()).
		WithPanel(moneyPerToken()).
		WithPanel(moneyPerRequest()).
		WithPanel(prices()).
		WithRow(section("What they do", "")).
		WithPanel(gpuLines("GPUs: share of time in which any kernel ran, now",
			"Of the last moment, a sixth of a second to a second. 1 does not mean that there is no room: one small kernel is enough. MIG instances have none.", share, 8, catalog.GPUBusy, "")).
		WithPanel(gpuLines("GPUs: multiprocessors with work, and their occupancy, now",
			"Active: share of time in which a multiprocessor had a warp, mean over all. Occupancy: resident warps of those that there is room for. Where the card can be profiled.", share, 8,
			catalog.GPUSMActive, "active", catalog.GPUSMOccupancy, "occupancy")).
		WithPanel(gpuLines("GPUs: tensor cores, memory's interface and compute engine, now",
			"Shares of cycles, or of time for the engine. Decode is bound by the memory's interface as a rule, prefill by tensor cores. Where the card can be profiled.", share, 8,
			catalog.GPUTensor, "tensor", catalog.GPUDRAM, "memory", catalog.GPUGraphics, "engine")).
		WithPanel(gpuLines("GPU memory: in use, kept by the driver, free and there, now",
			"An engine takes its share at the start, so this says little about load: the KV cache is on the engine board. Of a card, what its MIG instances use is in it.", octets, 12,
			catalog.GPUMemoryUsed, "used", catalog.GPUMemoryReserved, "reserved", catalog.GPUMemoryFree, "free", catalog.GPUMemoryTotal, "total")).
		WithPanel(gpuLines("GPUs: clocks, now", "Clocks fall when a card is idle, too hot, or at its power limit: the panel of throttling says which.", hertz, 12,
			catalog.GPUSMClock, "multiprocessors", catalog.GPUMemoryClock, "memory")).
		WithPanel(gpuLines("GPUs: sent and received over PCIe, each second, now", "By the source's own mean between its samples, which may be of 30 s. Where the card can be profiled.", octetsRate, 12,
			catalog.GPUPCIeTx, "sent", catalog.GPUPCIeRx, "received")).
		WithPanel(gpuLines("GPUs: sent and received over all NVLinks, each second, now", "By the source's own mean between its samples. Under tensor parallelism every token passes here.", octetsRate, 12,
			catalog.GPUNVLinkTx, "sent", catalog.GPUNVLinkRx, "received")).
		WithRow(section("Power, heat and what holds them down", "")).
		WithPanel(gpuLines("GPUs: power and its limit, now", "At the limit a card lowers its clocks; under full load that is how it was built. One value of many: energy is exact.", watts, 8,
			catalog.GPUPower, "drawn", catalog.GPUPowerLimit, "limit")).
		WithPanel(gpuEnergy()).
		WithPanel(gpuLines("GPUs: temperature of chip and memory, now", "Where throttling by heat begins depends on the model of the card; the panel of throttling says when it has.", celsius, 8,
			catalog.GPUTemperature, "chip", catalog.GPUMemoryTemperature, "memory")).
		WithPanel(gpuThrottle()).
		WithRow(section("Errors", "")).
		WithPanel(gpuXIDs()).
		WithPanel(gpuErrorsOverTime()).
		WithPanel(gpuHealth()).
		WithRow(section("Can it be trusted", "")).
		WithPanel(gpuSources()).
		WithPanel(gpuSourceAge()).
		WithPanel(gpuDropped())
}
