package worker

import (
	"context"
	"fmt"

	"github.com/locklab/locklab/history"
	"github.com/locklab/locklab/impls"
	"github.com/locklab/locklab/worker/protocol"
)

// task is one piece of work under a lock.
type task struct {
	resource *server
	shared   *shared // of the process
	client   string
	key      string
	stock    int64  // with which a sale in the client's memory begins
	item     string // which a lock for one item of a market is for
	fenced   bool   // the lock hands out fences, and the resource is shown this one
	fence    int64
}

// workloads are the kinds of work that this client knows.
func workloads() []string {
	return []string{
		string(history.Counter), string(history.Stock), string(history.Ledger), string(history.FlashSale),
		string(history.FlashSaleStore), string(history.Market), string(history.MarketWatch), string(history.MarketItems),
	}
}

// do does the work, whether or not the lock is held: judging that is the lab's part.
func (t task) do(ctx context.Context, workload history.Workload) protocol.Message {
	switch workload {
	case "", history.Counter:
		if t.fenced {
			return incrementFenced(ctx, t.resource, t.key, t.fence)
		}
		return increment(ctx, t.resource, t.key)
	case history.Stock:
		return t.entered(ctx, t.sell)
	case history.Ledger:
		return t.entered(ctx, t.enter)
	case history.FlashSale:
		return t.entered(ctx, t.sellFromMemory)
	case history.FlashSaleStore:
		return t.entered(ctx, t.sellFromStore)
	case history.Market:
		return t.entered(ctx, t.trade)
	case history.MarketWatch:
		return t.entered(ctx, t.tradeWatched)
	case history.MarketItems:
		return t.entered(ctx, t.tradeItem)
	}
	return unsupported(fmt.Sprintf("unknown workload %q", workload))
}

// entered does a job after the fence has been shown, if there is one.
func (t task) entered(ctx context.Context, job func(context.Context) protocol.Message) protocol.Message {
	if t.fenced {
		shown, err := accepted(t.resource.Eval(ctx, &impls.Script{Source: showFence}, []string{t.fenceKey()}, t.fence))
		if !shown {
			return settled(false, err)
		}
	}
	return job(ctx)
}

// fenceKey is where the resource keeps the greatest fence that it has seen: of each lock for itself.
func (t task) fenceKey() string {
	if t.item != "" {
		return t.key + ":fence:" + t.item
	}
	return t.key + ":fence"
}

// oneByOne carries out commands that write, in their order. On a resource that minds fences they are one step: between two of
// them a later holder could begin.
func (t task) oneByOne(ctx context.Context, keys []string, commands ...impls.Command) (bool, error) {
	if t.fenced {
		return t.compared(ctx, keys, commands)
	}
	for _, command := range commands {
		if _, err := t.resource.Do(ctx, command...); err != nil {
			return false, err
		}
	}
	return true, nil
}

// together carries out commands that write, in one step.
func (t task) together(ctx context.Context, keys []string, commands ...impls.Command) (bool, error) {
	if t.fenced {
		return t.compared(ctx, keys, commands)
	}
	return t.resource.transact(ctx, commands...)
}

// writeCompared carries out commands, each preceded by the number of its words, unless the resource has seen a greater fence.
const writeCompared = `if tonumber(redis.call("GET", KEYS[#KEYS]) or 0) > tonumber(ARGV[1]) then
	return redis.error_reply("` + staleFence + ` a greater fence has been seen")
end
local at = 2
while at <= #ARGV do
	local words = tonumber(ARGV[at])
	redis.call(unpack(ARGV, at + 1, at + words))
	at = at + 1 + words
end
return "OK"`

func (t task) compared(ctx context.Context, keys []string, commands []impls.Command) (bool, error) {
	args := []any{t.fence}
	for _, command := range commands {
		args = append(append(args, len(command)), command...)
	}
	return accepted(t.resource.Eval(ctx, &impls.Script{Source: writeCompared}, append(keys, t.fenceKey()), args...))
}

// wrote is the answer to work that read a number and had another one written in its place.
func wrote(before, after int64, done bool, err error) protocol.Message {
	answer := settled(done, err)
	answer.Read, answer.Wrote = &before, &after
	return answer
}

// soldOut is the answer to a sale when nothing is left.
func soldOut() protocol.Message { return refused(history.SoldOut) }
