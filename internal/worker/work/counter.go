// Package work is the critical section: the clients' work on the protected resource, the same on a real store and in the model. It owns
// the workloads. It must not know the lock.
package work

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/locklab/locklab/history"
	"github.com/locklab/locklab/impls"
	"github.com/locklab/locklab/internal/answers"
)

// increment reads a counter and writes it back one higher, in two commands, so that without mutual exclusion updates are lost.
func increment(ctx context.Context, resource Resource, key string) history.Answer {
	return add(ctx, resource, key, func(wrote int64) (bool, error) {
		_, err := resource.Do(ctx, "SET", key, wrote)
		return err == nil, err
	})
}

// The resource rejects with an error of its own, which cannot be taken for a reply to a write. Both scripts reject before they write.
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

// incrementFenced is increment on a resource that rejects a smaller fence than it has seen. The fence is also shown before the read:
// otherwise a write could be accepted between a later holder's read and its write.
func incrementFenced(ctx context.Context, resource Resource, key string, fence int64) history.Answer {
	fenceKey := key + ":fence"
	if shown, err := accepted(resource.Eval(ctx, &impls.Script{Source: showFence}, []string{fenceKey}, fence)); !shown {
		return answers.Settled(false, err)
	}
	return add(ctx, resource, key, func(wrote int64) (bool, error) {
		return accepted(resource.Eval(ctx, &impls.Script{Source: writeFenced}, []string{key, fenceKey}, wrote, fence))
	})
}

// accepted reads the reply of a fenced resource, whose rejection is a definite no.
func accepted(_ any, err error) (bool, error) {
	if err != nil && strings.HasPrefix(err.Error(), staleFence) {
		return false, nil
	}
	return err == nil, err
}

// add reads the counter and has it written one higher; write says whether it was.
func add(ctx context.Context, resource Resource, key string, write func(wrote int64) (bool, error)) history.Answer {
	read, err := counter(resource.Do(ctx, "GET", key))
	if err != nil {
		return answers.Settled(false, err)
	}
	wrote := read + 1
	answer := answers.Settled(write(wrote))
	answer.Counted, answer.Read, answer.Wrote = true, read, wrote
	return answer
}

// counter reads the reply of GET; an absent counter is zero.
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
