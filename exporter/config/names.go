package config

import (
	"fmt"
	"net"
	"net/url"
	"path"
	"regexp"
	"regexp/syntax"
	"slices"
	"strconv"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/goodput-exporter/goodput-exporter/exporter/fact"
)

// anchored makes an expression fit a name as a whole.
func anchored(pattern string) string { return "^(?:" + pattern + ")$" }

// badPattern refuses what is no regular expression. It is compiled alone first: a)(b is none, but would be if wrapped.
func badPattern(pattern string) (what, remedy string) {
	if pattern == "" {
		return "an empty pattern fits no name", "remove the key to fit every name, or write .*"
	}
	if len(pattern) > 1000 {
		return "the pattern is longer than 1000 bytes", "write a shorter one"
	}
	_, err := regexp.Compile(pattern)
	if err == nil {
		_, err = regexp.Compile(anchored(pattern))
	}
	if err == nil {
		return "", ""
	}
	why := "it cannot be read"
	if e, is := err.(*syntax.Error); is {
		why = e.Code.String()
	}
	return quote(pattern) + " is not a regular expression (RE2): " + why, "write one that fits the whole name, such as llama.*"
}

// badURL refuses what is not the address of a page. It never shows the text, which may hold credentials.
func badURL(s string) (u *url.URL, what, remedy string) {
	return badURLLike(s, "http://127.0.0.1:8000/metrics")
}

func badURLLike(s, address string) (u *url.URL, what, remedy string) {
	example := "write it like " + address
	u, err := url.Parse(s)
	switch {
	case err != nil || strings.ContainsFunc(s, unprintable) || strings.Contains(s, " "):
		return nil, "is not a URL", example
	case u.Scheme != "http" && u.Scheme != "https":
		return nil, "does not begin with http:// or https://", example
	case u.Hostname() == "":
		return nil, "names no host", example
	case u.Fragment != "" || strings.Contains(s, "#"):
		return nil, "has a fragment (#...), which is never sent", "remove it"
	}
	if p := u.Port(); p != "" {
		if n, err := strconv.ParseUint(p, 10, 16); err != nil || n == 0 {
			return nil, "has a port that is not from 1 to 65535", example
		}
	}
	if u.Path == "" {
		u.Path = "/metrics"
	}
	return u, "", ""
}

// NewTarget is a target that stands in no file. The error names what is wrong and what to do, and shows no secret.
func NewTarget(id, rawURL string) (Target, error) {
	t := Target{ID: id}
	what, remedy := badID(id)
	if what != "" {
		return Target{}, fmt.Errorf("engine id %s; %s", what, remedy)
	}
	u, what, remedy := badURL(rawURL)
	if what != "" {
		return Target{}, fmt.Errorf("the engine's URL %s; %s", what, remedy)
	}
	t.locate(u)
	return t, nil
}

// locate keeps what may be shown of a URL beside what may not.
func (t *Target) locate(u *url.URL) {
	shown := url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path, RawPath: u.RawPath}
	t.Address, t.URL = shown.String(), NewSecret(u.String())
}

// address is a target's URL.
func address() codec[Target] {
	return codec[Target]{
		kind: "http or https URL",
		read: func(r *reader, at place, t *Target) bool {
			s, ok := r.word(at, "URL", "http://127.0.0.1:8000/metrics")
			if !ok {
				return false
			}
			u, what, remedy := badURL(s)
			if what != "" {
				return r.add(at.line, at.path, what, remedy)
			}
			t.locate(u)
			return true
		},
		write: func(_ writer, t Target) *yaml.Node {
			n := &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: t.Address}
			if t.URL.Reveal() != t.Address {
				n.LineComment = "user, password and query are not shown"
			}
			return n
		},
	}
}

// badID refuses an engine id that could not be told apart in labels, logs and the file of another tool.
func badID(s string) (what, remedy string) {
	switch {
	case s == "":
		return "is empty", "give the engine a short name, such as a"
	case len(s) > 128:
		return "is longer than 128 bytes", "give the engine a short name"
	case strings.Contains(s, "/"):
		return quote(s) + " holds a /, which separates the rank in the engine label", "use another character, such as -"
	case strings.Contains(s, " "):
		return quote(s) + " holds a space", "use letters, digits and -_.:"
	}
	return "", ""
}

var nameForm = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_.-]{0,63}$`)

// badName refuses the name of an objective that would be awkward as a label value and in rule names.
func badName(s string) (what, remedy string) {
	if !nameForm.MatchString(s) {
		return quote(s) + " is not a name", "use 1 to 64 letters, digits and _.- as in chat-gold, not beginning with . or -"
	}
	return "", ""
}

func badHandler(s string) (what, remedy string) {
	if !strings.HasPrefix(s, "/") || len(s) > 200 || strings.Contains(s, " ") {
		return quote(s) + " is not the path of a handler", "write it as on the engine's page, such as /v1/completions"
	}
	return "", ""
}

var (
	labelForm  = regexp.MustCompile(`^[a-zA-Z_][a-zA-Z0-9_]{0,63}$`)
	reasonForm = regexp.MustCompile(`^[a-z][a-z_]{0,39}$`)
)

// labelNames are the labels of a target.
func labelNames() names[string] {
	// Labels that series of the exporter carry, and those that Prometheus puts on every series of a target.
	reserved := strings.Fields("engine model slo class gpu dialect version url pod namespace node instance job")
	return names[string]{
		kind: "label", text: func(s string) string { return s },
		parse: func(s string) (string, string, string) {
			switch {
			case slices.Contains(reserved, s):
				return "", "is a label with a meaning of its own", "use another name, such as engine_" + s
			case strings.HasPrefix(s, "__"):
				return "", "begins with __, which Prometheus reserves", "use a name without it"
			case !labelForm.MatchString(s):
				return "", "is not a label name", "use letters, digits and _, not beginning with a digit"
			}
			return s, "", ""
		},
	}
}

func badLabelValue(s string) (what, remedy string) {
	if s == "" {
		return "an empty label is no label", "give it a value, or remove it"
	}
	if len(s) > 256 {
		return "is longer than 256 bytes", "shorten it: a label is identity, not a place for notes"
	}
	return "", ""
}

// familyNames are names of latency families; also holds hints about names that are none of them.
func familyNames(kind string, families []fact.Family, also map[string]string) names[fact.Family] {
	var known []string
	for _, f := range families {
		known = append(known, f.String())
	}
	return names[fact.Family]{
		kind: kind, text: fact.Family.String, known: known,
		parse: func(s string) (fact.Family, string, string) {
			if f, is := fact.FamilyNamed(s); is && slices.Contains(families, f) {
				return f, "", ""
			}
			remedy := "known: " + strings.Join(known, ", ")
			if hint := also[s]; hint != "" {
				remedy = hint + "; " + remedy
			} else if best := closest(s, known); best != "" {
				remedy = "did you mean " + best + "? (" + remedy + ")"
			}
			return 0, "is not a known " + kind, remedy
		},
	}
}

// clauseNames are the metrics of clauses.
func clauseNames() names[fact.Family] {
	const gaps = "it counts token gaps, of which a request has many: use tpot, its mean over a request"
	return familyNames("metric", clauseMetrics(), map[string]string{
		"itl": gaps, "token_gap": gaps, "inter_token_latency": gaps, "latency": "use e2e", "e2el": "use e2e",
	})
}

// gridNames are all families.
func gridNames() names[fact.Family] {
	var all []fact.Family
	for f := range fact.NumFamilies {
		all = append(all, f)
	}
	return familyNames("family", all, nil)
}

// badReason refuses finish reasons that cannot mean success, and misspellings of those that always do. Others are
// accepted, because engines invent reasons.
func badReason(s string) (what, remedy string) {
	switch s {
	case "stop", "length":
		return "", ""
	case "abort", "error", "rejected":
		return quote(s) + " is not a success", "how such requests count is said by cancelled, failed and admission"
	}
	if best := closest(s, []string{"stop", "length"}); best != "" {
		return quote(s) + " is not a known finish reason", "did you mean " + best + "?"
	}
	if !reasonForm.MatchString(s) {
		return quote(s) + " is not a finish reason", "write it as on the engine's page, such as stop"
	}
	return "", ""
}

// badAddress refuses what is not a host and port to listen on.
func badAddress(s string) (what, remedy string) {
	const example = "write it like 127.0.0.1:4318"
	if s == "" {
		return "", ""
	}
	host, port, err := net.SplitHostPort(s)
	if err != nil || strings.ContainsFunc(host, unprintable) {
		return quote(s) + " is not host:port", example
	}
	if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
		return quote(s) + " has a port that is not from 1 to 65535", example
	}
	return "", ""
}

// badFilePattern refuses patterns that can fit no file.
func badFilePattern(s string) (what, remedy string) {
	if s == "" || len(s) > 1000 || strings.ContainsFunc(s, unprintable) {
		return "is not a file pattern", "write it like targets/*.yaml"
	}
	if _, err := path.Match(s, ""); err != nil {
		return quote(s) + " is not a file pattern: " + err.Error(), "write it like targets/*.yaml"
	}
	return "", ""
}
