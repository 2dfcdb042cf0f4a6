package jute

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"testing"
	"testing/iotest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// reply is a server's frame with fields behind its header: int32, bool, string or []string.
func reply(xid int32, code Code, body ...any) []byte {
	b := binary.BigEndian.AppendUint32(nil, uint32(xid))
	b = binary.BigEndian.AppendUint64(b, 7)
	b = binary.BigEndian.AppendUint32(b, uint32(code))
	for _, field := range body {
		switch v := field.(type) {
		case int32:
			b = binary.BigEndian.AppendUint32(b, uint32(v))
		case string:
			b = appendText(b, v)
		case []string:
			b = binary.BigEndian.AppendUint32(b, uint32(len(v)))
			for _, text := range v {
				b = appendText(b, text)
			}
		}
	}
	return Frame(b)
}

func TestRequests(t *testing.T) {
	ephemeral := RequestFrame(4, OpCreate, "/l/n-")
	ephemeral[len(ephemeral)-1] = FlagEphemeral | FlagSequential
	watching := RequestFrame(5, OpExists, "/l/n")
	watching[len(watching)-1] = 1
	for _, test := range []struct {
		frame []byte
		want  Request
		name  string
	}{
		{RequestFrame(1, OpGetChildren2, "/l"), Request{Xid: 1, Op: OpGetChildren2, Path: "/l"}, "GETCHILDREN"},
		{RequestFrame(2, OpDelete, "/l/n"), Request{Xid: 2, Op: OpDelete, Path: "/l/n"}, "DELETE"},
		{RequestFrame(3, OpClose, ""), Request{Xid: 3, Op: OpClose}, "CLOSESESSION"},
		{ephemeral, Request{Xid: 4, Op: OpCreate, Path: "/l/n-", Flags: 3}, "CREATE"},
		{watching, Request{Xid: 5, Op: OpExists, Path: "/l/n", Watch: true}, "EXISTS"},
		{Frame([]byte{0, 0, 0, 9, 0, 0, 1, 200, 1, 2, 3}), Request{Xid: 9, Op: 456}, "UNKNOWN"},
	} {
		got, err := DecodeRequest(test.frame)
		require.NoError(t, err)
		assert.Equal(t, test.want, got)
		assert.Equal(t, test.name, got.Op.Name())
		if test.want.Op == 456 || test.want.Op == OpClose {
			continue // no fields follow
		}
		_, err = DecodeRequest(test.frame[:len(test.frame)-6])
		var syntax SyntaxError
		require.ErrorAs(t, err, &syntax, test.name)
	}
	assert.True(t, OpDelete.Drops())
	assert.True(t, OpCreate.Writes())
	assert.False(t, OpCreate.Drops())
	assert.False(t, OpExists.Writes())
}

func TestSessions(t *testing.T) {
	connect, err := DecodeConnect(ConnectFrame(3 * time.Second))
	require.NoError(t, err)
	assert.Equal(t, Connect{Timeout: 3 * time.Second}, connect)
	answer := binary.BigEndian.AppendUint32([]byte{0, 0, 0, 0}, 500)
	answer = binary.BigEndian.AppendUint64(answer, 77)
	session, err := DecodeConnected(Frame(answer))
	require.NoError(t, err)
	assert.Equal(t, Connect{Session: 77, Timeout: 500 * time.Millisecond}, session)
	session, err = DecodeConnected(Frame(make([]byte, 16)))
	require.NoError(t, err)
	assert.Zero(t, session, "expired")
}

func TestReplies(t *testing.T) {
	r, err := DecodeReply(reply(3, CodeNoNode))
	require.NoError(t, err)
	assert.Equal(t, CodeNoNode, r.Code)
	require.EqualError(t, r.Code, "the ZooKeeper answered NONODE")
	_, err = r.Path()
	require.Error(t, err, "it has no body")

	r, err = DecodeReply(reply(4, CodeOK, "/l/n-0000000001"))
	require.NoError(t, err)
	path, err := r.Path()
	require.NoError(t, err)
	assert.Equal(t, "/l/n-0000000001", path)

	r, err = DecodeReply(reply(5, CodeOK, []string{"a", "b"}))
	require.NoError(t, err)
	names, err := r.Children()
	require.NoError(t, err)
	assert.Equal(t, []string{"a", "b"}, names)

	r, err = DecodeReply(reply(XidEvent, CodeOK, int32(2), int32(3), "/l/n"))
	require.NoError(t, err)
	event, err := r.Event()
	require.NoError(t, err)
	assert.Equal(t, Event{Kind: 2, Path: "/l/n"}, event)

	_, err = DecodeReply([]byte{0, 0})
	require.Error(t, err)
}

func TestFrames(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		payload := rapid.SliceOf(rapid.Byte()).Draw(t, "payload")
		frame := Frame(payload)
		got, err := ReadFrame(iotest.OneByteReader(bytes.NewReader(append(frame, 0xff))))
		require.NoError(t, err)
		assert.Equal(t, frame, got)
		cut := rapid.IntRange(1, len(frame)-1).Draw(t, "cut")
		_, err = ReadFrame(bytes.NewReader(frame[:cut]))
		require.ErrorIs(t, err, io.ErrUnexpectedEOF)
	})
	_, err := ReadFrame(bytes.NewReader(nil))
	require.ErrorIs(t, err, io.EOF)
	_, err = ReadFrame(bytes.NewReader([]byte("ruok")))
	var syntax SyntaxError
	require.True(t, errors.As(err, &syntax), "a word of four letters is no frame: %v", err)
}

// FuzzFrames has every decoder read any bytes: none panics, and what a request says is written the same again.
func FuzzFrames(f *testing.F) {
	f.Add(RequestFrame(1, OpCreate, "/l/n-"))
	f.Add(RequestFrame(2, OpGetChildren, "/l"))
	f.Add(ConnectFrame(time.Second))
	f.Add(reply(3, CodeOK, []string{"a", "b"}))
	f.Add(reply(XidEvent, CodeOK, int32(2), int32(3), "/l"))
	f.Fuzz(func(t *testing.T, bytes []byte) {
		if request, err := DecodeRequest(bytes); err == nil && request.Op == OpDelete {
			again, err := DecodeRequest(RequestFrame(request.Xid, request.Op, request.Path))
			require.NoError(t, err)
			assert.Equal(t, request, again)
		}
		_, _ = DecodeConnect(bytes)
		_, _ = DecodeConnected(bytes)
		if r, err := DecodeReply(bytes); err == nil {
			_, _ = r.Path()
			_, _ = r.Event()
			names, err := r.Children()
			assert.LessOrEqual(t, len(names), len(bytes), "%v", err)
		}
	})
}

func TestFind(t *testing.T) {
	for _, name := range []string{"CREATE", "DELETE", "EXISTS", "GETDATA", "GETCHILDREN"} {
		op, known := Find(name)
		assert.True(t, known, name)
		assert.Equal(t, name, op.Name())
	}
	for _, name := range []string{"SET", "PING", "MULTI", "UNKNOWN", ""} {
		_, known := Find(name)
		assert.False(t, known, name)
	}
}
