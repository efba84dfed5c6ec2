package browser

import (
	"context"
	"flag"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

var (
	update   = flag.Bool("update", false, "rewrite the pictures in docs/img")
	running  = flag.String("site", "", "open the exporter that runs at this `URL`, and not one of recordings")
	pictures = flag.String("pictures", "", "write pictures of all pages in all looks to this `directory`")
)

// kept are the pictures that are committed. Those in docs/img are of the demo: start it, then run this test with
// -update -site http://127.0.0.1:9810.
var kept = []string{"status-desk-light", "status-desk-dark", "status-phone-light", "status-phone-dark", "engine-desk-light", "slo-desk-light"}

// TestPages opens every kind of page as a person would: on a desk and on a phone, in light and dark, with and without
// scripts.
func TestPages(t *testing.T) {
	parent, base := browser(t), *running
	if base == "" {
		base = site(t, usual, "")
	}
	checkSite(t, parent, base)
}

// TestLongNames: names that no screen is wide enough for, and that would be markup if they could.
func TestLongNames(t *testing.T) {
	long := "long-<b>&" + strings.Repeat("very-long_", 25)
	base := site(t, tapes{long: "vllm-0.32-dp2", strings.Repeat("x", 200): "vllm-0.32-rust"}, long)
	parent := browser(t)
	for _, l := range looks {
		for name, address := range map[string]string{"long": base + "/", "long engine": base + "/engine/" + url.PathEscape(long), "long slo": base + "/slo/chat"} {
			t.Run(l.name+" "+name, func(t *testing.T) { visit(t, parent, base, address, l, name) })
		}
	}
}

// look is one way to look at a page.
type look struct {
	name          string
	width, height int64
	dark, scripts bool
}

var looks = []look{
	{"desk-light", 1600, 1000, false, true},
	{"desk-dark", 1600, 1000, true, true},
	{"phone-light", 390, 844, false, true},
	{"phone-dark", 390, 844, true, false},
}

// checkSite holds the page at a URL, and an engine's and an objective's page that it links to, to what a status page
// must do.
func checkSite(t *testing.T, parent context.Context, base string) {
	// The first engines of the table may be down and have nothing to plot.
	engine, slo := link(t, parent, base, "tr:last-child a[href*='engine/']"), link(t, parent, base, "a[href*='slo/']")
	for _, l := range looks {
		for name, address := range map[string]string{"status": base + "/", "engine": engine, "slo": slo, "missing": base + "/engine/no%20such"} {
			t.Run(l.name+" "+name, func(t *testing.T) {
				visit(t, parent, base, address, l, name)
			})
		}
	}
}

func (l look) scheme() string {
	if l.dark {
		return "dark"
	}
	return "light"
}

// measures are what a page is, once a browser has laid it out.
type measures struct {
	Scroll float64 `json:"scroll"`
	Client float64 `json:"client"`
	Heads  int     `json:"heads"`
	Plots  int     `json:"plots"`
	Ground string  `json:"ground"`
}

// emulate makes the browser a screen of the look's kind, and tells it to report what it complains about.
func emulate(t *testing.T, ctx context.Context, l look) {
	t.Helper()
	for _, call := range []func() error{
		func() error { _, err := chromedp.Call(ctx, network.Enable, network.EnableParams{}); return err },
		func() error { _, err := chromedp.Call(ctx, log.Enable, cdp.Empty{}); return err },
		func() error {
			_, err := chromedp.Call(ctx, emulation.SetDeviceMetricsOverride, emulation.SetDeviceMetricsOverrideParams{Width: l.width, Height: l.height, DeviceScaleFactor: 1, Mobile: l.width < 600})
			return err
		},
		func() error {
			_, err := chromedp.Call(ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: l.scheme()}}})
			return err
		},
		func() error {
			_, err := chromedp.Call(ctx, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: !l.scripts})
			return err
		},
	} {
		must(t, call())
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// visit opens an address and collects what the browser complains about.
func visit(t *testing.T, parent context.Context, base, address string, l look, name string) {
	ctx, cancel := chromedp.NewContext(parent)
	defer cancel()
	ctx, cancelTime := context.WithTimeout(ctx, 30*time.Second)
	defer cancelTime()
	var notes notebook
	must(t, chromedp.Listen(ctx, func(event any) { notes.take(event, base, address) }))
	emulate(t, ctx, l)
	must(t, chromedp.Do(ctx, chromedp.Navigate(address), chromedp.WaitReady(chromedp.CSS("footer"))))
	// Evaluate is not a script of the page, so it works where those are switched off.
	wide, err := chromedp.Run(ctx, chromedp.Evaluate[measures](`({scroll: document.documentElement.scrollWidth, client: document.documentElement.clientWidth,
		heads: document.querySelectorAll("h1").length, plots: document.querySelectorAll("figure svg path").length, ground: getComputedStyle(document.body).backgroundColor})`))
	must(t, err)
	if wide.Scroll > wide.Client {
		t.Errorf("the page is %v pixels wide on a screen of %v: it scrolls sideways", wide.Scroll, wide.Client)
	}
	if wide.Heads != 1 {
		t.Errorf("%d first headings", wide.Heads)
	}
	if name != "missing" && wide.Plots == 0 {
		t.Error("nothing is plotted")
	}
	if isDark := !strings.Contains(wide.Ground, "255, 255, 255"); isDark != l.dark {
		t.Errorf("the ground is %s, on a screen that asks for %s", wide.Ground, l.scheme())
	}
	for _, n := range notes.all() {
		t.Error(n)
	}
	if name != "missing" {
		shoot(t, ctx, l, name)
	}
}

// shoot takes a picture of the whole page, if it is asked for.
func shoot(t *testing.T, ctx context.Context, l look, name string) {
	name = strings.ReplaceAll(name, " ", "-") + "-" + l.name
	var folders []string
	if *update && slices.Contains(kept, name) {
		folders = append(folders, filepath.Join("..", "..", "docs", "img"))
	}
	if *pictures != "" {
		folders = append(folders, *pictures)
	}
	if len(folders) == 0 {
		return
	}
	picture, err := chromedp.Run(ctx, chromedp.FullScreenshot(100))
	must(t, err)
	for _, folder := range folders {
		must(t, os.WriteFile(filepath.Join(folder, name+".png"), small(t, picture), 0o644))
	}
	if *update && name == kept[0] { // what the README shows: no more than a screen
		picture, err := chromedp.Run(ctx, chromedp.CaptureScreenshot())
		must(t, err)
		must(t, os.WriteFile(filepath.Join("..", "..", "docs", "img", "first-screen.png"), small(t, picture), 0o644))
	}
}

// link is the address that a link on the page leads to.
func link(t *testing.T, parent context.Context, base, selector string) string {
	t.Helper()
	ctx, cancel := chromedp.NewContext(parent)
	defer cancel()
	must(t, chromedp.Do(ctx, chromedp.Navigate(base+"/")))
	address, err := chromedp.Run(ctx, chromedp.Evaluate[string](fmt.Sprintf("document.querySelector(%q).href", selector)))
	if err != nil {
		t.Fatalf("no link %s on the page: %v", selector, err)
	}
	return address
}

// notebook holds what the browser complains about, and requests that leave this machine. Its callback runs in another
// goroutine.
type notebook struct {
	sync.Mutex
	notes []string
}

func (n *notebook) take(event any, base, address string) {
	n.Lock()
	defer n.Unlock()
	switch e := event.(type) {
	case *network.EventRequestWillBeSent:
		if u, err := url.Parse(e.Request.URL); err != nil || (u.Scheme != "data" && !strings.HasPrefix(e.Request.URL, base+"/")) {
			n.notes = append(n.notes, "the page asks for "+e.Request.URL)
		}
	case *log.EventEntryAdded:
		if strings.Contains(e.Entry.Text, "404") && e.Entry.URL == address && strings.Contains(address, "no%20such") {
			return // the page that is meant not to be there
		}
		n.notes = append(n.notes, fmt.Sprintf("the browser says: %s (%s)", e.Entry.Text, e.Entry.URL))
	case *runtime.EventConsoleAPICalled, *runtime.EventExceptionThrown:
		n.notes = append(n.notes, fmt.Sprintf("the console says %+v", e))
	}
}

func (n *notebook) all() []string {
	n.Lock()
	defer n.Unlock()
	return n.notes
}

// browser starts a browser for the test. Without one the test is skipped, except where it must run.
func browser(t *testing.T) context.Context {
	t.Helper()
	found := ""
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome", "chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			found = path
			break
		}
	}
	if found == "" {
		if os.Getenv("CI") != "" || os.Getenv("GOODPUT_REQUIRE_BROWSER") != "" {
			t.Fatal("no chromium is on PATH, and this test must run here: install chromium")
		}
		t.Skip("no chromium is on PATH: the status page was not opened in a browser; install chromium, or set GOODPUT_REQUIRE_BROWSER to fail instead")
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(found), chromedp.Flag("hide-scrollbars", false))
	if os.Geteuid() == 0 {
		options = append(options, chromedp.NoSandbox) // the sandbox refuses to work for root
	}
	allocated, cancel := chromedp.NewExecAllocator(t.Context(), options...)
	t.Cleanup(cancel)
	ctx, cancelBrowser := chromedp.NewContext(allocated)
	t.Cleanup(cancelBrowser)
	if err := chromedp.Do(ctx); err != nil {
		t.Fatalf("%s does not start: %v", found, err)
	}
	return ctx
}
