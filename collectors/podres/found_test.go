package podres

import (
	"net"
	"os"
	"path/filepath"
	"testing"
)

func TestASocketIsFoundWhereOneIsMeantToBe(t *testing.T) {
	dir := t.TempDir()
	socket, file, absent := filepath.Join(dir, "s"), filepath.Join(dir, "f"), filepath.Join(dir, "none")
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		paths []string
		want  bool
	}{
		"nothing there":                {[]string{absent}, false},
		"a socket":                     {[]string{socket}, true},
		"a socket behind nothing":      {[]string{absent, socket}, true},
		"a directory mounted in place": {[]string{dir}, true},
		"a file in place":              {[]string{file}, true},
	} {
		t.Run(name, func(t *testing.T) {
			if got := Found(c.paths); got != c.want {
				t.Errorf("got %v", got)
			}
		})
	}
}
