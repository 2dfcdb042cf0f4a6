package impls

import (
	"context"

	"github.com/locklab/locklab/history"
)

func redissonFair() Spec {
	return Spec{
		Card: Card{
			Name:   "redisson-fair",
			Idea:   "redisson with a queue: a list of waiters and a sorted set of the times at which each is dropped",
			Source: "article 003, A10; the protocol from Redisson's published source",
			Bug: "the time-outs in the queue are written and judged by the clients' clocks: one whose clock is ahead drops the others; " +
				"a client that died in the queue delays the others until its time-out",
			Promises: []Promise{MutualExclusion, ReleaseByOwner, RenewByOwner, CrashSafety, Reentrance, Fairness},
			Needs:    OneServer,
			Sends:    sends([]string{"EVAL"}, []string{"EVAL"}),
			Clocks:   []Clock{WallClock},
			Contract: history.Contract{Renews: true},
		},
		New: func(env Env, opts Options) Lock {
			return &redissonFairLock{redissonLock: redissonLock{env: env, opts: opts}}
		},
	}
}

type redissonFairLock struct {
	redissonLock
	queues bool // its client waits: a refused try joins the queue
}

// dropStale drops waiters from the head of the queue that are overdue by the calling client's clock.
const dropStale = `while true do
	local head = redis.call("LINDEX", KEYS[2], 0)
	if head == false then break end
	local due = redis.call("ZSCORE", KEYS[3], head)
	if due == false or tonumber(due) > tonumber(ARGV[4]) then break end
	redis.call("ZREM", KEYS[3], head)
	redis.call("LPOP", KEYS[2])
end
`

// takeTurn takes the lock if it is free and we are first in the queue, or if it is ours already. The due times of the other waiters then
// come one turn earlier.
const takeTurn = `if redis.call("EXISTS", KEYS[1]) == 0
	and (redis.call("EXISTS", KEYS[2]) == 0 or redis.call("LINDEX", KEYS[2], 0) == ARGV[2]) then
	redis.call("LPOP", KEYS[2])
	redis.call("ZREM", KEYS[3], ARGV[2])
	for _, waiter in ipairs(redis.call("ZRANGE", KEYS[3], 0, -1)) do
		redis.call("ZINCRBY", KEYS[3], -tonumber(ARGV[3]), waiter)
	end
	redis.call("HSET", KEYS[1], ARGV[2], 1)
	redis.call("PEXPIRE", KEYS[1], ARGV[1])
	return nil
end
if redis.call("HEXISTS", KEYS[1], ARGV[2]) == 1 then
	redis.call("HINCRBY", KEYS[1], ARGV[2], 1)
	redis.call("PEXPIRE", KEYS[1], ARGV[1])
	return nil
end
`

// queueUp appends us to the queue, unless we are in it, and returns how long to wait.
const queueUp = `local due = redis.call("ZSCORE", KEYS[3], ARGV[2])
if due ~= false then
	return math.floor(tonumber(due) - tonumber(ARGV[3]) - tonumber(ARGV[4]))
end
local left
local last = redis.call("LINDEX", KEYS[2], -1)
if last ~= false and last ~= ARGV[2] then
	left = math.floor(tonumber(redis.call("ZSCORE", KEYS[3], last)) - tonumber(ARGV[4]))
else
	left = redis.call("PTTL", KEYS[1])
end
if redis.call("ZADD", KEYS[3], left + tonumber(ARGV[3]) + tonumber(ARGV[4]), ARGV[2]) == 1 then
	redis.call("RPUSH", KEYS[2], ARGV[2])
end
return left`

const (
	tryInTurn  = dropStale + takeTurn + `return redis.call("PTTL", KEYS[1])`
	waitInTurn = dropStale + takeTurn + queueUp
)

// leaveQueue removes us from the queue. The due times of the waiters behind us then come one turn earlier.
const leaveQueue = `local behind = false
for _, waiter in ipairs(redis.call("LRANGE", KEYS[1], 0, -1)) do
	if behind then
		redis.call("ZINCRBY", KEYS[2], -tonumber(ARGV[2]), waiter)
	end
	behind = behind or waiter == ARGV[1]
end
redis.call("ZREM", KEYS[2], ARGV[1])
return redis.call("LREM", KEYS[1], 0, ARGV[1])`

// passOn releases the lock once; the last release wakes the head of the queue. An absent lock counts as released.
const passOn = dropStale + `local function wake()
	local head = redis.call("LINDEX", KEYS[2], 0)
	if head ~= false then
		redis.call("PUBLISH", KEYS[4] .. ":" .. head, "0")
	end
end
if redis.call("EXISTS", KEYS[1]) == 0 then
	wake()
	return 1
end
if redis.call("HEXISTS", KEYS[1], ARGV[2]) == 0 then
	return nil
end
if redis.call("HINCRBY", KEYS[1], ARGV[2], -1) > 0 then
	redis.call("PEXPIRE", KEYS[1], ARGV[1])
	return 0
end
redis.call("DEL", KEYS[1])
wake()
return 1`

func (l *redissonFairLock) TryAcquire(ctx context.Context) (bool, error) {
	script := &Script{Source: tryInTurn}
	if l.queues {
		script = &Script{Source: waitInTurn}
	}
	return l.renewed(l.granted(l.eval(ctx, script, l.opts.Key, l.queue(), l.dues())))
}

func (l *redissonFairLock) Release(ctx context.Context) (bool, error) {
	return l.released(l.eval(ctx, &Script{Source: passOn}, l.opts.Key, l.queue(), l.dues(), l.channel()))
}

func (l *redissonFairLock) eval(ctx context.Context, script *Script, keys ...string) (any, error) {
	return l.env.Server().Eval(ctx, script, keys, l.lease(), l.name(), l.turn(), l.env.Now().UnixMilli())
}

// Enter has the next tries join the queue.
func (l *redissonFairLock) Enter(context.Context) error {
	l.queues = true
	return nil
}

// Leave leaves the queue if the lock was not granted.
func (l *redissonFairLock) Leave(ctx context.Context, held bool) error {
	l.queues = false
	if held {
		return nil
	}
	ctx, cancel := l.env.WithTimeout(context.WithoutCancel(ctx), l.opts.Lease/3)
	defer cancel()
	// The refusal stands, whatever the error: after one, we stay in the queue until we are due.
	_, _ = l.env.Server().Eval(ctx, &Script{Source: leaveQueue}, []string{l.queue(), l.dues()}, l.name(), l.turn())
	return nil
}

// Wakeups wake this thread only.
func (l *redissonFairLock) Wakeups(ctx context.Context) (Subscription, error) {
	return l.env.Server().Subscribe(ctx, l.channel()+":"+l.name())
}

func (l *redissonFairLock) queue() string { return l.opts.Key + ":queue" }
func (l *redissonFairLock) dues() string  { return l.opts.Key + ":timeout" }

// turn is the time, in ms, after which a waiter is overdue: Redisson's ratio, 5 minutes to a lease of 30 s.
func (l *redissonFairLock) turn() int64 { return 10 * l.opts.Lease.Milliseconds() }
