// Package redisclient is what the clients on go-redis have in common.
//
// It owns the options of go-redis, and what a user of a Ring does. It must not know a library.
package redisclient

import (
	"cmp"
	"errors"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/locklab/locklab/adapters/go/internal/words"
	"github.com/locklab/locklab/worker/client"
)

// Options are what a lock on go-redis is made of.
type Options struct {
	client.Options
	words.Set
	Redis []redis.UniversalClient // of each server
}

// Reconnect returns when all connections work.
func (o Options) Reconnect(op *client.Operation) (done bool, err error) {
	for _, server := range o.Redis {
		err = errors.Join(err, server.Ping(op).Err())
	}
	return true, err
}

type reconnects interface {
	Reconnect(op *client.Operation) (bool, error)
}

// Each makes something of the client of each server.
func Each[T any](o Options, f func(redis.UniversalClient) T) (all []T) {
	for _, server := range o.Redis {
		all = append(all, f(server))
	}
	return all
}

// Serve serves a client, with the verb reconnect. What these words of its command line mean is the same for all: once, to send each command once;
// majority, to use several servers; ring, to use a Ring of them.
func Serve[L reconnects](hello map[string]any, open func(Options) L, verbs client.Verbs[L], known ...string) {
	said := words.Read(hello, known...)
	verbs.Reconnect = L.Reconnect
	switch {
	case said.Has("majority"):
		hello["servers"] = "majority"
	case said.Has("ring"):
		hello["servers"] = "one"
		verbs.Wait = patient(verbs.Acquire)
	}
	client.Serve(hello, func(o client.Options) (L, error) {
		options := Options{Options: o, Set: said}
		if said.Has("ring") {
			options.Redis = append(options.Redis, ring(o.Servers))
			return open(options), nil
		}
		for _, server := range o.Servers {
			options.Redis = append(options.Redis, single(server, said.Has("once")))
		}
		return open(options), nil
	}, verbs)
}

// Limited has an acquire or a renewal declare how long the hold is valid.
func Limited[L interface{ Until() time.Time }](verb client.Verb[L]) client.Verb[L] {
	return func(lock L, op *client.Operation) (bool, error) {
		done, err := verb(lock, op)
		if done {
			op.Answer["valid_ms"] = time.Until(lock.Until()).Seconds() * 1000
		}
		return done, err
	}
}

// single is a go-redis client with its default options, by which it sends a command again, up to three times, when no reply comes within three
// seconds. once: it sends each command once, and no time-out fires by accident.
func single(server string, once bool) *redis.Client {
	options := &redis.Options{Addr: server}
	if once {
		options.MaxRetries, options.ReadTimeout, options.WriteTimeout = -1, -1, -1
	}
	return redis.NewClient(options)
}

// ring is one of several servers for each key, with its default options: by a hash of the key, and of the names of those servers that it can reach.
func ring(servers []string) *redis.Ring {
	shards := map[string]string{}
	for i, server := range servers {
		shards["shard"+strconv.Itoa(i+1)] = server
	}
	return redis.NewRing(&redis.RingOptions{Addrs: shards})
}

// pause is the time between two tries.
const pause = 20 * time.Millisecond

// patient is what the user of a Ring does, which takes some heartbeats to notice that a server is down: until then it tries again after errors. It
// is not sure of a refusal after an error, since the try that failed may have got the lock.
func patient[L any](acquire client.Verb[L]) client.Verb[L] {
	return func(lock L, op *client.Operation) (bool, error) {
		var failed error // the first
		for until := time.Now().Add(op.Within); ; {
			done, err := acquire(lock, op)
			if done {
				return true, nil
			}
			failed = cmp.Or(failed, err)
			if op.Err() != nil || !time.Now().Before(until) {
				return false, failed
			}
			select {
			case <-time.After(pause):
			case <-op.Done():
			}
		}
	}
}
