package config

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"gopkg.in/yaml.v3"
)

func TestSecretsAreNotPrinted(t *testing.T) {
	const text = "hunter2"
	s := NewSecret(text)
	type outer struct {
		Shown Secret
		inner Secret
	}
	var log bytes.Buffer
	slog.New(slog.NewTextHandler(&log, nil)).Info("x", "secret", s, "outer", outer{s, s}, "pointer", &s)
	slog.New(slog.NewJSONHandler(&log, nil)).Info("x", "secret", s, "outer", outer{s, s}, "pointer", &s)
	printed := []string{log.String(), s.String()}
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%d", "%x", "%X", "%T"} {
		for _, v := range []any{s, &s, outer{s, s}, []Secret{s}, map[string]Secret{"k": s}, Target{URL: s}, fmt.Errorf("poll %v", s)} {
			printed = append(printed, fmt.Sprintf(verb, v))
		}
	}
	for _, marshal := range []func(any) ([]byte, error){json.Marshal, yaml.Marshal} {
		for _, v := range []any{s, &s, outer{s, s}, Target{URL: s}} {
			b, err := marshal(v)
			if err != nil {
				t.Fatal(err)
			}
			printed = append(printed, string(b))
		}
	}
	hexed := fmt.Sprintf("%x", text)
	for _, p := range printed {
		if strings.Contains(p, text) || strings.Contains(strings.ToLower(p), hexed) {
			t.Errorf("printed: %s", p)
		}
	}
	if got := fmt.Sprintf("%v %#v", s, s); got != "<secret> <secret>" {
		t.Errorf("printed as %s", got)
	}
	if b, _ := json.Marshal(s); string(b) != `"\u003csecret\u003e"` {
		t.Errorf("JSON %s", b)
	}
	if s.Reveal() != text || (Secret{}).Reveal() != "" {
		t.Error("Reveal does not tell")
	}
}
