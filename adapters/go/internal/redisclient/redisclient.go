// Package redisclient is what the clients on go-redis have in common.
//
// It owns the options of go-redis, and what a user of a Ring does. It must not know a library.
package redisclient

import (
	"cmp"
	"context"
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

func (o Options) Ping(ctx context.Context) (err error) {
	for _, server := range o.Redis {
		err = errors.Join(err, server.Ping(ctx).Err())
	}
	return err
}

// Each makes something of the client of each server.
func Each[T any](o Options, f func(redis.UniversalClient) T) (all []T) {
	for _, server := range o.Redis {
		all = append(all, f(server))
	}
	return all
}

// Serve serves a client. What these words of its command line mean is the same for all: once, to send each command once; majority, to use several
// servers; ring, to use a Ring of them.
func Serve(hello client.Hello, sample client.Lock, open func(Options) client.Lock, known ...string) {
	said := words.Read(&hello, known...)
	switch {
	case said.Has("majority"):
		hello.Servers = "majority"
	case said.Has("ring"):
		hello.Servers = "one"
	}
	client.Serve(hello, sample, func(o client.Options) (client.Lock, error) {
		if said.Has("ring") {
			return ringLock{open(Options{o, said, []redis.UniversalClient{ring(o.Servers)}}).(ringable)}, nil
		}
		options := Options{Options: o, Set: said}
		for _, server := range o.Servers {
			options.Redis = append(options.Redis, single(server, said.Has("once")))
		}
		return open(options), nil
	})
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

// ringLock is a lock on a Ring, which takes some heartbeats to notice that a server is down. Until then its user tries again after errors.
type ringLock struct{ ringable }

type ringable interface {
	client.Lock
	client.Renewer
	client.Checker
	client.Pinger
}

// pause is the time between two tries.
const pause = 20 * time.Millisecond

// Wait is not sure of a refusal after an error: the try that failed may have got the lock.
func (l ringLock) Wait(ctx context.Context, within time.Duration) (client.Grant, error) {
	var failed error // the first
	for until := time.Now().Add(within); ; {
		grant, err := l.Acquire(ctx)
		if grant.OK {
			return grant, nil
		}
		failed = cmp.Or(failed, err)
		if ctx.Err() != nil || !time.Now().Before(until) {
			return grant, failed
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
		}
	}
}
