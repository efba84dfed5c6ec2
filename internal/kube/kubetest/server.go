// Package kubetest is an API server for tests: it lists and watches one kind of object as the real one does, and fails as it is told
// to. Nothing but tests imports it.
package kubetest

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// Object is an object as JSON has it. A server sets its resourceVersion.
type Object map[string]any

func (o Object) meta() map[string]any { m, _ := o["metadata"].(map[string]any); return m }

func (o Object) text(field string) string { s, _ := o.meta()[field].(string); return s }

// Server is an http.Handler. It is safe for concurrent use.
type Server struct {
	path, resource string // "/api/v1", "pods"

	mu      sync.Mutex
	version int
	objects map[string]Object // by namespace/name
	log     []event           // that a watch may begin before
	floor   int               // what came before this version is forgotten
	changed chan struct{}     // closed at the next change
	broken  chan struct{}     // closed when all connections are to break
	fault   func(w http.ResponseWriter, r *http.Request) bool
	lists   int
	watches int
	open    int
	last    http.Header // of the request before
	limit   int         // objects on a page; 0: as many as are asked for
}

type event struct {
	version   int
	kind      string
	namespace string
	object    Object // as it is afterwards, or was at last
}

// New is a server of one resource, as in New("/api/v1", "pods").
func New(path, resource string) *Server {
	return &Server{path: path, resource: resource, version: 1000, objects: map[string]Object{}, changed: make(chan struct{}), broken: make(chan struct{})}
}

// Put adds or changes an object, and returns the version that it is now.
func (s *Server) Put(o Object) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	o = maps.Clone(o)
	o["metadata"] = maps.Clone(o.meta())
	key, kind := o.text("namespace")+"/"+o.text("name"), "MODIFIED"
	if s.objects[key] == nil {
		kind = "ADDED"
	}
	s.objects[key] = o
	s.happened(kind, o)
	return s.version
}

// Delete removes an object, if it is there.
func (s *Server) Delete(namespace, name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if o := s.objects[namespace+"/"+name]; o != nil {
		delete(s.objects, namespace+"/"+name)
		o = maps.Clone(o)
		o["metadata"] = maps.Clone(o.meta())
		s.happened("DELETED", o)
	}
}

// Say sends an event that is none of an object.
func (s *Server) Say(kind string, o Object) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.happened(kind, o)
}

// Bookmark tells all watches the version of now.
func (s *Server) Bookmark() {
	s.Say("BOOKMARK", Object{"kind": "Pod", "metadata": map[string]any{}})
}

func (s *Server) happened(kind string, o Object) {
	s.version++
	if m := o.meta(); m != nil {
		m["resourceVersion"] = strconv.Itoa(s.version)
	}
	s.log = append(s.log, event{s.version, kind, o.text("namespace"), o})
	close(s.changed)
	s.changed = make(chan struct{})
}

// Forget is what compaction does: a watch can begin at the version of now or later only. One that is open and has not been told everything
// ends with an error.
func (s *Server) Forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.version++
	s.log, s.floor = nil, s.version
	close(s.changed)
	s.changed = make(chan struct{})
}

// Compact forgets what came before the version of now, and no more: whoever has been told everything can go on.
func (s *Server) Compact() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.log, s.floor = nil, s.version
}

// Break breaks the connections of all watches, within an event where they are writing one.
func (s *Server) Break() {
	s.mu.Lock()
	defer s.mu.Unlock()
	close(s.broken)
	s.broken = make(chan struct{})
}

// Fail has a function answer instead, as long as it returns true; nil ends that.
func (s *Server) Fail(f func(w http.ResponseWriter, r *http.Request) bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fault = f
}

// Page bounds the objects of one answer, whatever is asked for.
func (s *Server) Page(limit int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.limit = limit
}

// Asked is how many lists (pages) and watches were asked for, and how many watches are open.
func (s *Server) Asked() (lists, watches, open int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.lists, s.watches, s.open
}

// Header is that of the last request.
func (s *Server) Header() http.Header {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.last
}

// Status is the API server's way to say no.
func Status(code int, reason, message string) Object {
	return Object{"kind": "Status", "apiVersion": "v1", "metadata": map[string]any{}, "status": "Failure", "code": code, "reason": reason, "message": message}
}

// Refuse answers with a Status.
func Refuse(w http.ResponseWriter, code int, reason, message string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(Status(code, reason, message))
}

func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	watch := r.URL.Query().Get("watch") == "true"
	s.mu.Lock()
	s.last = r.Header
	if watch {
		s.watches++
	} else {
		s.lists++
	}
	fault := s.fault
	s.mu.Unlock()
	if fault != nil && fault(w, r) {
		return
	}
	in, found := s.within(r.URL.Path)
	switch {
	case !found:
		Refuse(w, http.StatusNotFound, "NotFound", "the server could not find the requested resource")
	case watch:
		s.watch(w, r, in)
	default:
		s.list(w, r, in)
	}
}

// within takes a path apart.
func (s *Server) within(path string) (func(namespace string, o Object) bool, bool) {
	rest, ok := strings.CutPrefix(path, s.path+"/")
	if !ok {
		return nil, false
	}
	if rest == s.resource {
		return func(string, Object) bool { return true }, true
	}
	of, ok := strings.CutPrefix(rest, "namespaces/")
	if !ok {
		return nil, false
	}
	name, resource, _ := strings.Cut(of, "/")
	return func(namespace string, _ Object) bool { return namespace == name }, resource == s.resource
}

// onNode is the one field selector that is understood.
func onNode(r *http.Request, o Object) bool {
	node, ok := strings.CutPrefix(r.URL.Query().Get("fieldSelector"), "spec.nodeName=")
	if !ok {
		return true
	}
	spec, _ := o["spec"].(map[string]any)
	return spec["nodeName"] == node
}

func (s *Server) list(w http.ResponseWriter, r *http.Request, in func(string, Object) bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var keys []string
	for key, o := range s.objects {
		if in(o.text("namespace"), o) && onNode(r, o) {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	from := r.URL.Query().Get("continue")
	if at, found := slices.BinarySearch(keys, from); found || from != "" {
		keys = keys[at:]
	}
	limit, _ := strconv.Atoi(r.URL.Query().Get("limit"))
	if s.limit > 0 {
		limit = s.limit
	}
	meta := map[string]any{"resourceVersion": strconv.Itoa(s.version)}
	if limit > 0 && limit < len(keys) {
		meta["continue"] = keys[limit]
		keys = keys[:limit]
	}
	items := make([]Object, 0, len(keys))
	for _, key := range keys {
		items = append(items, s.objects[key])
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(map[string]any{"kind": "PodList", "apiVersion": "v1", "metadata": meta, "items": items})
}

func (s *Server) watch(w http.ResponseWriter, r *http.Request, in func(string, Object) bool) {
	at, err := strconv.Atoi(r.URL.Query().Get("resourceVersion"))
	s.mu.Lock()
	s.open++
	forgotten := at < s.floor
	s.mu.Unlock()
	defer func() { s.mu.Lock(); s.open--; s.mu.Unlock() }()
	if err != nil || forgotten {
		Refuse(w, http.StatusGone, "Expired", fmt.Sprintf("too old resource version: %d", at))
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.(http.Flusher).Flush()
	enc := json.NewEncoder(w)
	for {
		s.mu.Lock()
		changed, broken, forgotten := s.changed, s.broken, at < s.floor
		var due []event
		for _, e := range s.log {
			if e.version > at {
				due = append(due, e)
			}
		}
		s.mu.Unlock()
		if forgotten {
			_ = enc.Encode(map[string]any{"type": "ERROR", "object": Status(http.StatusGone, "Expired", "the watch has been too slow")})
			return
		}
		for _, e := range due {
			at = e.version
			if e.object["spec"] != nil && (!in(e.namespace, e.object) || !onNode(r, e.object)) {
				continue
			}
			if enc.Encode(map[string]any{"type": e.kind, "object": e.object}) != nil {
				return
			}
			w.(http.Flusher).Flush()
		}
		select {
		case <-changed:
		case <-broken:
			_, _ = w.Write([]byte(`{"type":"ADDED","object":{"metadata":{"name":"ha`))
			w.(http.Flusher).Flush()
			panic(http.ErrAbortHandler)
		case <-r.Context().Done():
			return
		}
	}
}

// Lose removes an object without an event.
func (s *Server) Lose(namespace, name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.objects, namespace+"/"+name)
}
