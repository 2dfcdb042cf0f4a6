package impls

import (
	"fmt"
	"maps"
	"slices"
	"time"
)

// What each lock keeps; see Stateful.

func (noLock) State() any                 { return nil }
func (l *localLock) State() any           { return l.mutex().holder == l }
func (l *setnxDelLock) State() any        { return nil }
func (l *setnxExpiredDelLock) State() any { return nil }
func (l *setpxDelLock) State() any        { return nil }

// The token of the last hold.

func (l *getsetLock) State() any            { return l.own }
func (l *getsetPublishedLock) State() any   { return l.token().get() }
func (l *setnxExpireLock) State() any       { return l.token }
func (l *setnxWatchLock) State() any        { return l.token }
func (l *setpxGetdelLock) State() any       { return l.token }
func (l *setpxLuaLock) State() any          { return l.token }
func (l *setexLuaPublishedLock) State() any { return l.token }

func (l *fencedLock) State() any {
	return struct {
		token string
		fence int64
	}{l.token, l.fence}
}

func (l *setpxLuaPublishedLock) State() any {
	return struct {
		token             string
		waiting           bool
		free, freeMonitor int
	}{l.token, l.waiting, l.connections().free, l.monitor().free}
}

func (l *redlockLock) State() any {
	if l.token == "" {
		return nil
	}
	return struct {
		token   string
		expires Reading
	}{l.token, Reading(l.expires)}
}

func (l *redissonWatchdogLock) State() any {
	return struct {
		token  string
		renews bool
	}{l.token, l.stop != nil}
}

func (l *watchdogLock) State() any {
	return struct {
		token   string
		renews  bool
		expires int64
	}{l.token, l.stop != nil, l.expires.Load()}
}

// watchdogFields are those of a watchdogObject.
type watchdogFields struct {
	on             bool
	cleared, spent int
}

func (s *watchdogObject) fields() watchdogFields { return watchdogFields{s.on, s.cleared, s.spent} }

func (l *watchdogPublishedLock) State() any {
	monitor := static(l.env, watchdogMonitorName, zero[watchdogMonitor])
	return struct {
		object, flag watchdogFields
		token        string
		entered      bool
	}{l.object().fields(), l.flag().fields(), l.token().get(), monitor.entered}
}

// State has nothing of the client before the first operation, which makes it.
func (l *redissonLock) State() any {
	if l.shared == nil {
		return nil
	}
	state := struct {
		id, renewals string
		left         time.Duration
	}{id: l.shared.id, left: l.left}
	for _, key := range slices.Sorted(maps.Keys(l.shared.renewals.entries)) {
		state.renewals += fmt.Sprintln(key, l.shared.renewals.entries[key].threads)
	}
	return state
}

func (l *redissonFairLock) State() any {
	return struct {
		lock   any
		queues bool
	}{l.redissonLock.State(), l.queues}
}

func (l *redissonPublishedLock) State() any {
	state := struct {
		lock   any
		holds  int
		lease  int64
		timers string
	}{lock: l.redissonLock.State(), holds: l.holds, lease: l.lease()}
	timers := l.timers()
	for _, key := range slices.Sorted(maps.Keys(timers.entries)) {
		entry := timers.entries[key]
		state.timers += fmt.Sprintln(key, entry.thread, entry.due, entry.fired)
	}
	return state
}

func (l *multilock) State() any {
	states := ""
	for _, lock := range l.locks {
		states += fmt.Sprintln(lock.(Stateful).State())
	}
	return states
}

func (l *fairRedlock) State() any {
	return struct {
		locks any
		waits bool
	}{l.multilock.State(), l.waits}
}

// A watch, and the session that made the node of a hold, are of no use between two operations of a client that does not wait.

func (l *zookeeperLock) State() any {
	return struct {
		own, held      string
		waits, follows bool
	}{l.own, l.held, l.waits, l.stop != nil}
}

func (l *zookeeperHerdLock) State() any {
	return struct{ waits, follows bool }{l.waits, l.stop != nil}
}

func (l *curatorMutexLock) State() any {
	return struct {
		internals any
		count     int
	}{l.internals.State(), l.count}
}

func (l *goZooKeeperLock) State() any {
	return struct {
		own, held string
		waits     bool
	}{l.own, l.lockPath, l.waits}
}

func (l spins) State() any { return l.Lock.(Stateful).State() }
