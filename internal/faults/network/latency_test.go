package network

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/locklab/locklab/faults"
)

// TestAPartitionTakesInLittle: a client that sends without end into a partition makes the lab keep a few chunks, and then waits as on a network.
func TestAPartitionTakesInLittle(t *testing.T) {
	l, _ := openLink(t)
	i := inject(t, l, faults.LinkFault{Kind: faults.Partition, Direction: faults.Requests})
	conn := dial(t, l.Addr())
	chunk, sent := make([]byte, 64<<10), 0
	for {
		require.NoError(t, conn.SetWriteDeadline(time.Now().Add(time.Second)))
		n, err := conn.Write(chunk)
		sent += n
		if err != nil {
			break // nobody reads on
		}
		require.Less(t, sent, 32<<20)
	}
	recoverFrom(t, i)
	// What was taken in is delivered: a toxic that still had some of it when the link ended would keep it for ever.
	require.NoError(t, conn.SetWriteDeadline(time.Time{}))
	conn.say(t, "")
	conn.hear(t)
}
