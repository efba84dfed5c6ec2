//go:build linux && cgo

package main

import (
	"strings"
	"syscall"
	"testing"

	"github.com/goodput-exporter/goodput-exporter/collectors/gpu/frame"
)

func TestWhatCannotWorkEndsWithItsReason(t *testing.T) {
	whole := double(t)
	withoutVersion := double(t, "WITHOUT_ENGINE_VERSION")
	withoutV3 := double(t, "WITHOUT_CONNECT_V3")
	const remote, embedded, vsock = "--address=localhost:5555", "--embedded", "--address=vsock://2:5555"
	for name, c := range map[string]struct {
		library string
		script  []string
		flag    string
		status  int
		says    string
	}{
		"there is no library": {t.TempDir(), nil, remote, frame.ExitLibrary,
			"libdcgm.so.4 cannot be loaded (libdcgm.so.4: cannot open shared object file: No such file or directory); install"},
		"the library lacks a function":           {withoutVersion, nil, embedded, frame.ExitLibrary, "libdcgm.so.4 lacks dcgmHostengineVersionInfo; DCGM 4.0 or newer is needed"},
		"a vsock needs a newer library":          {withoutV3, nil, vsock, frame.ExitLibrary, "libdcgm.so.4 lacks dcgmConnect_v3; DCGM 4.5 or newer is needed"},
		"the library needs what is nowhere":      {whole, []string{"hole dcgmInit"}, remote, frame.ExitLoader, "symbol lookup error"},
		"and needs it in the middle":             {whole, []string{"hole dcgmEntitiesGetLatestValues"}, embedded, frame.ExitLoader, "symbol lookup error"},
		"nobody listens":                         {whole, []string{"fail dcgmConnect_v2 -21"}, remote, frame.ExitConnect, "host engine at localhost:5555: error connecting to nv-hostengine: Host engine connection invalid/disconnected; is nv-hostengine running"},
		"nobody listens at the vsock":            {whole, []string{"fail dcgmConnect_v3 -21"}, vsock, frame.ExitConnect, "host engine at vsock://2:5555: "},
		"the embedded engine has no driver":      {whole, []string{"fail dcgmStartEmbedded -8"}, embedded, frame.ExitConnect, "embedded host engine: error starting nv-hostengine: Another error; it needs the NVIDIA driver"},
		"the engine refuses the connection":      {whole, []string{"fail dcgmConnect_v2 -12"}, remote, frame.ExitVersion, "API version mismatch; install the libdcgm of the host engine's version"},
		"the library is newer":                   {whole, []string{"library 4.6.1", "engine 4.5.3"}, remote, frame.ExitVersion, "libdcgm.so.4 4.6.1 is newer than the host engine, 4.5.3, which does not know all of its requests; install libdcgm 4.5.3 here"},
		"the engine knows no read":               {whole, []string{"fail dcgmEntitiesGetLatestValues -20"}, remote, frame.ExitVersion, "the host engine does not understand libdcgm"},
		"the engine is dead at the first look":   {whole, []string{"fail dcgmGetEntityGroupEntities -21"}, remote, frame.ExitEngine, "list of cards"},
		"nothing can be watched":                 {whole, []string{"fail dcgmWatchFields -29"}, remote, frame.ExitEngine, "watch 30 fields of 1 entities"},
		"values cannot be read, again and again": {whole, []string{"fail dcgmEntitiesGetLatestValues -3"}, embedded, frame.ExitEngine, "read values: 3 times in a row: Another error"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c2 := newWorld(t, c.library, append(node(1), c.script...)...).start(c.flag, "--interval=100ms")
			status := c2.exit()
			lines := strings.Split(strings.TrimSpace(c2.said()), "\n")
			if status != c.status || !strings.Contains(lines[len(lines)-1], c.says) {
				t.Errorf("exit status %d, last line %q; want %d and %q", status, lines[len(lines)-1], c.status, c.says)
			}
		})
	}
}

func TestADeadEngineEndsTheChild(t *testing.T) {
	w := newWorld(t, double(t), node(1)...)
	c := w.start("--address=localhost:5555", "--interval=100ms")
	c.next()
	w.is(append(node(1), "fail * -21")...)
	if status := c.exit(); status != frame.ExitEngine || !strings.Contains(c.said(), "the host engine went away: Host engine connection invalid/disconnected") {
		t.Errorf("exit status %d, %q", status, c.said())
	}
}

func TestOneFailedReadIsForgiven(t *testing.T) {
	w := newWorld(t, double(t), node(1)...)
	c := w.start("--embedded", "--interval=1s")
	c.next()
	w.is(append(node(1), "fail dcgmEntitiesGetLatestValues -3")...)
	for len(w.called("dcgmEntitiesGetLatestValues")) < 2 {
		c.drain()
	}
	w.is(node(1)...)
	c.next()
}

func TestVersionsThatMayFitAreTried(t *testing.T) {
	library := double(t)
	for name, c := range map[string]struct {
		script []string
		says   string // "" nothing at all
	}{
		"the engine is newer":                   {[]string{"library 4.5.0", "engine 4.6.1"}, ""},
		"the engine is newer and strict":        {[]string{"library 4.6.1", "engine 4.7.1"}, "libdcgm.so.4 4.6.1 is older than the host engine, 4.7.1; from DCGM 4.7.1 on they are to be of one version"},
		"the engine does not tell":              {[]string{"fail dcgmHostengineVersionInfo -20"}, `the versions of libdcgm.so.4 ("4.6.1") and of the host engine ("") are not both known`},
		"a version that nobody understands":     {[]string{"engine nightly"}, `and of the host engine ("") are not both known`},
		"MIG cannot be listed on this release":  {[]string{"fail dcgmGetGpuInstanceHierarchy -12"}, "MIG instances are not seen"},
		"the driver holds the profile counters": {[]string{"fail profiling -34"}, "profiling fields of cards [0] are not watched"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, library, append(node(1), c.script...)...)
			child := w.start("--address=localhost:5555", "--interval=100ms")
			if f := child.next(); len(f.Entities) != 1 {
				t.Errorf("%+v", f)
			}
			child.next()
			child.stdin.Close()
			if status := child.exit(); status != 0 {
				t.Errorf("exit status %d", status)
			}
			said := child.said()
			if c.says == "" && said != "" || strings.Count(said, c.says) != 1 && c.says != "" {
				t.Errorf("said %q, want %q once", said, c.says)
			}
		})
	}
}

func TestASignalEndsIt(t *testing.T) {
	for _, sig := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT} {
		w := newWorld(t, double(t), node(1)...)
		c := w.start("--address=localhost:5555", "--interval=1m")
		c.next()
		if err := c.cmd.Process.Signal(sig); err != nil {
			t.Fatal(err)
		}
		if status := c.exit(); status != 0 || len(w.called("dcgmDisconnect")) != 1 {
			t.Errorf("%s: exit status %d, %q; calls %q", sig, status, c.said(), w.called(""))
		}
	}
}
