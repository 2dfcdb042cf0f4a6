package programs

import (
	"context"
	"time"

	"github.com/locklab/locklab/impls"
)

// action is what a step does: mostly a command. Its word may have room for m, which is so many quarters of a lease.
type action struct {
	word string
	do   func(l *lock, ctx context.Context, m int) error
}

// The places of some actions in the list. Those before plainActions are plain.
const (
	setNX = iota
	setNXPX
	setPX
	get
	del
	compareAndDelete
	pExpire
	compareAndExpire
	plainActions
	watchAndSet = iota - 1
	getSet
	getDel
	increment
	decrement
	hashSet
	setAdd
	listPop
)

const (
	deleteIfSame = `if redis.call("GET", KEYS[1]) == ARGV[1] then return redis.call("DEL", KEYS[1]) else return 0 end`
	expireIfSame = `if redis.call("GET", KEYS[1]) == ARGV[1] then return redis.call("PEXPIRE", KEYS[1], ARGV[2]) else return 0 end`
)

// The keys that a rich lock uses beside its own.
const (
	otherKey  = "other"
	numberKey = "number"
)

var actions = []action{
	{"SETNX", func(l *lock, ctx context.Context, _ int) error {
		return l.takes(l.ask(ctx, "SETNX", l.opts.Key, l.token))
	}},
	{"SET NX PX", func(l *lock, ctx context.Context, _ int) error {
		return l.takes(l.ask(ctx, "SET", l.opts.Key, l.token, "NX", "PX", l.lease()))
	}},
	{"SET PX", func(l *lock, ctx context.Context, _ int) error {
		return l.takes(l.ask(ctx, "SET", l.opts.Key, l.token, "PX", l.lease()))
	}},
	{"GET", func(l *lock, ctx context.Context, _ int) error { return l.reads(l.ask(ctx, "GET", l.opts.Key)) }},
	{"DEL", func(l *lock, ctx context.Context, _ int) error { return l.removes(l.ask(ctx, "DEL", l.opts.Key)) }},
	{"compare and DEL", func(l *lock, ctx context.Context, _ int) error { return l.removes(l.eval(ctx, deleteIfSame, l.token)) }},
	{"PEXPIRE", func(l *lock, ctx context.Context, _ int) error {
		return l.does(l.ask(ctx, "PEXPIRE", l.opts.Key, l.lease()))
	}},
	{"compare and PEXPIRE", func(l *lock, ctx context.Context, _ int) error {
		return l.does(l.eval(ctx, expireIfSame, l.token, l.lease()))
	}},
	{"WATCH, GET, and SET PX", (*lock).watchesAndSets},
	{"GETSET", func(l *lock, ctx context.Context, _ int) error {
		err := l.reads(l.ask(ctx, "GETSET", l.opts.Key, l.token))
		l.took = err == nil && l.seen == ""
		return err
	}},
	{"GETDEL", func(l *lock, ctx context.Context, _ int) error {
		err := l.reads(l.ask(ctx, "GETDEL", l.opts.Key))
		l.removed = l.removed || err == nil && l.seen == l.token
		return err
	}},
	{"INCR", func(l *lock, ctx context.Context, _ int) error {
		return l.takes(l.counts(l.ask(ctx, "INCR", l.opts.Key)))
	}},
	{"DECR", func(l *lock, ctx context.Context, _ int) error {
		reply, err := l.counts(l.ask(ctx, "DECR", l.opts.Key))
		l.removed = l.removed || reply == int64(0)
		return err
	}},
	{"HSETNX", func(l *lock, ctx context.Context, _ int) error {
		return l.takes(l.ask(ctx, "HSETNX", l.opts.Key, "owner", l.token))
	}},
	{"SADD", func(l *lock, ctx context.Context, _ int) error {
		return l.takes(l.ask(ctx, "SADD", l.opts.Key, l.token))
	}},
	{"LPOP", func(l *lock, ctx context.Context, _ int) error {
		err := l.reads(l.ask(ctx, "LPOP", l.opts.Key))
		l.took = err == nil && l.seen != ""
		return err
	}},
	{"SET XX PX", func(l *lock, ctx context.Context, _ int) error {
		return l.takes(l.ask(ctx, "SET", l.opts.Key, l.token, "XX", "PX", l.lease()))
	}},
	{"SET NX PX %d quarters of a lease", func(l *lock, ctx context.Context, m int) error {
		return l.takes(l.ask(ctx, "SET", l.opts.Key, l.token, "NX", "PX", int64(m)*l.lease()/4))
	}},
	{"SET KEEPTTL", func(l *lock, ctx context.Context, _ int) error {
		return l.does(l.ask(ctx, "SET", l.opts.Key, l.token, "KEEPTTL"))
	}},
	{"APPEND", func(l *lock, ctx context.Context, _ int) error {
		return l.does(l.ask(ctx, "APPEND", l.opts.Key, l.token))
	}},
	{"PERSIST", func(l *lock, ctx context.Context, _ int) error { return l.does(l.ask(ctx, "PERSIST", l.opts.Key)) }},
	{"GETEX PX", func(l *lock, ctx context.Context, _ int) error {
		return l.reads(l.ask(ctx, "GETEX", l.opts.Key, "PX", l.lease()))
	}},
	{"EXISTS", func(l *lock, ctx context.Context, _ int) error {
		return l.does(l.counts(l.ask(ctx, "EXISTS", l.opts.Key)))
	}},
	{"PTTL", func(l *lock, ctx context.Context, _ int) error {
		reply, err := l.ask(ctx, "PTTL", l.opts.Key)
		if left, is := reply.(int64); is && l.asks(soon) {
			l.quarters = max(left, -1) * 4 / l.lease()
		}
		return err
	}},
	{"HDEL", func(l *lock, ctx context.Context, _ int) error {
		return l.removes(l.ask(ctx, "HDEL", l.opts.Key, "owner"))
	}},
	{"HGET", func(l *lock, ctx context.Context, _ int) error {
		return l.reads(l.ask(ctx, "HGET", l.opts.Key, "owner"))
	}},
	{"SREM", func(l *lock, ctx context.Context, _ int) error {
		return l.removes(l.ask(ctx, "SREM", l.opts.Key, l.token))
	}},
	{"SCARD", func(l *lock, ctx context.Context, _ int) error {
		return l.does(l.counts(l.ask(ctx, "SCARD", l.opts.Key)))
	}},
	{"RPUSH", func(l *lock, ctx context.Context, _ int) error {
		return l.removes(l.counts(l.ask(ctx, "RPUSH", l.opts.Key, l.token)))
	}},
	{"LREM", func(l *lock, ctx context.Context, _ int) error {
		return l.removes(l.ask(ctx, "LREM", l.opts.Key, 1, l.token))
	}},
	{"GET of another key", func(l *lock, ctx context.Context, _ int) error { return l.reads(l.ask(ctx, "GET", otherKey)) }},
	{"SET of another key", func(l *lock, ctx context.Context, _ int) error { return l.does(l.ask(ctx, "SET", otherKey, l.token)) }},
	{"DEL of another key", func(l *lock, ctx context.Context, _ int) error { return l.does(l.ask(ctx, "DEL", otherKey)) }},
	{"RENAMENX of another key", func(l *lock, ctx context.Context, _ int) error {
		return l.takes(l.ask(ctx, "RENAMENX", otherKey, l.opts.Key))
	}},
	{"INCR of a number", func(l *lock, ctx context.Context, _ int) error {
		return l.does(l.counts(l.ask(ctx, "INCR", numberKey)))
	}},
	{"DEL of a number", func(l *lock, ctx context.Context, _ int) error { return l.does(l.ask(ctx, "DEL", numberKey)) }},
	{"SET NX PX of a number", func(l *lock, ctx context.Context, _ int) error {
		return l.does(l.ask(ctx, "SET", numberKey, 1, "NX", "PX", l.lease()))
	}},
	{"PUBLISH", func(l *lock, ctx context.Context, _ int) error {
		return l.does(l.ask(ctx, "PUBLISH", "channel", l.token))
	}},
	{"sleep %d quarters of a lease", func(l *lock, ctx context.Context, m int) error { return l.env.Sleep(ctx, l.quarter(m)) }},
	{"%d quarters of a lease later, compare and DEL", func(l *lock, _ context.Context, m int) error { return l.later(m, deleteIfSame) }},
	{"%d quarters of a lease later, compare and PEXPIRE", func(l *lock, _ context.Context, m int) error { return l.later(m, expireIfSame) }},
}

func (l *lock) lease() int64 { return l.opts.Lease.Milliseconds() }

func (l *lock) quarter(m int) time.Duration { return time.Duration(m) * l.opts.Lease / 4 }

// ask sends a command. A server's error is no reply.
func (l *lock) ask(ctx context.Context, args ...any) (any, error) {
	reply, err := l.env.Server().Do(ctx, args...)
	return known(reply, err)
}

// eval runs a script on the lock's key.
func (l *lock) eval(ctx context.Context, source string, args ...any) (any, error) {
	reply, err := l.env.Server().Eval(ctx, &impls.Script{Source: source}, []string{l.opts.Key}, args...)
	return known(reply, err)
}

func known(reply any, err error) (any, error) {
	switch err.(type) {
	case impls.ServerError, impls.ScriptError:
		return nil, nil
	}
	return reply, err
}

// What a command's reply says: that it took the lock, that it gave it back, a value, a number, or nothing.

func (l *lock) takes(reply any, err error) error {
	l.took = reply == int64(1) || reply == "OK"
	return err
}

func (l *lock) removes(reply any, err error) error {
	l.removed = l.removed || reply == int64(1)
	return err
}

func (l *lock) reads(reply any, err error) error {
	l.seen, _ = reply.(string)
	return err
}

func (l *lock) counts(reply any, err error) (any, error) {
	if n, is := reply.(int64); is && l.asks(counted) {
		l.number = min(max(n, 0), most+1)
	}
	return reply, err
}

func (l *lock) does(_ any, err error) error { return err }

// watchesAndSets sets the key unless it is there, in a transaction.
func (l *lock) watchesAndSets(ctx context.Context, _ int) error {
	l.took = false
	return l.env.Server().Watch(ctx, []string{l.opts.Key}, func(tx impls.Tx) error {
		value, err := tx.Do(ctx, "GET", l.opts.Key)
		if value != nil || err != nil {
			_, err = known(value, err)
			return err
		}
		_, l.took, err = tx.Exec(ctx, impls.Command{"SET", l.opts.Key, l.token, "PX", l.lease()})
		return err
	})
}

// later has a background task run a script with the value of now, in the place of the one before.
func (l *lock) later(m int, source string) error {
	if l.stop != nil {
		l.stop()
	}
	token := l.token
	l.stop = l.env.Go(func(ctx context.Context) {
		if l.env.Sleep(ctx, l.quarter(m)) == nil {
			_, _ = l.eval(ctx, source, token, l.lease())
		}
	})
	return nil
}
