package worker_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/locklab/locklab/history"
	"github.com/locklab/locklab/internal/worker/protocol"
)

// working asks a client for work on the key "data".
func (c *client) working(work history.Workload, stock int64) protocol.Message {
	c.t.Helper()
	return c.ask(protocol.Request{Do: protocol.Work, Handle: "h", Key: "data", Workload: string(work), Stock: stock})
}

// plainAndFenced runs a test with a lock that hands out fences, and with one that does not, in which two clients work in turn.
func plainAndFenced(t *testing.T, test func(t *testing.T, addr string, one, two *client)) {
	eachServer(t, func(t *testing.T, addr string) {
		for _, lock := range []string{"setpx-lua", "fenced"} {
			t.Run(lock, func(t *testing.T) {
				direct(t, addr).FlushAll(t.Context())
				one, two := opened(t, addr, lock, long), inProcess(t)
				hello := two.ask(protocol.Request{
					Do: protocol.Init, Version: protocol.Version, Client: "C2", Servers: []string{addr}, Resource: addr, TimeoutMS: 20_000,
				})
				require.Equal(t, protocol.OK, hello.Outcome, hello.Error)
				two.open(lock, long)
				require.Equal(t, protocol.OK, one.do(protocol.Acquire))
				test(t, addr, one, two)
			})
		}
	})
}

// handOver gives the lock to the other client.
func handOver(t *testing.T, from, to *client) {
	t.Helper()
	require.Equal(t, protocol.OK, from.do(protocol.Release))
	require.Equal(t, protocol.OK, to.do(protocol.Acquire))
}

func TestStockIsSoldOnce(t *testing.T) {
	plainAndFenced(t, func(t *testing.T, addr string, one, two *client) {
		rdb := direct(t, addr)
		require.NoError(t, rdb.MSet(t.Context(), "data", 2, "data:database", 2).Err())
		answer := one.working(history.Stock, 0)
		require.Equal(t, protocol.OK, answer.Outcome, answer.Error)
		assert.Equal(t, []int64{2, 1}, []int64{*answer.Read, *answer.Wrote})
		handOver(t, one, two)
		require.Equal(t, protocol.OK, two.working(history.Stock, 0).Outcome)
		answer = two.working(history.Stock, 0)
		assert.Equal(t, protocol.No, answer.Outcome)
		assert.Equal(t, history.SoldOut, answer.Error)
		assert.Equal(t, []any{"0", "0"}, rdb.MGet(t.Context(), "data", "data:database").Val())
	})
}

// Two processes have two stocks; that is the bug. The same stock in the store is one.
func TestFlashSaleHasAStockPerProcess(t *testing.T) {
	plainAndFenced(t, func(t *testing.T, addr string, one, two *client) {
		rdb := direct(t, addr)
		require.Equal(t, protocol.OK, one.working(history.FlashSale, 1).Outcome)
		assert.Equal(t, history.SoldOut, one.working(history.FlashSale, 1).Error)
		handOver(t, one, two)
		require.Equal(t, protocol.OK, two.working(history.FlashSale, 1).Outcome)
		assert.Equal(t, "2", rdb.Get(t.Context(), "data").Val())

		require.NoError(t, rdb.Set(t.Context(), "data:stock", 1, 0).Err())
		require.Equal(t, protocol.OK, two.working(history.FlashSaleStore, 0).Outcome)
		handOver(t, two, one)
		assert.Equal(t, history.SoldOut, one.working(history.FlashSaleStore, 0).Error)
		assert.Equal(t, "3", rdb.Get(t.Context(), "data").Val())
	})
}

func TestLedgerEntriesFollowOneAnother(t *testing.T) {
	plainAndFenced(t, func(t *testing.T, addr string, one, two *client) {
		rdb := direct(t, addr)
		require.Equal(t, protocol.OK, one.working(history.Ledger, 0).Outcome)
		handOver(t, one, two)
		answer := two.working(history.Ledger, 0)
		assert.Equal(t, []int64{1, 2}, []int64{*answer.Read, *answer.Wrote})
		assert.Equal(t, []string{"1 after 0 by C1", "2 after 1 by C2"}, rdb.LRange(t.Context(), "data", 0, -1).Val())
		require.NoError(t, rdb.RPush(t.Context(), "data", "scribble").Err())
		answer = two.working(history.Ledger, 0)
		assert.Equal(t, protocol.Unknown, answer.Outcome)
		assert.Contains(t, answer.Error, "begins with no number")
	})
}

// A client whose turn is over is refused by a resource that minds fences, whatever the work.
func TestFencedWorkOfAllKinds(t *testing.T) {
	addr := startMini(t)
	for _, work := range []history.Workload{
		history.Stock, history.FlashSale, history.FlashSaleStore, history.Ledger,
	} {
		t.Run(string(work), func(t *testing.T) {
			rdb := direct(t, addr)
			rdb.FlushAll(t.Context())
			require.NoError(t, rdb.MSet(t.Context(), "data:stock", 9, "data:database", 9).Err())
			if work == history.Stock {
				require.NoError(t, rdb.Set(t.Context(), "data", 9, 0).Err())
			}
			one, two := opened(t, addr, "fenced", long), opened(t, addr, "fenced", long)
			require.Equal(t, protocol.OK, one.do(protocol.Acquire))
			require.NoError(t, rdb.Del(t.Context(), "lock").Err())
			require.Equal(t, protocol.OK, two.do(protocol.Acquire))
			answer := two.working(work, 9)
			require.Equal(t, protocol.OK, answer.Outcome, answer.Error)
			assert.Equal(t, protocol.No, one.working(work, 9).Outcome)
		})
	}
	t.Run("unknown", func(t *testing.T) {
		c := opened(t, addr, "setpx-lua", long)
		assert.True(t, c.working("gambling", 0).Unsupported)
	})
}
