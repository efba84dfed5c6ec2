package otlp

import (
	"encoding/binary"
	"errors"
)

// field is one field of a protobuf message: bytes holds strings and messages, value the rest.
type field struct {
	number int
	wire   uint64
	bytes  []byte
	value  uint64
}

// The wire types of protobuf that are in use.
const (
	wireVarint  = 0
	wireFixed64 = 1
	wireBytes   = 2
	wireFixed32 = 5
)

var (
	errCut  = errors.New("a message ends in the middle of a field")
	errWire = errors.New("a field has a wire type that protobuf does not have")
)

// in walks the message in a field if it is the one with that number.
func (f field) in(number int, each func(field) error) error {
	if f.number != number || f.wire != wireBytes {
		return nil
	}
	return walk(f.bytes, each)
}

// walk calls each for every field of a message.
func walk(data []byte, each func(field) error) error {
	for len(data) > 0 {
		tag, n := binary.Uvarint(data)
		if n <= 0 {
			return errCut
		}
		f := field{number: int(tag >> 3), wire: tag & 7}
		size, err := f.read(data[n:])
		if err != nil {
			return err
		}
		data = data[n+size:]
		if err := each(f); err != nil {
			return err
		}
	}
	return nil
}

// read takes the value of a field from the front of data and returns how long it is.
func (f *field) read(data []byte) (size int, err error) {
	switch f.wire {
	case wireVarint:
		if f.value, size = binary.Uvarint(data); size <= 0 {
			return 0, errCut
		}
	case wireFixed64:
		if size = 8; len(data) < size {
			return 0, errCut
		}
		f.value = binary.LittleEndian.Uint64(data)
	case wireFixed32:
		if size = 4; len(data) < size {
			return 0, errCut
		}
		f.value = uint64(binary.LittleEndian.Uint32(data))
	case wireBytes:
		length, n := binary.Uvarint(data)
		if n <= 0 || length > uint64(len(data)-n) {
			return 0, errCut
		}
		size = n + int(length)
		f.bytes = data[n:size]
	default:
		return 0, errWire
	}
	return size, nil
}
