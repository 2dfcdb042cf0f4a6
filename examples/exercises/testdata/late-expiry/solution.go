// A solution.
package main

import (
	"github.com/redis/go-redis/v9"

	"github.com/locklab/locklab/worker/client"
)

type lock struct {
	client.Options
	redis *redis.Client
}

func (l *lock) acquire(op *client.Operation) (bool, error) {
	return l.redis.SetNX(op, l.Key, "locked", l.Lease).Result() // sends SET NX PX
}

func (l *lock) release(op *client.Operation) (bool, error) {
	removed, err := l.redis.Del(op, l.Key).Result()
	return removed == 1, err
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
