package conform_test

import (
	"crypto/rand"
	"errors"

	"github.com/redis/go-redis/v9"

	"github.com/locklab/locklab/internal/redisclient"
	"github.com/locklab/locklab/worker/client"
)

// withBug is the argument before the name of a bug by which the test binary is a client whose lock has it. Python takes ten times as long to start one.
const withBug = "client-whose-lock-has"

// bugs are locks, by what is wrong with them: how they acquire and release.
func bugs() map[string][2]client.Verb[*lock] {
	return map[string][2]client.Verb[*lock]{
		"DEL": {(*lock).set, func(l *lock, op *client.Operation) (bool, error) {
			removed, err := l.redis.Del(op, l.Key).Result()
			return removed == 1, err
		}},
		"DEL without a word": {(*lock).set, func(l *lock, op *client.Operation) (bool, error) {
			return true, l.redis.Del(op, l.Key).Err()
		}},
		"a script": {(*lock).set, func(l *lock, op *client.Operation) (bool, error) {
			return l.redis.Eval(op, `return redis.call("DEL", KEYS[1])`, []string{l.Key}).Bool()
		}},
		"SET without NX": {
			func(l *lock, op *client.Operation) (bool, error) {
				return true, l.redis.Set(op, l.Key, l.token, l.Lease).Err()
			},
			func(l *lock, op *client.Operation) (bool, error) {
				const own = `if redis.call("GET", KEYS[1]) == ARGV[1] then return redis.call("DEL", KEYS[1]) end return 0`
				return l.redis.Eval(op, own, []string{l.Key}, l.token).Bool()
			},
		},
	}
}

type lock struct {
	client.Options
	redis redisclient.Client
	token string
}

func (l *lock) set(op *client.Operation) (bool, error) {
	return l.redis.SetNX(op, l.Key, l.token, l.Lease).Result()
}

func (l *lock) check(op *client.Operation) (bool, error) {
	value, err := l.redis.Get(op, l.Key).Result()
	if errors.Is(err, redis.Nil) {
		return false, nil
	}
	return value == l.token, err
}

func (l *lock) reconnect(op *client.Operation) (bool, error) { return true, l.redis.Ping(op).Err() }
func (l *lock) close(*client.Operation) (bool, error)        { return true, l.redis.Close() }

// serveBug is the client whose lock has a bug.
func serveBug(name string) {
	lockOf := func(o client.Options) (*lock, error) {
		return &lock{Options: o, redis: redisclient.New(o.Servers[0], redisclient.Settings{Connections: 1, Timeout: -1}), token: rand.Text()}, nil
	}
	client.Serve(map[string]any{"name": "mylock", "promises": []string{"exclusion", "release-by-owner", "crash-safe", "ignores-clocks"}}, lockOf,
		client.Verbs[*lock]{Acquire: bugs()[name][0], Release: bugs()[name][1], Check: (*lock).check, Reconnect: (*lock).reconnect, Close: (*lock).close})
}
