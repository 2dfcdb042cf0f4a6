// Package work is the critical section: what clients do to the protected resource while they hold a lock. It is the same on a real store
// and in the model. It owns the workloads. It must not know the lock.
package work

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/locklab/locklab/history"
	"github.com/locklab/locklab/impls"
)

// increment is the work under a lock: it reads a counter and writes it back one higher, in two commands, so that only a lock that
// holds saves it from losing updates.
func increment(ctx context.Context, resource impls.Server, key string) history.Answer {
	return add(ctx, resource, key, func(wrote int64) (bool, error) {
		_, err := resource.Do(ctx, "SET", key, wrote)
		return err == nil, err
	})
}

// The resource refuses with an error of its own, so that nobody takes the refusal for a write. Both scripts refuse before they
// write.
const (
	staleFence = "STALEFENCE"

	// showFence has the resource remember the fence, unless it has seen a greater one.
	showFence = `if tonumber(redis.call("GET", KEYS[1]) or 0) > tonumber(ARGV[1]) then
	return redis.error_reply("` + staleFence + ` a greater fence has been seen")
end
return redis.call("SET", KEYS[1], ARGV[1])`

	// writeFenced writes the counter, unless the resource has seen a greater fence.
	writeFenced = `if tonumber(redis.call("GET", KEYS[2]) or 0) > tonumber(ARGV[2]) then
	return redis.error_reply("` + staleFence + ` a greater fence has been seen")
end
return redis.call("SET", KEYS[1], ARGV[1])`
)

// incrementFenced is increment on a resource that refuses whoever shows a smaller fence than it has seen. The fence is shown
// before the counter is read, too: else a write could be accepted between a later holder's read and its write.
func incrementFenced(ctx context.Context, resource impls.Server, key string, fence int64) history.Answer {
	fenceKey := key + ":fence"
	if shown, err := accepted(resource.Eval(ctx, &impls.Script{Source: showFence}, []string{fenceKey}, fence)); !shown {
		return impls.Settled(false, err)
	}
	return add(ctx, resource, key, func(wrote int64) (bool, error) {
		return accepted(resource.Eval(ctx, &impls.Script{Source: writeFenced}, []string{key, fenceKey}, wrote, fence))
	})
}

// accepted reads the reply of a resource that minds fences. Its refusal is a definite no.
func accepted(_ any, err error) (bool, error) {
	if err != nil && strings.HasPrefix(err.Error(), staleFence) {
		return false, nil
	}
	return err == nil, err
}

// add reads the counter and has it written one higher; write says whether it was.
func add(ctx context.Context, resource impls.Server, key string, write func(wrote int64) (bool, error)) history.Answer {
	read, err := counter(resource.Do(ctx, "GET", key))
	if err != nil {
		return impls.Settled(false, err)
	}
	wrote := read + 1
	answer := impls.Settled(write(wrote))
	answer.Counted, answer.Read, answer.Wrote = true, read, wrote
	return answer
}

// counter reads the reply of GET; a counter that is not there stands at zero.
func counter(reply any, err error) (int64, error) {
	if err != nil || reply == nil {
		return 0, err
	}
	n, err := strconv.ParseInt(fmt.Sprint(reply), 10, 64)
	if err != nil {
		return 0, fmt.Errorf("the counter is no number: %w", err)
	}
	return n, nil
}
