package main

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"github.com/goodput-exporter/goodput-exporter/collectors/recording"
)

// recordFiles is a recording on disk, in one file or in several of bounded size. Pages are gathered in memory, and each
// flush hands a file a whole piece in one write: what is on disk can be read to its end, whatever happens to the program.
type recordFiles struct {
	output string
	most   int64 // bytes of a file after which the next is begun; 0: no limit

	file    growing
	pending bytes.Buffer
	writer  *recording.Writer
	size    int64 // of the file
	total   int64 // of all files
	names   []string
}

// growing is a file that is written to its end.
type growing interface {
	Name() string
	Write([]byte) (int, error)
	Truncate(int64) error
	Close() error
}

// newRecordFiles begins the first file. A file that is there already is not written over.
func newRecordFiles(output string, most int64) (*recordFiles, error) {
	if !strings.HasSuffix(output, ".jsonl.gz") {
		return nil, fmt.Errorf("--output=%s: a recording is gzipped, one JSON object a line, and its name says so: end it in .jsonl.gz", output)
	}
	f := &recordFiles{output: output, most: most}
	return f, f.next()
}

// name is that of the n-th file, from 1: x.jsonl.gz, x.2.jsonl.gz, ...
func (f *recordFiles) name(n int) string {
	if n == 1 {
		return f.output
	}
	return fmt.Sprintf("%s.%d.jsonl.gz", strings.TrimSuffix(f.output, ".jsonl.gz"), n)
}

// next begins a further file. Pages name models and may say more, so only the user may read them.
func (f *recordFiles) next() error {
	name := f.name(len(f.names) + 1)
	file, err := os.OpenFile(name, os.O_WRONLY|os.O_APPEND|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("--output: %s is there already, and a recording is not written over: give another name or remove it", name)
	}
	if err != nil {
		return fmt.Errorf("--output: %w", err)
	}
	f.file, f.size, f.names = file, 0, append(f.names, name)
	f.writer, err = recording.NewWriter(&f.pending)
	return err
}

// write adds a page or a message. It is safe after the next flush.
func (f *recordFiles) write(e recording.Entry) error { return f.writer.WriteEntry(e) }

// flush hands what is pending to the file, and begins the next one when this one is full.
func (f *recordFiles) flush() error {
	if err := f.hand(); err != nil {
		return err
	}
	if f.most == 0 || f.size < f.most {
		return nil
	}
	if err := f.file.Close(); err != nil {
		return fmt.Errorf("%s: %w", f.file.Name(), err)
	}
	f.file = nil
	return f.next()
}

func (f *recordFiles) hand() error {
	if err := f.writer.Flush(); err != nil {
		return err
	}
	n, err := f.file.Write(f.pending.Bytes())
	f.pending.Reset()
	if err != nil {
		// Half a piece, of a disk that is full, would spoil what is there.
		return fmt.Errorf("%s: %w", f.file.Name(), errors.Join(err, f.file.Truncate(f.size)))
	}
	f.size, f.total = f.size+int64(n), f.total+int64(n)
	return nil
}

// close ends the recording.
func (f *recordFiles) close() error {
	if f.file == nil {
		return nil
	}
	err := f.hand()
	return errors.Join(err, f.file.Close())
}

func join(names []string) string {
	if len(names) > 3 {
		return fmt.Sprintf("%s to %s, %d files", names[0], names[len(names)-1], len(names))
	}
	return strings.Join(names, ", ")
}
