package spans

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"slices"
	"sync"
)

// keepBuffer is the largest buffer that is kept for the next message: a batch of 512 spans has about 500 kB.
const keepBuffer = 4 << 20

func recycle(pool *sync.Pool, buffer *[]byte) {
	if cap(*buffer) <= keepBuffer {
		pool.Put(buffer)
	}
}

// unzippers keeps readers, each of which has tables of some 40 kB.
var unzippers = sync.Pool{New: func() any { return new(gzip.Reader) }}

// inflate appends what a gzipped body holds. The limit is counted while it comes out, so that a small body cannot become
// a large one.
func inflate(to, body []byte, limit int64) ([]byte, *Error) {
	z := unzippers.Get().(*gzip.Reader)
	defer unzippers.Put(z)
	if err := z.Reset(bytes.NewReader(body)); err != nil {
		return to, refuse(Malformed, causeGzip, "the message says that it is gzipped and is not")
	}
	to, err := readAll(to, z, limit)
	switch {
	case errors.Is(err, errLimit):
		return to, tooLarge(limit)
	case err != nil:
		return to, refuse(Malformed, causeGzip, "the message's gzip is damaged or cut short")
	}
	return to, nil
}

var errLimit = errors.New("more than the limit")

// readAll appends what is read, up to the limit. It reads one byte further to see whether there is more.
func readAll(to []byte, from io.Reader, limit int64) ([]byte, error) {
	for {
		if len(to) == cap(to) {
			to = slices.Grow(to, 512)
		}
		room := to[len(to):cap(to)]
		if left := limit + 1 - int64(len(to)); int64(len(room)) > left {
			room = room[:left]
		}
		n, err := from.Read(room)
		to = to[:len(to)+n]
		switch {
		case int64(len(to)) > limit:
			return to, errLimit
		case errors.Is(err, io.EOF):
			return to, nil
		case err != nil:
			return to, err
		}
	}
}
