package frame

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
)

// The errors of a pipe on which there is no frame. Whoever reads such a pipe cannot find the next frame on it.
var (
	ErrTooLarge = errors.New("frame too large")
	ErrVersion  = errors.New("frame of another version")
	ErrGarbage  = errors.New("not a frame")
)

// opening is how the text of every frame begins, in every version: so a reader can tell a version that it does not know
// from what is no frame at all.
const opening = `{"version":`

// Write writes one frame as one call of w.Write: four bytes of length, the highest first, and the JSON text. It sets
// f.Version.
func Write(w io.Writer, f *Frame) error {
	f.Version = Version
	var b bytes.Buffer
	b.Write([]byte{0, 0, 0, 0})
	if err := json.NewEncoder(&b).Encode(f); err != nil {
		return fmt.Errorf("frame: encode: %w", err)
	}
	size := b.Len() - 4
	if size > MaxBytes {
		return fmt.Errorf("frame: %d bytes of %d entities, the limit is %d: %w", size, len(f.Entities), MaxBytes, ErrTooLarge)
	}
	binary.BigEndian.PutUint32(b.Bytes(), uint32(size))
	if _, err := w.Write(b.Bytes()); err != nil {
		return fmt.Errorf("frame: write: %w", err)
	}
	return nil
}

// Encode is the text of a frame, as it stands behind its length on a pipe. It sets f.Version.
func Encode(f *Frame) ([]byte, error) {
	f.Version = Version
	text, err := json.Marshal(f)
	if err != nil {
		return nil, fmt.Errorf("frame: encode: %w", err)
	}
	return text, nil
}

// Decode reads the text of a frame. Its errors are those of Reader.Next.
func Decode(text []byte) (*Frame, error) {
	if len(text) > MaxBytes {
		return nil, fmt.Errorf("%w: %d bytes, the limit is %d", ErrTooLarge, len(text), MaxBytes)
	}
	return decode(text)
}

// Reader reads frames from a pipe. It keeps one buffer, of the size of the largest frame so far and at most MaxBytes.
type Reader struct {
	r    io.Reader
	body []byte
}

// NewReader returns a Reader on r.
func NewReader(r io.Reader) *Reader { return &Reader{r: r} }

// Next waits for the next frame. io.EOF is the end between two frames, io.ErrUnexpectedEOF the end within one; after
// ErrTooLarge, ErrVersion or ErrGarbage the pipe is of no more use.
func (r *Reader) Next() (*Frame, error) {
	var length [4]byte
	if _, err := io.ReadFull(r.r, length[:]); err != nil {
		return nil, err
	}
	size := binary.BigEndian.Uint32(length[:])
	if size > MaxBytes {
		// What is no frame begins with a length too: of text it is beyond a gigabyte.
		return nil, fmt.Errorf("%w: it claims %d bytes, the limit is %d (its first bytes: %q)", ErrTooLarge, size, MaxBytes, length[:])
	}
	if err := r.fill(int(size)); err != nil {
		return nil, err
	}
	return decode(r.body)
}

// fill reads size bytes in steps, so that a claimed length costs no memory before the bytes are there.
func (r *Reader) fill(size int) error {
	const step = 256 << 10
	r.body = r.body[:0]
	for len(r.body) < size {
		from := len(r.body)
		to := min(size, from+step)
		if cap(r.body) < to {
			r.body = append(make([]byte, 0, min(size, max(to, 2*cap(r.body)))), r.body...)
		}
		r.body = r.body[:to]
		if _, err := io.ReadFull(r.r, r.body[from:to]); err != nil {
			if err == io.EOF {
				err = io.ErrUnexpectedEOF
			}
			return err
		}
	}
	return nil
}

func decode(body []byte) (*Frame, error) {
	rest, ok := bytes.CutPrefix(body, []byte(opening))
	if !ok {
		return nil, fmt.Errorf("%w: it does not begin with %s", ErrGarbage, opening)
	}
	digits := rest[:len(rest)-len(bytes.TrimLeft(rest, "0123456789"))]
	version, err := strconv.Atoi(string(digits))
	if err != nil {
		return nil, fmt.Errorf("%w: its version is no number", ErrGarbage)
	}
	if version != Version {
		return nil, fmt.Errorf("%w: goodput-dcgm writes frames of version %d, this goodput-exporter reads version %d; install both from one release",
			ErrVersion, version, Version)
	}
	f := &Frame{}
	if err := json.Unmarshal(body, f); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrGarbage, err)
	}
	return f, nil
}
