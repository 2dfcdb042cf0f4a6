package protocol_test

import (
	"bufio"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/locklab/locklab/internal/worker/protocol"
)

const patience = time.Minute

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// peer is the other end of a connection, played by the test.
type peer struct {
	t        *testing.T
	conn     *protocol.Conn
	stdin    io.Closer
	requests *bufio.Reader
	stdout   *io.PipeWriter
	heard    chan protocol.Message // what on was given
}

func connect(t *testing.T) *peer {
	t.Helper()
	stdin, requests := io.Pipe()
	answers, stdout := io.Pipe()
	p := &peer{t: t, stdin: stdin, requests: bufio.NewReader(stdin), stdout: stdout, heard: make(chan protocol.Message, 1000)}
	p.conn = protocol.NewConn(requests, answers, func(m protocol.Message) { p.heard <- m })
	t.Cleanup(func() {
		_ = p.conn.Close()
		<-p.conn.Done()
	})
	return p
}

// opens has the lab send a request that opens a handle, which stays without an answer.
func (p *peer) opens(handle string) *peer {
	p.t.Helper()
	_, err := p.conn.Send(protocol.Request{ID: 1 << 40, Do: protocol.Open, Handle: handle})
	require.NoError(p.t, err)
	_, err = p.requests.ReadString('\n')
	require.NoError(p.t, err)
	return p
}

func (p *peer) send(id int64, verb string) <-chan protocol.Message {
	p.t.Helper()
	answer, err := p.conn.Send(protocol.Request{ID: id, Do: verb})
	require.NoError(p.t, err)
	return answer
}

// write plays the client; the lab may have hung up.
func (p *peer) write(text string) { _, _ = io.WriteString(p.stdout, text) }

func (p *peer) wait(answer <-chan protocol.Message) (protocol.Message, bool) {
	p.t.Helper()
	select {
	case m, ok := <-answer:
		return m, ok
	case <-time.After(patience):
		require.Fail(p.t, "no answer")
		return protocol.Message{}, false
	}
}

// ended waits for the end of the connection and returns its reason.
func (p *peer) ended() error {
	p.t.Helper()
	select {
	case <-p.conn.Done():
	case <-time.After(patience):
		require.Fail(p.t, "the connection does not end")
	}
	return p.conn.Err()
}

func TestAnswersMayOvertake(t *testing.T) {
	p := connect(t).opens("h")
	one, two := p.send(1, protocol.Acquire), p.send(2, protocol.Cancel)
	for _, want := range []string{`{"id":1,"do":"acquire"}`, `{"id":2,"do":"cancel"}`} {
		line, err := p.requests.ReadString('\n')
		require.NoError(t, err)
		assert.Equal(t, want+"\n", line)
	}
	p.write(`{"id":2,"outcome":"ok"}` + "\n" + `{"lost":"h"}` + "\n" + `{"id":1,"outcome":"unknown"}` + "\n")
	first, _ := p.wait(one)
	second, _ := p.wait(two)
	assert.Equal(t, protocol.Message{Line: 3, ID: 1, Outcome: protocol.Unknown}, first)
	assert.Equal(t, protocol.Message{Line: 1, ID: 2, Outcome: protocol.OK}, second)

	// What was waited for had been heard before, in the order in which it was written.
	require.Len(t, p.heard, 3)
	assert.Equal(t, int64(2), (<-p.heard).ID)
	assert.Equal(t, "h", (<-p.heard).Lost)
	assert.Equal(t, int64(1), (<-p.heard).ID)
	assert.NoError(t, p.conn.Err())
}

func TestMisconduct(t *testing.T) {
	notice := fmt.Sprintf(`{"lost":"h","why":%q}`+"\n", strings.Repeat("x", 60_000))
	tests := []struct{ name, output, want string }{
		{"a handle that was never opened", `{"lost":"other"}` + "\n", `client wrote a notice about the handle "other", which was never opened (line 1)`},
		{"its validity", `{"valid":"other","valid_ms":5}` + "\n", `client wrote a notice about the handle "other", which was never opened (line 1)`},
		{"nonsense", `{"lost":"h"}` + "\nhello lab\n", `client wrote a line that is no protocol message: "hello lab": not a JSON object (line 2)`},
		{"clipped", strings.Repeat("x", 1000) + "\n", `"` + strings.Repeat("x", 80) + `…"`},
		{"terminal codes", "\x1b[2J\n", `"\x1b[2J"`},
		{"empty line", "\n", "no protocol message"},
		{"long line", strings.Repeat("x", protocol.MaxLine), "client wrote a line longer than 64 KiB"},
		{"never asked", `{"id":7,"outcome":"ok"}` + "\n", "client answered request 7, which was never asked or had its answer (line 1)"},
		{"flood", strings.Repeat(notice, 20), "client wrote more than 1 MiB of notices that nobody asked for (line 18)"},
		{"another version", `{"id":1,"outcome":"ok","hello":{"version":3,"name":"x"}}` + "\n", "client speaks version 3 of the protocol, the lab speaks 1 to 2"},
		{"no hello", `{"id":1,"outcome":"ok"}` + "\n", "client answered init without hello"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			p := connect(t).opens("h")
			pending := p.send(1, protocol.Init)
			go p.write(test.output)
			err := p.ended()
			var misconduct *protocol.Misconduct
			require.ErrorAs(t, err, &misconduct)
			assert.ErrorContains(t, err, test.want)
			assert.Positive(t, misconduct.Line)
			_, ok := p.wait(pending)
			assert.False(t, ok, "nobody waits for the answer any more")
			_, err = p.conn.Send(protocol.Request{ID: 2, Do: protocol.Exit})
			assert.Equal(t, p.conn.Err(), err)
		})
	}
}

func TestAnsweredTwice(t *testing.T) {
	p := connect(t)
	answer := p.send(1, protocol.Release)
	p.write(strings.Repeat(`{"id":1,"outcome":"ok"}`+"\n", 2))
	_, ok := p.wait(answer)
	assert.True(t, ok)
	assert.ErrorContains(t, p.ended(), "had its answer")
}

// TestClosedInput: a client that closes its standard input is heard for a while, and then at an end.
func TestClosedInput(t *testing.T) {
	p := connect(t)
	require.NoError(t, p.stdin.Close())
	answer := p.send(1, protocol.Release)
	p.write(`{"id":1,"outcome":"ok"}` + "\n")
	_, ok := p.wait(answer)
	assert.True(t, ok)
	pending := p.send(2, protocol.Release)
	assert.EqualError(t, p.ended(), "client has closed its standard input")
	_, ok = p.wait(pending)
	assert.False(t, ok)
}

func TestRequestsRestartTheCountOfNotices(t *testing.T) {
	p := connect(t).opens("h")
	notice := fmt.Sprintf(`{"lost":"h","why":%q}`+"\n", strings.Repeat("x", 60_000))
	for id := range int64(40) {
		answer := p.send(id+1, protocol.Check)
		p.write(notice + fmt.Sprintf(`{"id":%d,"outcome":"ok"}`+"\n", id+1))
		_, ok := p.wait(answer)
		require.True(t, ok, "%v", p.conn.Err())
	}
}

func TestClientGone(t *testing.T) {
	p := connect(t)
	pending := p.send(1, protocol.Acquire)
	require.NoError(t, p.stdout.Close())
	_, ok := p.wait(pending)
	assert.False(t, ok)
	assert.Equal(t, protocol.ErrGone, p.ended())
}

func TestClientGoneInTheMiddleOfALine(t *testing.T) {
	p := connect(t)
	p.write(`{"id":1,`)
	require.NoError(t, p.stdout.Close())
	err := p.ended()
	require.ErrorIs(t, err, protocol.ErrGone)
	assert.ErrorContains(t, err, `in the middle of a line: "{\"id\":1,"`)
}

func TestStoppedClientDoesNotHoldUpTheLab(t *testing.T) {
	p := connect(t) // reads nothing
	var err error
	for id := int64(1); err == nil && id < 10_000; id++ {
		_, err = p.conn.Send(protocol.Request{ID: id, Do: protocol.Check})
	}
	require.EqualError(t, err, "client does not read its requests")
	assert.NoError(t, p.conn.Err(), "the connection lasts")
	require.NoError(t, p.conn.Close())
	assert.ErrorContains(t, p.ended(), "closed by the lab")
}

func TestSendRefuses(t *testing.T) {
	p := connect(t)
	p.send(1, protocol.Acquire)
	tests := []struct {
		req  protocol.Request
		want string
	}{
		{protocol.Request{ID: 1, Do: protocol.Release}, "in use"},
		{protocol.Request{ID: 0, Do: protocol.Release}, "ids count from 1"},
		{protocol.Request{ID: 2}, "no verb"},
		{protocol.Request{ID: 2, Do: protocol.Open, Key: strings.Repeat("k", protocol.MaxLine)}, "longer than 64 KiB"},
	}
	for _, test := range tests {
		_, err := p.conn.Send(test.req)
		assert.ErrorContains(t, err, test.want)
	}
}
