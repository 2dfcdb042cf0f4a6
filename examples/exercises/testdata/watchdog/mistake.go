// A common mistake: the renewal compares the token, and then prolongs whatever is there.
package main

import (
	"context"
	"crypto/rand"
	"errors"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/locklab/locklab/worker/client"
)

const release = `if redis.call("GET", KEYS[1]) == ARGV[1] then return redis.call("DEL", KEYS[1]) end return 0`

type lock struct {
	client.Options
	redis    *redis.Client
	renewals *redis.Client
	token    string
	stop     context.CancelFunc // ends the renewals of the hold
}

func (l *lock) acquire(op *client.Operation) (bool, error) {
	token, asked := rand.Text(), time.Now()
	ok, err := l.redis.SetNX(op, l.Key, token, l.Lease).Result() // sends SET NX PX
	if !ok {
		return false, err
	}
	held, stop := context.WithCancel(context.Background())
	l.token, l.stop = token, stop
	go l.renew(held, op, token)
	op.Answer["valid_ms"] = (l.Lease - time.Since(asked)).Seconds() * 1000 // its lease began after it was asked for
	return true, err
}

func (l *lock) release(op *client.Operation) (bool, error) {
	l.stop()
	return l.redis.Eval(op, release, []string{l.Key}, l.token).Bool()
}

// renew runs beside the work, over a connection of its own.
func (l *lock) renew(held context.Context, op *client.Operation, token string) {
	for tick := time.NewTicker(l.Lease / 3); ; {
		select {
		case <-held.Done():
			return
		case <-tick.C:
			asked := time.Now()
			ok, err := false, error(nil)
			if value, failed := l.renewals.Get(context.Background(), l.Key).Result(); failed == nil && value == token {
				ok, err = l.renewals.PExpire(context.Background(), l.Key, l.Lease).Result()
			} else if !errors.Is(failed, redis.Nil) {
				err = failed
			}
			switch {
			case held.Err() != nil:
				return
			case err != nil: // nobody knows; the hold is over when it is no longer valid
			case !ok:
				op.Lost("the lock is another client's, or nobody's")
				return
			default:
				op.Valid(l.Lease - time.Since(asked))
			}
		}
	}
}

func (l *lock) reconnect(op *client.Operation) (bool, error) { return true, l.redis.Ping(op).Err() }

func (l *lock) close(*client.Operation) (bool, error) {
	l.stop()
	return true, errors.Join(l.redis.Close(), l.renewals.Close())
}

func connect(o client.Options) *redis.Client {
	return redis.NewClient(&redis.Options{Addr: o.Servers[0], MaxRetries: -1, ReadTimeout: -1, PoolSize: 1}) // no silent retries
}

func main() {
	client.Serve(map[string]any{"name": "mylock", "renews": true}, func(o client.Options) (*lock, error) {
		return &lock{Options: o, redis: connect(o), renewals: connect(o), stop: func() {}}, nil
	}, client.Verbs[*lock]{Acquire: (*lock).acquire, Release: (*lock).release, Reconnect: (*lock).reconnect, Close: (*lock).close})
}
