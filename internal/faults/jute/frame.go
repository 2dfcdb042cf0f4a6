// Package jute owns ZooKeeper's protocol as far as the lab must read it: frames, the handshake of a session, the operation and the path of a
// request, results and watch events. It also writes the few requests by which the lab asks a server for the state of nodes.
//
// It must not know a connection's owner, a lock or a breakpoint. It accepts any bytes and never panics.
package jute

import (
	"encoding/binary"
	"fmt"
	"io"
)

// MaxFrame is the length in bytes of the longest frame that is read. A server refuses requests of more than 1 MiB.
const MaxFrame = 4 << 20

// LengthBytes is the length of the prefix that says how long a frame is.
const LengthBytes = 4

// SyntaxError says why bytes are not ZooKeeper's protocol.
type SyntaxError string

func (e SyntaxError) Error() string { return "not ZooKeeper's protocol: " + string(e) }

// ReadFrame reads one frame with its length prefix. The error is a SyntaxError if its length cannot be one; io.EOF only between frames.
func ReadFrame(r io.Reader) (frame []byte, err error) {
	return ReadFrameWithin(r, func(int) error { return nil })
}

// ReadFrameWithin is ReadFrame, but asks for the room of a payload before it takes any: an error of room is the error.
func ReadFrameWithin(r io.Reader, room func(n int) error) (frame []byte, err error) {
	var prefix [LengthBytes]byte
	if _, err := io.ReadFull(r, prefix[:]); err != nil {
		return nil, err
	}
	n := binary.BigEndian.Uint32(prefix[:])
	if n > MaxFrame {
		return nil, SyntaxError(fmt.Sprintf("a frame of %d bytes, more than %d", n, MaxFrame))
	}
	if err := room(int(n)); err != nil {
		return nil, err
	}
	frame = make([]byte, LengthBytes+int(n))
	copy(frame, prefix[:])
	if _, err := io.ReadFull(r, frame[LengthBytes:]); err != nil {
		if err == io.EOF {
			err = io.ErrUnexpectedEOF
		}
		return nil, err
	}
	return frame, nil
}

// Frame puts the length prefix before a payload.
func Frame(payload []byte) []byte {
	return append(binary.BigEndian.AppendUint32(make([]byte, 0, LengthBytes+len(payload)), uint32(len(payload))), payload...)
}

// fields reads the fields of a payload one by one. After the first that is missing it returns zero values, and short is true.
type fields struct {
	rest  []byte
	short bool
}

// payload is what follows a frame's length prefix.
func payload(frame []byte) *fields {
	if len(frame) < LengthBytes {
		return &fields{short: true}
	}
	return &fields{rest: frame[LengthBytes:]}
}

func (f *fields) take(n int) []byte {
	if f.short || n < 0 || n > len(f.rest) {
		f.short, f.rest = true, nil
		return nil
	}
	taken := f.rest[:n]
	f.rest = f.rest[n:]
	return taken
}

func (f *fields) int32() int32 {
	b := f.take(4)
	if b == nil {
		return 0
	}
	return int32(binary.BigEndian.Uint32(b))
}

func (f *fields) int64() int64 {
	b := f.take(8)
	if b == nil {
		return 0
	}
	return int64(binary.BigEndian.Uint64(b))
}

func (f *fields) bool() bool {
	b := f.take(1)
	return b != nil && b[0] != 0
}

// text reads a string or a buffer; the length -1 stands for none.
func (f *fields) text() string {
	n := f.int32()
	if n == -1 {
		return ""
	}
	return string(f.take(int(n)))
}

// texts reads a vector of strings.
func (f *fields) texts() []string {
	n := int(f.int32())
	if n > len(f.rest)/LengthBytes { // each has a length
		f.short = true
	}
	if f.short || n <= 0 {
		return nil
	}
	all := make([]string, 0, n)
	for range n {
		all = append(all, f.text())
	}
	return all
}

func (f *fields) err(what string) error {
	if !f.short {
		return nil
	}
	return SyntaxError(what + " ends too early")
}

func appendText(b []byte, text string) []byte {
	return append(binary.BigEndian.AppendUint32(b, uint32(len(text))), text...)
}
