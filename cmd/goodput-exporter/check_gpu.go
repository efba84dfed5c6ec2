package main

import (
	"fmt"
	"io"

	"github.com/goodput-exporter/goodput-exporter/collectors/gpu"
	"github.com/goodput-exporter/goodput-exporter/exporter/config"
)

// checkGPUs says, as a comment, when the program that the configuration reads DCGM through is not there. That is no mistake:
// the file may be checked elsewhere, and the exporter goes on without GPUs.
func checkGPUs(cfg *config.Config, out io.Writer) {
	if cfg.GPU.Source != config.GPUDCGM {
		return
	}
	command := cfg.Path(cfg.GPU.DCGM.Command)
	if _, err := gpu.FindChild(command); err == nil {
		return
	}
	if command == "" {
		fmt.Fprintf(out, "# gpu.source: %s is neither beside this program nor on the PATH of this machine; install it where the exporter runs, or name it under gpu.dcgm.command\n", gpu.ChildName)
		return
	}
	fmt.Fprintf(out, "# gpu.dcgm.command: %s cannot be run on this machine; see that it is there and executable where the exporter runs\n", command)
}
