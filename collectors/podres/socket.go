package podres

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// usualSockets are where kubelets listen: below --root-dir, which distributions choose.
func usualSockets() []string {
	roots := []string{
		"/var/lib/kubelet",                          // the kubelet's default
		"/var/snap/microk8s/common/var/lib/kubelet", // MicroK8s
		"/var/lib/k0s/kubelet",                      // k0s: below its --data-dir
		"/var/lib/rancher/k3s/agent/kubelet",        // k3s whose root was moved below its data
		"/opt/rke/var/lib/kubelet",                  // RKE 1 on systems whose /var/lib is read-only
	}
	sockets := make([]string, len(roots))
	for i, root := range roots {
		sockets[i] = filepath.Join(root, "pod-resources", "kubelet.sock")
	}
	return sockets
}

var (
	errAbsent    = errors.New("there is no such file")
	errNoSocket  = errors.New("it is no socket: give the path of the kubelet's socket, which ends in pod-resources/kubelet.sock")
	errDirectory = errors.New("it is a directory: either the path is that of the socket's directory, or the socket was mounted before it existed; give the path of kubelet.sock, and mount its directory")
)

// lookAt says which socket stands at the path now.
func lookAt(path string) (os.FileInfo, error) {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, errAbsent
	case err != nil:
		return nil, err
	case info.IsDir():
		return nil, errDirectory
	case info.Mode()&fs.ModeSocket == 0:
		return nil, errNoSocket
	}
	return info, nil
}

// same is whether it is still that socket: one that a restarted kubelet has made anew is another file.
func same(path string, then os.FileInfo) bool {
	now, err := lookAt(path)
	return err == nil && os.SameFile(now, then)
}

func list(paths []string) string {
	if len(paths) == 1 {
		return paths[0]
	}
	return fmt.Sprintf("%s or %d other places", paths[0], len(paths)-1)
}
