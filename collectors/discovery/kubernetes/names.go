package kubernetes

import (
	"strconv"
	"strings"
)

// The forms of names in the Kubernetes API. What the API server hands out has been checked by it; it is checked here again before it
// becomes an engine's id, a label, or part of an address.

// labelKey reports whether s is NAME or DOMAIN/NAME.
func labelKey(s string) bool {
	domain, name, prefixed := strings.Cut(s, "/")
	if !prefixed {
		name = s
	} else if !dnsName(domain) {
		return false
	}
	return name != "" && labelValue(name)
}

// labelValue reports whether s is a label's value, which may be empty.
func labelValue(s string) bool {
	if len(s) > 63 {
		return false
	}
	for i := range len(s) {
		c := s[i]
		if !alnum(c) && (c != '-' && c != '_' && c != '.' || i == 0 || i == len(s)-1) {
			return false
		}
	}
	return true
}

// dnsName reports whether s is the name of a pod or a node: labels of a domain with dots in between.
func dnsName(s string) bool {
	if s == "" || len(s) > 253 {
		return false
	}
	for label := range strings.SplitSeq(s, ".") {
		if !dnsChars(label) {
			return false
		}
	}
	return true
}

// dnsLabel reports whether s is the name of a namespace or a container.
func dnsLabel(s string) bool { return len(s) <= 63 && dnsChars(s) }

func dnsChars(s string) bool {
	if s == "" {
		return false
	}
	for i := range len(s) {
		c := s[i]
		if (c < 'a' || c > 'z') && (c < '0' || c > '9') && (c != '-' || i == 0 || i == len(s)-1) {
			return false
		}
	}
	return true
}

func alnum(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
}

// title is a pod for people. A name that none may have is quoted: it could hold what a terminal acts on.
func title(namespace, name string) string {
	if dnsLabel(namespace) && dnsName(name) {
		return namespace + "/" + name
	}
	return strconv.QuoteToASCII(short(namespace) + "/" + short(name))
}
