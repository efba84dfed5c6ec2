package exporter

import (
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/goodput-exporter/goodput-exporter/exporter/fact"
	"github.com/goodput-exporter/goodput-exporter/exporter/fold"
)

// serveRound writes the last snapshot and the failed polls of its round as JSON, for bug reports: everything that the
// exporter knows, without secrets. The keys are those of the Go types and may change with them.
func (e *Exporter) serveRound(w http.ResponseWriter, _ *http.Request) {
	v := e.view()
	failures := map[string]any{}
	for id, p := range v.down {
		failures[id] = map[string]any{"reason": string(p.Reason), "detail": p.Detail}
	}
	body, err := json.MarshalIndent(map[string]any{
		"rounds": v.rounds, "missed": v.missed, "failed_polls": failures, "snapshot": readable(reflect.ValueOf(withoutPast(v.snapshot))),
	}, "", " ")
	if err != nil {
		http.Error(w, "the snapshot cannot be written as JSON: "+err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.Write(append(body, '\n'))
}

// withoutPast leaves out what is remembered of earlier rounds: an hour of it is many times as long as a round.
func withoutPast(s *fold.Snapshot) *fold.Snapshot {
	if s == nil {
		return nil
	}
	round := *s
	round.Models, round.Engines = nil, slices.Clone(s.Engines)
	for i := range round.Engines {
		round.Engines[i].Past = fold.Past{}
	}
	return &round
}

// readable turns a value into one that encoding/json can write for a person: structs become objects with keys in
// snake case, arrays by family get the family's names as keys, numbers that JSON lacks become strings, and targets
// show of their address what may be shown.
func readable(v reflect.Value) any {
	switch x := value(v).(type) {
	case fact.Target:
		return map[string]any{"id": x.ID, "url": shownURL(x.URL), "labels": x.Labels}
	case *regexp.Regexp:
		if x == nil {
			return nil
		}
		return x.String()
	case fact.Family:
		return x.String()
	case time.Duration:
		return x.String()
	case fact.Number:
		if !x.Known {
			return nil
		}
		return readable(reflect.ValueOf(x.V))
	}
	switch v.Kind() {
	case reflect.Invalid:
		return nil
	case reflect.Pointer, reflect.Interface:
		if v.IsNil() {
			return nil
		}
		return readable(v.Elem())
	case reflect.Struct:
		return readableStruct(v)
	case reflect.Array, reflect.Slice:
		return readableList(v)
	case reflect.Map:
		out := map[string]any{}
		for it := v.MapRange(); it.Next(); {
			out[fmt.Sprint(it.Key())] = readable(it.Value())
		}
		return out
	case reflect.Float64, reflect.Float32:
		if f := v.Float(); math.IsInf(f, 0) || math.IsNaN(f) {
			return fmt.Sprint(f)
		}
	}
	return value(v)
}

func value(v reflect.Value) any {
	if !v.IsValid() || !v.CanInterface() {
		return nil
	}
	return v.Interface()
}

func readableStruct(v reflect.Value) any {
	out := map[string]any{}
	for i := range v.NumField() {
		if f := v.Type().Field(i); f.IsExported() {
			out[snake(f.Name)] = readable(v.Field(i))
		}
	}
	return out
}

func readableList(v reflect.Value) any {
	if v.Kind() == reflect.Array && v.Len() == int(fact.NumFamilies) {
		out := map[string]any{}
		for i := range v.Len() {
			if !v.Index(i).IsZero() {
				out[fact.Family(i).String()] = readable(v.Index(i))
			}
		}
		return out
	}
	if v.Kind() == reflect.Array && v.Type().Elem().Kind() == reflect.Uint8 {
		return fmt.Sprintf("%x", v.Interface()) // the id of a trace
	}
	out := make([]any, v.Len())
	for i := range out {
		out[i] = readable(v.Index(i))
	}
	return out
}

// snake turns a Go name into snake case: LastPoll is last_poll, RequestsOK requests_ok, SLOs slos.
func snake(name string) string {
	var b strings.Builder
	letters := []rune(name)
	for i, c := range letters {
		lowerBefore := i > 0 && unicode.IsLower(letters[i-1])
		// The s of a plural belongs to its acronym.
		plural := i+2 == len(letters) && letters[i+1] == 's'
		lowerAfter := i > 0 && i+1 < len(letters) && unicode.IsLower(letters[i+1]) && !plural
		if unicode.IsUpper(c) && (lowerBefore || lowerAfter) {
			b.WriteByte('_')
		}
		b.WriteRune(unicode.ToLower(c))
	}
	return b.String()
}
