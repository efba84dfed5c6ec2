package cluster

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
)

// object is any object of the API.
type object = map[string]any

// client sends JSON. It knows none of the exporter's code, so that it can be what that is held against.
type client struct {
	base, token string
	http        *http.Client
}

// statusError is an answer that is no success.
type statusError struct {
	code    int
	message string
}

func (e *statusError) Error() string { return fmt.Sprintf("%d: %s", e.code, e.message) }

func (c *client) do(method, path string, body, into any) error {
	text, err := json.Marshal(body)
	if err != nil {
		return err
	}
	kind := "application/json"
	if method == http.MethodPatch {
		kind = "application/merge-patch+json"
	}
	if body == nil {
		text = nil
	}
	return c.send(method, path, kind, text, into)
}

// ask sends one request.
func (c *client) ask(method, path, kind string, body []byte) (*http.Response, error) {
	req, err := http.NewRequest(method, c.base+path, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", kind)
	if c.token != "" {
		req.Header.Set("Authorization", "Bearer "+c.token)
	}
	return c.http.Do(req)
}

func (c *client) send(method, path, kind string, body []byte, into any) error {
	resp, err := c.ask(method, path, kind, body)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	switch {
	case err != nil:
		return err
	case resp.StatusCode >= 300:
		var status struct {
			Message string `json:"message"`
		}
		_ = json.Unmarshal(text, &status)
		return &statusError{resp.StatusCode, method + " " + path + ": " + strings.TrimSpace(status.Message+" "+string(text))}
	case into == nil:
		return nil
	}
	return json.Unmarshal(text, into)
}

func (c *client) create(path string, o object) error { return c.do(http.MethodPost, path, o, nil) }

func (c *client) patch(path string, o object) error { return c.do(http.MethodPatch, path, o, nil) }

func (c *client) get(path string) (o object, err error) {
	return o, c.do(http.MethodGet, path, nil, &o)
}

// at follows names into an object; nil where one is missing.
func at(v any, names ...string) any {
	for _, name := range names {
		o, _ := v.(object)
		v = o[name]
	}
	return v
}

// text is a string within an object; empty where there is none.
func text(v any, names ...string) string {
	s, _ := at(v, names...).(string)
	return s
}
