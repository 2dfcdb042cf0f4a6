// Command rueidislock is a client of the lab for github.com/redis/rueidis/rueidislock.
//
// It owns how the library's errors are answered. It must not know scripts, faults or histories.
package main

import (
	"context"
	"fmt"
	"time"

	"github.com/redis/rueidis"
	"github.com/redis/rueidis/rueidislock"

	"github.com/locklab/locklab/adapters/go/internal/words"
	"github.com/locklab/locklab/worker/client"
)

type lock struct {
	client.Options
	locker   rueidislock.Locker
	majority int
	release  func()
}

func (l *lock) Acquire(ctx context.Context) (grant client.Grant, err error) {
	own, stop := context.WithCancel(context.WithoutCancel(ctx)) // it ends the hold, so it must outlive the request
	var held context.Context
	var cancel context.CancelFunc
	err = client.Leave(ctx, func() (err error) { held, cancel, err = l.locker.TryWithContext(own, l.Key); return err }, nil)
	if grant.OK, err = client.Outcome(err, rueidislock.ErrNotLocked); !grant.OK {
		stop() // what it may get yet, the library gives back
		return grant, err
	}
	untold := context.AfterFunc(held, func() { l.LostHold(client.Hold(ctx), "its context has ended") })
	l.release = func() { untold(); cancel(); stop() }
	return grant, nil
}

// Release is answered ok whatever the server says: the library's function reports nothing. Like an acquire, it waits until the server has answered or the
// lease is over, whatever its context.
func (l *lock) Release(ctx context.Context) (bool, error) {
	release := l.release
	if l.release = nil; release == nil {
		return false, nil
	}
	return client.Outcome(client.Leave(ctx, func() error { release(); return nil }, nil))
}

func (l *lock) Ping(ctx context.Context) error {
	return l.locker.Client().Do(ctx, l.locker.Client().B().Ping().Build()).Error()
}

// Keys are those of LockerOption.KeyMajority: a majority of an odd number of them is the lock.
func (l *lock) Keys() (keys []string, need string) {
	for i := range 2*l.majority - 1 {
		keys = append(keys, fmt.Sprintf("rueidislock:%d:%s", i, l.Key))
	}
	return keys, "majority"
}

func (l *lock) Close() error { l.locker.Close(); return nil }

// long is what no request takes: none must end by accident.
const long = time.Hour

func main() {
	hello := client.Hello{Name: "rueidislock", About: "rueidislock 1.0.79", Renews: true}
	hello.Promises = []string{"exclusion", "release-by-owner", "renew-by-owner", "crash-safe", "tells-loss", "tells-in-time"}
	said := words.Read(&hello, "majority", "plain", "once") // KeyMajority, DisableCache, DisableRetry
	once, plain, majority := said.Has("once"), said.Has("plain"), max(said["majority"], 1)
	hello.About += fmt.Sprint(", KeyMajority ", majority)
	client.Serve(hello, &lock{}, func(o client.Options) (client.Lock, error) {
		options := rueidis.ClientOption{InitAddress: o.Servers, DisableRetry: once, DisableCache: plain, AlwaysRESP2: plain, ForceSingleClient: true}
		if once {
			options.ConnWriteTimeout = long
		}
		locker, err := rueidislock.NewLocker(rueidislock.LockerOption{KeyMajority: int32(majority), KeyValidity: o.Lease, TryNextAfter: long, ClientOption: options})
		return &lock{Options: o, locker: locker, majority: majority}, err
	})
}
