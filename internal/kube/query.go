package kube

import (
	"net/url"
)

// Query says which objects are asked for.
type Query struct {
	Group     string // of the API; "" is the core
	Version   string // "v1"
	Resource  string // "pods"
	Namespace string // "" is all of them, and what has none
	Labels    string // a label selector; "" is all
	Fields    string // a field selector; "" is all
}

// path is where the API server keeps such objects.
func (q Query) path() string {
	p := "/api/" + url.PathEscape(q.Version)
	if q.Group != "" {
		p = "/apis/" + url.PathEscape(q.Group) + "/" + url.PathEscape(q.Version)
	}
	if q.Namespace != "" {
		p += "/namespaces/" + url.PathEscape(q.Namespace)
	}
	return p + "/" + url.PathEscape(q.Resource)
}

// params are the parameters of every request for such objects.
func (q Query) params() url.Values {
	v := url.Values{}
	if q.Labels != "" {
		v.Set("labelSelector", q.Labels)
	}
	if q.Fields != "" {
		v.Set("fieldSelector", q.Fields)
	}
	return v
}

// String is what is asked for, for people.
func (q Query) String() string {
	s := q.Resource
	if q.Group != "" {
		s += "." + q.Group
	}
	if q.Namespace != "" {
		s += " of namespace " + q.Namespace
	}
	return s
}
