package worker_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/locklab/locklab/internal/worker/protocol"
)

// A lock that is given servers of its own uses these and no others, also after a reconnect; what the locks of the process share in
// memory they share all the same.
func TestLocksWithServersOfTheirOwn(t *testing.T) {
	for _, lock := range []string{"getset-published/shared-token", "setpx-lua-resend"} {
		t.Run(lock, func(t *testing.T) {
			common, own := newGate(t, startMini(t)), newGate(t, startMini(t))
			c := opened(t, common.addr, lock, long)
			answer := c.ask(protocol.Request{
				Do: protocol.Open, Handle: "own", User: protocol.User{Thread: "h"}, Lock: lock, Key: "lock", LeaseMS: protocol.MS(long), Servers: []string{own.addr}, Resource: own.addr,
			})
			require.Equal(t, protocol.OK, answer.Outcome, answer.Error)
			on := func(handle, verb string) string {
				return c.ask(protocol.Request{Do: verb, Handle: handle, Key: "counter"}).Outcome
			}
			require.Equal(t, protocol.OK, on("h", protocol.Acquire))
			require.Equal(t, protocol.OK, on("own", protocol.Acquire), "it is another server")
			assert.EqualValues(t, 1, *c.ask(protocol.Request{Do: protocol.Work, Handle: "h", Key: "counter"}).Wrote)
			assert.EqualValues(t, 1, *c.ask(protocol.Request{Do: protocol.Work, Handle: "own", Key: "counter"}).Wrote, "and another resource")
			own.cut()
			require.Equal(t, protocol.OK, c.ask(protocol.Request{Do: protocol.Reconnect}).Outcome)
			if lock == "setpx-lua-resend" {
				assert.Equal(t, protocol.OK, on("own", protocol.Release))
				assert.Equal(t, protocol.OK, on("h", protocol.Release))
				return
			}
			assert.Equal(t, protocol.OK, on("own", protocol.Release))
			assert.Equal(t, protocol.No, on("h", protocol.Release), "the token was the other lock's")
		})
	}
}

func TestServersThatAreNotThere(t *testing.T) {
	c := inProcess(t)
	c.begin(startMini(t))
	answer := c.ask(protocol.Request{
		Do: protocol.Open, Handle: "own", Lock: "setpx-lua", Key: "lock", LeaseMS: protocol.MS(long), Servers: []string{"127.0.0.1:1"},
	})
	assert.Equal(t, protocol.No, answer.Outcome)
	assert.Contains(t, answer.Error, "the servers of own: ")
}
