package explore

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/locklab/locklab/history"
	"github.com/locklab/locklab/impls"
	"github.com/locklab/locklab/sim/process"
)

const (
	lockKey    = "k"
	counterKey = "k:counter"
	fenceKey   = "k:fence"
)

// acquire tries once; the explorer itself decides when the next try comes.
func acquire(ctx process.Context, lock impls.Lock) process.Answer {
	held, err := lock.TryAcquire(ctx.Ctx())
	answer := process.Answer{Outcome: impls.Outcome(held, err), Err: err}
	if answer.Outcome != history.OK {
		return answer
	}
	if limited, ok := lock.(impls.Limited); ok {
		answer.Limited, answer.Valid = true, limited.Valid()
	}
	if fencer, ok := lock.(impls.Fencer); ok {
		answer.Fence = fencer.Fence()
	}
	return answer
}

func release(ctx process.Context, lock impls.Lock) process.Answer {
	released, err := lock.Release(ctx.Ctx())
	return process.Answer{Outcome: impls.Outcome(released, err), Err: err}
}

// staleFence is how the resource refuses.
const staleFence = "STALEFENCE"

const (
	showFence = `if tonumber(redis.call("GET", KEYS[1]) or 0) > tonumber(ARGV[1]) then
	return redis.error_reply("` + staleFence + ` a greater fence has been seen")
end
return redis.call("SET", KEYS[1], ARGV[1])`

	writeFenced = `if tonumber(redis.call("GET", KEYS[2]) or 0) > tonumber(ARGV[2]) then
	return redis.error_reply("` + staleFence + ` a greater fence has been seen")
end
return redis.call("SET", KEYS[1], ARGV[1])`
)

// work reads the counter and writes it back one higher, in two commands. A lock that hands out fences has it show its own, before
// and with the write.
func work(resource impls.Server) process.Operation {
	return func(ctx process.Context, lock impls.Lock) process.Answer {
		fencer, fenced := lock.(impls.Fencer)
		if fenced {
			if ok, err := accepted(resource.Do(ctx.Ctx(), "EVAL", showFence, 1, fenceKey, fencer.Fence())); !ok {
				return process.Answer{Outcome: impls.Outcome(false, err), Err: err}
			}
		}
		read, err := counter(resource.Do(ctx.Ctx(), "GET", counterKey))
		if err != nil {
			return process.Answer{Outcome: history.Unknown, Err: err}
		}
		answer := process.Answer{Read: read, Wrote: read + 1}
		written := false
		if fenced {
			written, err = accepted(resource.Do(ctx.Ctx(), "EVAL", writeFenced, 2, counterKey, fenceKey, read+1, fencer.Fence()))
		} else {
			_, err = resource.Do(ctx.Ctx(), "SET", counterKey, read+1)
			written = err == nil
		}
		answer.Outcome, answer.Err = impls.Outcome(written, err), err
		return answer
	}
}

// accepted reads the reply of a resource that minds fences. Its refusal is a definite no.
func accepted(_ any, err error) (bool, error) {
	var refusal impls.ServerError
	if errors.As(err, &refusal) && strings.HasPrefix(string(refusal), staleFence) {
		return false, nil
	}
	return err == nil, err
}

func counter(reply any, err error) (int64, error) {
	if err != nil || reply == nil {
		return 0, err
	}
	return strconv.ParseInt(fmt.Sprint(reply), 10, 64)
}

// operationOf is an operation by its name in the history.
func operationOf(op history.Op, resource impls.Server) process.Operation {
	switch op {
	case history.OpAcquire:
		return acquire
	case history.OpWork:
		return work(resource)
	}
	return release
}
