package kube

// Metadata is what is decoded of any object's metadata. Kinds that need more of it (labels, owners) have a Metadata of
// their own and write Meta themselves.
type Metadata struct {
	Namespace       string `json:"namespace"`
	Name            string `json:"name"`
	UID             string `json:"uid"`
	ResourceVersion string `json:"resourceVersion"`
}

// Object is embedded by what is listed and watched: a struct that encoding/json decodes an object into. What has no field
// there is not kept.
type Object struct {
	Metadata Metadata `json:"metadata"`
}

// Meta is the metadata.
func (o Object) Meta() Metadata { return o.Metadata }

// Kind is a struct, no pointer, that objects are decoded into.
type Kind interface{ Meta() Metadata }
