package work

import (
	"context"
	"fmt"
	"slices"

	"github.com/locklab/locklab/history"
	"github.com/locklab/locklab/impls"
	"github.com/locklab/locklab/internal/answers"
)

// Resource is the store as work uses it.
type Resource interface {
	Do(ctx context.Context, args ...any) (any, error)
	Eval(ctx context.Context, script *impls.Script, keys []string, args ...any) (any, error)
}

// Task is one piece of work under a lock.
type Task struct {
	Resource Resource
	// Shared is state that all locks of the client's process share: see impls.Env.
	Shared func(key string, make func() any) any
	Client string
	Key    string // of the data
	Stock  int64  // the initial stock of a sale in the client's memory

	fenced bool // the lock issues fences, and the resource checks this one
	fence  int64
}

// Under is the work under a lock, with the lock's fence, if any.
func (t Task) Under(lock impls.Lock) Task {
	if fencer, ok := lock.(impls.Fencer); ok {
		t.fenced, t.fence = true, fencer.Fence()
	}
	return t
}

// Workloads lists the kinds of work.
func Workloads() []string {
	return []string{
		string(history.Counter), string(history.Stock), string(history.Ledger), string(history.FlashSale),
		string(history.FlashSaleStore),
	}
}

// Do does the work, whether or not the lock is held.
func (t Task) Do(ctx context.Context, workload history.Workload) history.Answer {
	switch workload {
	case "", history.Counter:
		if t.fenced {
			return incrementFenced(ctx, t.Resource, t.Key, t.fence)
		}
		return increment(ctx, t.Resource, t.Key)
	case history.Stock:
		return t.entered(ctx, t.sell)
	case history.Ledger:
		return t.entered(ctx, t.enter)
	case history.FlashSale:
		return t.entered(ctx, t.sellFromMemory)
	case history.FlashSaleStore:
		return t.entered(ctx, t.sellFromStore)
	}
	return answers.Unsupported(fmt.Sprintf("unknown workload %q", workload))
}

// entered shows the fence, if there is one, then does a job.
func (t Task) entered(ctx context.Context, job func(context.Context) history.Answer) history.Answer {
	if t.fenced {
		shown, err := accepted(t.Resource.Eval(ctx, &impls.Script{Source: showFence}, []string{t.fenceKey()}, t.fence))
		if !shown {
			return answers.Settled(false, err)
		}
	}
	return job(ctx)
}

// fenceKey holds the greatest fence that the resource has seen of the lock.
func (t Task) fenceKey() string { return t.Key + ":fence" }

// oneByOne runs writing commands in order. On a fenced resource they are one step: between two of them a later holder could begin.
func (t Task) oneByOne(ctx context.Context, keys []string, commands ...impls.Command) (bool, error) {
	if t.fenced {
		return t.compared(ctx, keys, commands)
	}
	for _, command := range commands {
		if _, err := t.Resource.Do(ctx, command...); err != nil {
			return false, err
		}
	}
	return true, nil
}

// compared runs commands, each on the key behind its name, as one script, unless the resource has seen a greater fence. Names and keys are written out:
// on a server that others use, the lab lets no other script pass.
func (t Task) compared(ctx context.Context, keys []string, commands []impls.Command) (bool, error) {
	keys, args := append(keys, t.fenceKey()), []any{t.fence}
	source := fmt.Sprintf(`if tonumber(redis.call("GET", KEYS[%d]) or 0) > tonumber(ARGV[1]) then
	return redis.error_reply("`+staleFence+` a greater fence has been seen")
end
`, len(keys))
	for _, command := range commands {
		source += fmt.Sprintf("redis.call(%q, KEYS[%d]", command[0], 1+slices.Index(keys, command[1].(string)))
		for _, word := range command[2:] {
			args = append(args, word)
			source += fmt.Sprintf(", ARGV[%d]", len(args))
		}
		source += ")\n"
	}
	return accepted(t.Resource.Eval(ctx, &impls.Script{Source: source + `return "OK"`}, keys, args...))
}

// wrote is the answer to work that read a number and replaced it.
func wrote(before, after int64, done bool, err error) history.Answer {
	answer := answers.Settled(done, err)
	answer.Counted, answer.Read, answer.Wrote = true, before, after
	return answer
}

// soldOut is the answer to a sale when nothing is left.
func soldOut() history.Answer { return history.Answer{Outcome: history.No, Error: history.SoldOut} }
