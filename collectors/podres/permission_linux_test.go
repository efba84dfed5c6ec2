package podres

import (
	"os"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"

	"github.com/goodput-exporter/goodput-exporter/exporter/fact"
)

// The kubelet's socket can be written to by its owner only, and its directory entered by its owner's group.
func TestASocketThatIsForbidden(t *testing.T) {
	for name, forbid := range map[string]func(socket string) error{
		"the socket":    func(socket string) error { return os.Chmod(socket, 0o400) },
		"its directory": func(socket string) error { return os.Chmod(filepath.Dir(socket), 0) },
	} {
		t.Run(name, func(t *testing.T) {
			outer, err := os.MkdirTemp("", "podres") // not t.TempDir: another user could not enter it
			if err != nil {
				t.Fatal(err)
			}
			dir := filepath.Join(outer, "pod-resources")
			t.Cleanup(func() { os.Chmod(dir, 0o700); os.RemoveAll(outer) })
			if err := os.MkdirAll(dir, 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.Chmod(outer, 0o755); err != nil {
				t.Fatal(err)
			}
			k := serve(t, filepath.Join(dir, "kubelet.sock"))
			if err := forbid(k.path); err != nil {
				t.Fatal(err)
			}
			asNobody(t, func() { refused(t, reader(t, k.path), fact.ReasonAuth, k.path, "permission denied", "uid 0") })
		})
	}
}

// asNobody does something without root's right to open every file. The right goes with the thread's identity for files,
// so that the thread ends with the goroutine.
func asNobody(t *testing.T, do func()) {
	t.Helper()
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread() // and never unlocked: nobody else may get this thread
		if os.Geteuid() == 0 {
			_, _, _ = syscall.RawSyscall(syscall.SYS_SETFSUID, 65534, 0, 0)
		}
		do()
	}()
	<-done
}
