package tap

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/locklab/locklab/internal/faults/jute"
	"github.com/locklab/locklab/internal/faults/resp"
)

// TestRequestsBeyondTheCellAreRefused: all cells share one ZooKeeper. What a client sends beyond its cell ends its connection, does not reach the
// server, and the record cannot be trusted.
func TestRequestsBeyondTheCellAreRefused(t *testing.T) {
	long := jute.Frame(append(jute.RequestFrame(3, jute.OpSetData, "/lock")[jute.LengthBytes:], make([]byte, 900_000)...))
	tests := map[string]struct {
		frames [][]byte
		want   string
	}{
		"another cell's":  {[][]byte{jute.RequestFrame(3, jute.OpDelete, "/other")}, "client C1 sent DELETE to zookeeper, which the lab refuses: /other is neither the node of a lock of this cell nor directly below it"},
		"a watch":         {[][]byte{jute.RequestFrame(3, jute.OpExists, "/elsewhere")}, "client C1 sent EXISTS to zookeeper, which the lab refuses: /elsewhere"},
		"too deep":        {[][]byte{jute.RequestFrame(3, jute.OpCreate, "/lock/a/b")}, "client C1 sent CREATE to zookeeper, which the lab refuses: /lock/a/b"},
		"the root":        {[][]byte{jute.RequestFrame(3, jute.OpSetData, "/")}, "client C1 sent SETDATA to zookeeper, which the lab refuses: /"},
		"permissions":     {[][]byte{jute.RequestFrame(3, jute.OpSetACL, "/lock")}, "client C1 sent SETACL to zookeeper, which the lab refuses: the lab could not remove the node any more"},
		"several at once": {[][]byte{jute.RequestFrame(3, jute.OpMulti, "/lock")}, "client C1 sent MULTI to zookeeper, which the lab refuses: the lab cannot read which nodes it is about"},
		"reconfiguration": {[][]byte{jute.RequestFrame(3, 16, "/")}, "client C1 sent UNKNOWN to zookeeper, which the lab refuses: "},
		"a ping's number": {[][]byte{jute.RequestFrame(jute.XidPing, jute.OpExists, "/lock")}, "not ZooKeeper's protocol: a request with the number -2"},
		"much data":       {[][]byte{long, long, long, long, long, long, long, long, long, long}, "requests of client C1 to zookeeper: bytes of requests that the server may keep: more than 8388608"},
		"a long request":  {[][]byte{{0, 0x20, 0, 0}}, "not ZooKeeper's protocol: a request of 2097152 bytes, more than 1048576"},
		"a longer one":    {[][]byte{{0xff, 0xff, 0xff, 0xff}}, "not ZooKeeper's protocol: a frame of 4294967295 bytes"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newKeeperLab(t)
			c := l.client("C1")
			for _, frame := range test.frames {
				if _, err := c.conn.Write(frame); err != nil {
					break // the lab has had enough
				}
			}
			l.complains(test.want)
			l.stub.mu.Lock()
			defer l.stub.mu.Unlock()
			assert.Equal(t, map[string]int64{"/lock": 0}, l.stub.nodes)
		})
	}
}

// complains waits until the record cannot be trusted, and asserts why.
func (l *keeperLab) complains(why string) {
	l.t.Helper()
	select {
	case <-l.tap.Done():
		require.ErrorContains(l.t, l.tap.Err(), why)
	case <-time.After(time.Minute):
		l.t.Fatal("nobody complained")
	}
}

// TestHalfRequestsToAZooKeeperAreBounded: what was announced counts as held, until its connection ends. Its session is remembered.
func TestHalfRequestsToAZooKeeperAreBounded(t *testing.T) {
	l := newKeeperLab(t)
	const room = 3<<20 + 4*connectionCost + 1<<10 // three requests, and handshakes
	held := resp.NewBudget("bytes that the lab keeps", room)
	l.tap.cfg.Limits.Held = held
	first := l.client("C1")
	first.write([]byte{0, 0x10, 0, 0})
	require.NoError(t, first.conn.Close())
	require.Eventually(t, func() bool { return isEmpty(held, room-nameCost) }, time.Minute, time.Millisecond)
	for range 4 {
		l.client("C2").write([]byte{0, 0x10, 0, 0})
	}
	l.complains(fmt.Sprint("bytes that the lab keeps: more than ", room))
}

// isEmpty says whether a budget of so many bytes is wholly there.
func isEmpty(b *resp.Budget, bytes int) bool {
	if b.Take(bytes) != nil {
		return false
	}
	b.Give(bytes)
	return true
}

// TestAnyNumberOfARequestIsAnswered: some clients count from zero.
func TestAnyNumberOfARequestIsAnswered(t *testing.T) {
	l := newKeeperLab(t)
	c := l.client("C1")
	for _, xid := range []int32{0, -8, 7} {
		c.write(jute.RequestFrame(xid, jute.OpExists, "/lock"))
		c.reply(xid)
	}
	require.NoError(t, l.tap.Err())
}
