package kube

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"
)

const (
	pageSize    = 500              // objects in one answer
	maxPages    = 1000             // of one list; a cluster has 150,000 pods at most
	listTimeout = 60 * time.Second // for one page
)

var errListTimeout = fmt.Errorf("a page of the list was not there after %v", listTimeout)

// list asks for all objects. What the server has cached at version known, or later, will do: each node of a cluster that
// asks the database itself would be too much. "0" is any version. Where the cache has no answer, or too large a one, the
// database is asked, page by page.
func list[T Kind](ctx context.Context, c *Client, q Query, known string) ([]T, string, error) {
	all, version, err := listFrom[T](ctx, c, q, known)
	refused, _ := errors.AsType[*StatusError](err)
	if errors.Is(err, errPageTooLarge) || refused != nil && (refused.gone() || refused.fromTheFuture()) {
		return listFrom[T](ctx, c, q, "")
	}
	return all, version, err
}

// listFrom asks for all objects as they are at a version or later; "" is now.
func listFrom[T Kind](ctx context.Context, c *Client, q Query, known string) ([]T, string, error) {
	var all []T
	token := ""
	for range maxPages {
		params := q.params()
		switch known {
		case "", "0":
			// A limit is what makes a server that keeps no cache page. With a version it would mean that very one.
			params.Set("limit", strconv.Itoa(pageSize))
		default:
			params.Set("resourceVersionMatch", "NotOlderThan")
		}
		if token != "" {
			params.Set("continue", token)
		} else if known != "" {
			params.Set("resourceVersion", known)
		}
		p, err := listPage(ctx, c, q, params, func(object T) { all = append(all, object) })
		if err != nil {
			return nil, "", err
		}
		if token = p.Continue; token == "" {
			return all, p.ResourceVersion, nil
		}
	}
	return nil, "", fmt.Errorf("%s: the list has not ended after %d pages", q, maxPages)
}

func listPage[T Kind](ctx context.Context, c *Client, q Query, params map[string][]string, each func(T)) (page, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, listTimeout, errListTimeout)
	defer cancel()
	resp, err := c.get(ctx, "list", q, params)
	if err != nil {
		return page{}, err
	}
	defer done(resp.Body)
	p, err := decodeList(resp.Body, c.config.limits, func(object T) error {
		if object.Meta().Name == "" {
			return errors.New("an object without a name: this is no Kubernetes API")
		}
		each(object)
		return nil
	})
	if err != nil {
		if cause := context.Cause(ctx); cause != nil {
			err = cause
		}
		return p, fmt.Errorf("list of %s: %w", q, err)
	}
	return p, nil
}
