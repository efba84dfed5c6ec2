package image

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
)

// asContainer is set, to the root directory, for the process that becomes a container. Its arguments are the command.
const asContainer = "GOODPUT_TEST_CONTAINER"

// nobody is the user of the images.
const nobody = 65532

// container does what a runtime does with an image: in name spaces of its own it makes the root read-only and its own, gives up
// root, and runs the command. It does not come back. What cannot be done ends it with status 125, as with Docker.
func container() {
	runtime.LockOSThread() // of which privileges are forbidden, and which becomes the command
	dir := os.Getenv(asContainer)
	steps := []struct {
		what string
		do   func() error
	}{
		{"keep the mounts to itself", func() error { return syscall.Mount("", "/", "", syscall.MS_REC|syscall.MS_PRIVATE, "") }},
		{"mount the root", func() error { return syscall.Mount(dir, dir, "", syscall.MS_BIND, "") }},
		{"mount proc", func() error {
			return syscall.Mount("proc", filepath.Join(dir, "proc"), "proc", syscall.MS_NOSUID|syscall.MS_NODEV|syscall.MS_NOEXEC, "")
		}},
		{"make the root read-only", func() error {
			return syscall.Mount("", dir, "", syscall.MS_BIND|syscall.MS_REMOUNT|syscall.MS_RDONLY|syscall.MS_NOSUID|syscall.MS_NODEV, "")
		}},
		{"forbid new privileges", func() error {
			const noNewPrivileges = 38
			if _, _, e := syscall.RawSyscall6(syscall.SYS_PRCTL, noNewPrivileges, 1, 0, 0, 0, 0); e != 0 {
				return e
			}
			return nil
		}},
		{"go into the root", func() error { return syscall.Chroot(dir) }},
		{"go to /", func() error { return os.Chdir("/") }},
		{"leave all groups", func() error { return syscall.Setgroups(nil) }},
		{"change the group", func() error { return syscall.Setgid(nobody) }},
		{"change the user", func() error { return syscall.Setuid(nobody) }}, // the capabilities go with root
	}
	for _, s := range steps {
		if err := s.do(); err != nil {
			fmt.Fprintf(os.Stderr, "container: %s: %v\n", s.what, err)
			os.Exit(125)
		}
	}
	var env []string
	for _, e := range os.Environ() {
		if strings.HasPrefix(e, "GOMEMLIMIT=") {
			env = append(env, e)
		}
	}
	fmt.Fprintln(os.Stderr, "container:", syscall.Exec(os.Args[1], os.Args[1:], env))
	os.Exit(126)
}
