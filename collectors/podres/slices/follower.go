package slices

import (
	"net/http"

	"github.com/goodput-exporter/goodput-exporter/internal/kube"
)

// follower takes what is told of the slices. Its methods are called one at a time.
type follower struct {
	slices  *Slices
	missing func()               // is called when the server does not have this version of the API
	kept    map[string]published // by names, which are unique in a cluster
	up      bool                 // the server has this version
	more    bool                 // there were more than maxSlices, since all were listed
}

func (f *follower) Replace(all []resourceSlice) {
	f.kept, f.more = map[string]published{}, false
	for i := range all {
		f.put(&all[i])
	}
	f.publish()
}

func (f *follower) Put(s resourceSlice) {
	f.put(&s)
	f.publish()
}

func (f *follower) put(s *resourceSlice) {
	name := s.Metadata.Name
	p, ours := s.keep(f.slices.cfg.Node)
	_, known := f.kept[name]
	switch {
	case !ours:
		delete(f.kept, name)
	case known || len(f.kept) < maxSlices:
		f.kept[name] = p
	default:
		f.more = true
	}
}

func (f *follower) Delete(m kube.Metadata) {
	delete(f.kept, m.Name)
	f.publish()
}

func (f *follower) publish() { f.slices.devices.Store(indexOf(f.kept, f.more)) }

// Told keeps what is wrong, but for a version of the API that the server does not have, which another may stand for.
func (f *follower) Told(s kube.State) {
	switch {
	case s.Code == http.StatusNotFound:
		f.missing()
	case s.Code == http.StatusForbidden:
		f.slices.say(&trouble{s.Code, "the service account may not read ResourceSlices: add the component dra of deploy/kustomize, or set dra.enabled of the Helm chart; " + s.Problem})
	case s.Problem != "":
		f.slices.say(&trouble{s.Code, s.Problem})
	case s.Up:
		f.up = true
		f.slices.say(nil)
	}
}
