package config

import (
	"fmt"
	"io"
)

// Secret is a text that is not shown: every way of printing it, and JSON and YAML, give <secret>. Only Reveal tells.
//
// It holds a pointer so that even a struct with an unexported Secret, whose methods fmt does not call, prints an
// address instead of the text. The zero Secret is the empty text.
type Secret struct{ text *string }

const hidden = "<secret>"

// NewSecret wraps a text.
func NewSecret(text string) Secret { return Secret{&text} }

// Reveal returns the text.
func (s Secret) Reveal() string {
	if s.text == nil {
		return ""
	}
	return *s.text
}

func (Secret) String() string { return hidden }

// Format hides the text from all verbs, %#v and %d included.
func (Secret) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, hidden) }

// MarshalText hides the text from JSON, YAML and log handlers.
func (Secret) MarshalText() ([]byte, error) { return []byte(hidden), nil }
