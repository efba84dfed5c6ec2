package kube

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"
	"unicode"
)

// StatusError is an answer that is no list and no watch.
type StatusError struct {
	Verb    string // "list" or "watch"
	Query   Query
	Code    int    // of HTTP, or of the error event of a watch
	Reason  string // in one word, as the API server has it: "Forbidden", "Expired"
	Message string // the server's, cut; "" when it gave none
	// RetryAfter is how long the server wants to be left alone; 0 when it does not say.
	RetryAfter time.Duration
}

func (e *StatusError) Error() string {
	s := fmt.Sprintf("the API server answers %d to %s of %s", e.Code, e.Verb, e.Query)
	if e.Message != "" {
		s += ": " + e.Message
	}
	if r := e.remedy(); r != "" {
		s += "; " + r
	}
	return s
}

func (e *StatusError) remedy() string {
	switch {
	case e.Code == http.StatusForbidden && e.Query.Namespace == "":
		return fmt.Sprintf("give the service account the verbs get, list and watch on %s with a ClusterRole and a ClusterRoleBinding, or name the namespaces that it may see", e.Query.Resource)
	case e.Code == http.StatusForbidden:
		return fmt.Sprintf("give the service account the verbs get, list and watch on %s with a Role and a RoleBinding in namespace %s", e.Query.Resource, e.Query.Namespace)
	case e.Code == http.StatusUnauthorized:
		return "the token is not this cluster's, or has expired: check that the pod's service account exists and that its token is mounted"
	case e.Code == http.StatusNotFound:
		return "check the API server's URL, and that this cluster serves the resource"
	case e.Code >= 300 && e.Code < 400:
		return "an API server does not redirect: check its URL"
	}
	return ""
}

// gone reports whether what was asked for has been forgotten, so that all has to be listed again.
func (e *StatusError) gone() bool {
	return e.Code == http.StatusGone || e.Reason == "Expired" || e.Reason == "Gone"
}

// fromTheFuture reports whether the server is behind the version that was asked for: another replica, or a cluster that was restored from
// a backup.
func (e *StatusError) fromTheFuture() bool {
	return e.Code == http.StatusGatewayTimeout && strings.Contains(e.Message, "resource version")
}

// status is the API server's object of the same name.
type status struct {
	Code    int    `json:"code"`
	Reason  string `json:"reason"`
	Message string `json:"message"`
	Details struct {
		RetryAfterSeconds int `json:"retryAfterSeconds"`
	} `json:"details"`
}

// refusal reads an answer that is not 200.
func refusal(verb string, q Query, resp *http.Response) error {
	text, _ := io.ReadAll(io.LimitReader(resp.Body, 64<<10))
	var s status
	if json.Unmarshal(text, &s) != nil {
		s = status{} // a page of some proxy, which is nothing for a log
	}
	e := s.refused(verb, q)
	e.Code = resp.StatusCode
	if seconds, err := strconv.Atoi(resp.Header.Get("Retry-After")); err == nil && seconds > 0 {
		e.RetryAfter = time.Duration(min(seconds, 3600)) * time.Second
	}
	return e
}

func (s status) refused(verb string, q Query) *StatusError {
	return &StatusError{
		Verb: verb, Query: q, Code: s.Code, Reason: cut(s.Reason, 64), Message: cut(s.Message, 300),
		RetryAfter: time.Duration(max(0, min(s.Details.RetryAfterSeconds, 3600))) * time.Second,
	}
}

// cut makes one short line of what a server wrote.
func cut(s string, most int) string {
	s = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(s[:min(len(s), 4*most)], ""))
	if r := []rune(s); len(r) > most {
		return string(r[:most]) + " ..."
	}
	return s
}
