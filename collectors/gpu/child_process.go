package gpu

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/goodput-exporter/goodput-exporter/collectors/gpu/frame"
	"github.com/goodput-exporter/goodput-exporter/exporter/fact"
)

// ChildName is what goodput-dcgm is called.
const ChildName = "goodput-dcgm"

// FindChild looks for goodput-dcgm: at a path if one is given, else beside the running program, then where commands are.
func FindChild(path string) (string, error) {
	if path != "" {
		return exec.LookPath(path)
	}
	if own, err := os.Executable(); err == nil {
		if found, err := exec.LookPath(filepath.Join(filepath.Dir(own), ChildName)); err == nil {
			return found, nil
		}
	}
	return exec.LookPath(ChildName)
}

// running is a started goodput-dcgm.
type running struct {
	cmd *exec.Cmd
	in  io.Closer // the child ends when its standard input does
	out *os.File
}

// exec starts goodput-dcgm.
func (c *Child) exec(notes io.Writer) (process, error) {
	cmd := exec.Command(c.cfg.Path, c.cfg.args()...)
	// go-dcgm binds libdcgm symbol by symbol; bound at once, those of a newer release would end the process at its start.
	cmd.Env = slices.DeleteFunc(append(os.Environ(), c.cfg.Env...), func(kv string) bool { return strings.HasPrefix(kv, "LD_BIND_NOW=") })
	cmd.Stderr = notes
	// What the child started could hold its standard error open after it.
	cmd.WaitDelay = time.Second
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	// Not StdoutPipe: Wait would close it while the last frame is still in it.
	out, childOut, err := os.Pipe()
	if err != nil {
		in.Close()
		return nil, err
	}
	cmd.Stdout = childOut
	err = cmd.Start()
	childOut.Close()
	if err != nil {
		in.Close()
		out.Close()
		return nil, err
	}
	return &running{cmd: cmd, in: in, out: out}, nil
}

func (r *running) Frames() io.Reader { return r.out }
func (r *running) Kill()             { _ = r.cmd.Process.Kill() }
func (r *running) Wait() error       { return r.cmd.Wait() }
func (r *running) Close()            { r.out.Close() }

func (r *running) Ask() {
	r.in.Close()
	_ = r.cmd.Process.Signal(syscall.SIGTERM)
}

// cannotStart says why there is no process.
func cannotStart(path string, err error) ending {
	text := "goodput-dcgm cannot be started: " + path + ": "
	switch _, stat := os.Stat(path); {
	case errors.Is(err, fs.ErrNotExist) && stat == nil:
		text += "it is there, and the loader that it names is not: it needs a system with glibc; use an image with one"
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, exec.ErrNotFound):
		text += "no such file; install goodput-dcgm, or read a dcgm-exporter page instead"
	case errors.Is(err, fs.ErrPermission):
		text += "permission denied; make it executable for this user, on a mount without noexec"
	default:
		text += clip(err.Error(), maxNote)
	}
	return ending{fact.ReasonExited, text}
}

// ended says why a process ended by itself. last is the last line of its standard error, in which goodput-dcgm says what
// is wrong and what to do.
func ended(status error, last string) ending {
	reason, code, how := fact.ReasonExited, 0, "exit status 0"
	if exit, ok := errors.AsType[*exec.ExitError](status); ok {
		code, how = exit.ExitCode(), exit.ProcessState.String()
	} else if status != nil {
		how = clip(status.Error(), maxNote)
	}
	// Before its own words may stand those of a library that ended no line.
	if i := strings.LastIndex(last, ChildName+": "); i >= 0 {
		last = last[i+len(ChildName)+2:]
	}
	switch {
	case code == frame.ExitLoader:
		last = join(last, "libdcgm.so.4 or a library under it lacks what goodput-dcgm needs; install libdcgm 4.5 or newer, of the host engine's version")
	case code == frame.ExitConnect:
		reason = fact.ReasonConnect
	case strings.Contains(how, "killed") && code < 0:
		last = join(last, "something killed it, such as the memory limit of the container")
	case last == "":
		last = "it did not say why"
	}
	return ending{reason, fmt.Sprintf("goodput-dcgm ended (%s): %s", how, last)}
}

func join(said, remedy string) string {
	if said == "" {
		return remedy
	}
	return said + ": " + remedy
}
