// Command goodput-dcgm reads DCGM on behalf of goodput-exporter, which starts it, and writes what it read to its standard
// output, one frame a tick (collectors/gpu/frame). It is a process of its own because libdcgm can end or hang the process
// that loads it; it judges no value, and it ends whenever it is of no more use. docs/dcgm.md says when it is needed.
package main
