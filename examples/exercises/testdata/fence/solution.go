// A solution.
package main

import (
	"crypto/rand"

	"github.com/redis/go-redis/v9"

	"github.com/locklab/locklab/worker/client"
)

const release = `if redis.call("GET", KEYS[1]) == ARGV[1] then return redis.call("DEL", KEYS[1]) end return 0`

const grant = `if redis.call("SET", KEYS[1], ARGV[1], "NX", "PX", ARGV[2]) then return redis.call("INCR", KEYS[2]) end return 0`

type lock struct {
	client.Options
	redis *redis.Client
	token string
}

func (l *lock) acquire(op *client.Operation) (bool, error) {
	token := rand.Text()
	fence, err := l.redis.Eval(op, grant, []string{l.Key, l.Key + ":fence"}, token, l.Lease.Milliseconds()).Int64()
	if err != nil || fence == 0 {
		return false, err
	}
	l.token, op.Answer["fence"] = token, fence
	return true, nil
}

func (l *lock) release(op *client.Operation) (bool, error) {
	return l.redis.Eval(op, release, []string{l.Key}, l.token).Bool()
}

func (l *lock) reconnect(op *client.Operation) (bool, error) { return true, l.redis.Ping(op).Err() }

func (l *lock) close(*client.Operation) (bool, error) {
	return true, l.redis.Close()
}

func connect(o client.Options) *redis.Client {
	return redis.NewClient(&redis.Options{Addr: o.Servers[0], MaxRetries: -1, ReadTimeout: -1, PoolSize: 1}) // no silent retries
}

func main() {
	client.Serve(map[string]any{"name": "mylock"}, func(o client.Options) (*lock, error) {
		return &lock{Options: o, redis: connect(o)}, nil
	}, client.Verbs[*lock]{Acquire: (*lock).acquire, Release: (*lock).release, Reconnect: (*lock).reconnect, Close: (*lock).close})
}
