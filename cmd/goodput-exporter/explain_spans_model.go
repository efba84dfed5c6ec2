package main

import (
	"cmp"
	"maps"
	"math"
	"slices"

	"github.com/goodput-exporter/goodput-exporter/exporter/catalog"
	"github.com/goodput-exporter/goodput-exporter/exporter/fold"
)

// explainedSpans is everything that explain --spans says. The keys are stable: docs/explain.md lists them. Times are unix
// seconds, durations seconds; what is unknown is left out.
type explainedSpans struct {
	Source    string                 `json:"source"`
	Notes     []string               `json:"notes,omitempty"`
	Messages  explainedMessages      `json:"messages"`
	Names     []explainedSpanName    `json:"names,omitempty"`
	Resources []explainedResource    `json:"resources,omitempty"`
	Refused   []explainedRefusal     `json:"refused,omitempty"`
	Arrival   *explainedArrival      `json:"arrival,omitempty"`
	Engines   []explainedEngineSpans `json:"engines,omitempty"`
	Unmatched []explainedTally       `json:"unmatched,omitempty"`
}

// explainedMessages is what came, before it was read.
type explainedMessages struct {
	Count   int               `json:"count"`
	Bytes   int               `json:"bytes"` // as they came
	From    float64           `json:"from,omitempty"`
	To      float64           `json:"to,omitempty"`
	Senders []explainedSender `json:"senders,omitempty"`
	Unread  *explainedRefusal `json:"unread,omitempty"`
}

type explainedSender struct {
	Peer        string `json:"peer,omitempty"`
	Path        string `json:"path,omitempty"`
	ContentType string `json:"content_type,omitempty"`
	Encoding    string `json:"content_encoding,omitempty"`
	Messages    int    `json:"messages"`
	Bytes       int    `json:"bytes"`
	Largest     int    `json:"largest_bytes"`
}

// explainedSpanName counts the spans of a name; Name is "" for those of names beyond the first thousand.
type explainedSpanName struct {
	Name    string `json:"name"`
	Spans   uint64 `json:"spans"`
	Request bool   `json:"request"` // by spans.names, they stand for requests
}

// explainedResource is a sender of spans, and what engine its requests are of.
type explainedResource struct {
	Service      string `json:"service_name,omitempty"`
	Instance     string `json:"service_instance_id,omitempty"`
	Named        string `json:"goodput_engine,omitempty"`
	PodUID       string `json:"k8s_pod_uid,omitempty"`
	PodName      string `json:"k8s_pod_name,omitempty"`
	PodNamespace string `json:"k8s_namespace_name,omitempty"`
	Peer         string `json:"peer,omitempty"`
	Requests     uint64 `json:"requests"`
	Others       uint64 `json:"others"`
	Engine       string `json:"engine,omitempty"`     // that its requests are of
	By           string `json:"matched_by,omitempty"` // engine, pod, instance, address or only
	Why          string `json:"unmatched,omitempty"`  // why they are of none
	Meaning      string `json:"meaning,omitempty"`
	Remedy       string `json:"remedy,omitempty"`
}

type explainedRefusal struct {
	Reason  string `json:"reason,omitempty"`
	Count   int    `json:"count"`
	Example string `json:"example"`
}

// explainedArrival is how long after a request's end its span came.
type explainedArrival struct {
	Spans  int     `json:"spans"`
	Median float64 `json:"median_seconds"`
	P95    float64 `json:"p95_seconds"`
	Max    float64 `json:"max_seconds"`
	Grace  float64 `json:"grace_seconds"`
	Later  int     `json:"later_than_grace"`
}

// explainedEngineSpans is what became of the spans of one engine.
type explainedEngineSpans struct {
	Engine    string           `json:"engine"`
	Matched   []explainedTally `json:"matched,omitempty"` // by how
	Late      uint64           `json:"late"`
	Outside   uint64           `json:"outside"`
	Duplicate uint64           `json:"duplicate"`
	Dropped   uint64           `json:"dropped"`
	OneToken  uint64           `json:"one_token"`
	Attempts  uint64           `json:"attempts"`
	Logical   uint64           `json:"logical_requests"`

	Finished  uint64                `json:"finished"` // sequences, in windows that waited for spans
	Seen      uint64                `json:"seen"`
	Windows   []explainedSpanWindow `json:"windows,omitempty"`
	Conflicts uint64                `json:"conflicts"`
}

type explainedSpanWindow struct {
	Start    float64 `json:"start"`
	End      float64 `json:"end"`
	Partial  bool    `json:"partial,omitempty"`
	Expected bool    `json:"expected"` // the window waited for spans
	Finished *uint64 `json:"finished,omitempty"`
	Seen     uint64  `json:"seen"`
	Unsure   uint64  `json:"unsure,omitempty"`
	Complete bool    `json:"complete"`
	Conflict bool    `json:"conflict,omitempty"`
}

func (w *spanWatch) explanation() *explainedSpans {
	e := &explainedSpans{Source: w.source, Notes: w.notes, Messages: w.explainMessages(), Names: w.explainNames()}
	e.Resources = w.explainResources()
	for _, reason := range slices.Sorted(maps.Keys(w.replayer.spans.refused)) {
		r := w.replayer.spans.refused[reason]
		e.Refused = append(e.Refused, explainedRefusal{Reason: reason, Count: r.count, Example: r.first})
	}
	e.Arrival = w.explainArrival()
	if w.snapshot == nil {
		return e
	}
	for i := range w.snapshot.Engines {
		e.Engines = append(e.Engines, w.explainEngine(&w.snapshot.Engines[i]))
	}
	e.Unmatched = explainTallies(w.snapshot.Unmatched.Counts)
	return e
}

func (w *spanWatch) explainMessages() explainedMessages {
	m := explainedMessages{Count: w.messages, Bytes: w.bytes, From: w.from, To: w.to}
	for how, s := range w.senders {
		m.Senders = append(m.Senders, explainedSender{
			Peer: how.peer, Path: how.path, ContentType: how.contentType, Encoding: how.encoding, Messages: s.messages, Bytes: s.bytes, Largest: s.largest,
		})
	}
	slices.SortFunc(m.Senders, func(a, b explainedSender) int {
		return cmp.Or(b.Messages-a.Messages, cmp.Compare(a.Peer, b.Peer), cmp.Compare(a.Path, b.Path), cmp.Compare(a.ContentType, b.ContentType), cmp.Compare(a.Encoding, b.Encoding))
	})
	if r := w.unread[""]; r != nil {
		m.Unread = &explainedRefusal{Count: r.count, Example: r.first}
	}
	return m
}

// explainNames lists the names, those of requests first and then the most frequent.
func (w *spanWatch) explainNames() (all []explainedSpanName) {
	for name, n := range w.names {
		all = append(all, explainedSpanName{Name: name, Spans: n, Request: w.wanted(name)})
	}
	slices.SortFunc(all, func(a, b explainedSpanName) int {
		if a.Request != b.Request {
			return map[bool]int{true: -1, false: 1}[a.Request]
		}
		return cmp.Or(cmp.Compare(b.Spans, a.Spans), cmp.Compare(a.Name, b.Name))
	})
	if w.unnamed > 0 {
		all = append(all, explainedSpanName{Spans: w.unnamed})
	}
	return all
}

// explainResources lists the senders in the order in which they came, each held against all engines of the recording.
func (w *spanWatch) explainResources() (all []explainedResource) {
	var matcher fold.Matcher
	for _, key := range w.order {
		o, of := key.of, w.resources[key]
		r := explainedResource{
			Service: key.service, Instance: o.Instance, Named: o.Engine, PodUID: o.PodUID, PodName: o.PodName, PodNamespace: o.PodNamespace, Peer: short(o.Peer),
			Requests: of.requests, Others: of.others,
		}
		if of.requests > 0 {
			r.Engine, r.By, r.Why = matcher.Match(w.replayer.targets, &o, w.to)
			r.Meaning, r.Remedy = catalog.UnmatchedMeaning(r.Why)
		}
		all = append(all, r)
	}
	return all
}

func (w *spanWatch) explainArrival() *explainedArrival {
	n := len(w.lags)
	if n == 0 {
		return nil
	}
	lags := slices.Sorted(slices.Values(w.lags))
	grace := w.cfg.Spans.Grace.Seconds()
	at := func(q float64) float64 { return lags[int(math.Ceil(q*float64(n)))-1] }
	a := &explainedArrival{Spans: n, Median: at(0.5), P95: at(0.95), Max: lags[n-1], Grace: grace}
	first, _ := slices.BinarySearchFunc(lags, grace, func(lag, grace float64) int {
		if lag > grace {
			return 1
		}
		return -1
	})
	a.Later = n - first
	return a
}

func (w *spanWatch) explainEngine(e *fold.Engine) explainedEngineSpans {
	s := &e.Spans
	x := explainedEngineSpans{
		Engine: e.ID, Matched: explainTallies(s.Matched), Late: s.Late, Outside: s.Outside, Duplicate: s.Duplicate, Dropped: s.Dropped,
		OneToken: s.OneToken, Attempts: s.Attempts, Logical: s.Logical, Finished: s.Finished, Seen: s.Seen, Conflicts: s.Conflicts,
	}
	for i := range w.windows {
		of := &w.windows[i]
		if of.Engine != e.ID {
			continue
		}
		y := explainedSpanWindow{
			Start: of.Start, End: of.End, Partial: of.Partial, Expected: of.Spans.Expected,
			Seen: of.Spans.Seen, Unsure: of.Spans.Unsure, Complete: of.Spans.Complete, Conflict: of.Spans.Conflict,
		}
		if of.SequencesOK {
			y.Finished = &of.Sequences
		}
		x.Windows = append(x.Windows, y)
	}
	return x
}
