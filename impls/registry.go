package impls

import (
	"embed"
	"slices"
)

// All lists the locks on Redis, and the one without a server, in the order of reports: each fixes a problem of the one before.
func All() []Spec {
	return equalTokens(
		none(),
		local(),
		setnxDel(),
		setnxExpiredDel(),
		getset(),
		getsetNilExpired(),
		getsetNilLost(),
		getsetPublished(),
		setnxWatch(),
		setnxWatchPublished(),
		setnxExpireNorepair(),
		setnxExpire(),
		setnxExpirePublished(),
		setpxDel(),
		setpxGetdel(),
		setpxLua(),
		setpxLuaPublished(),
		setexLuaPublished(),
		watchdogPublished(),
		redissonWatchdog(),
		watchdog(),
		redissonLease(),
		redissonPublished(),
		redisson(),
		redissonFair(),
		fenced(),
		redissonMultilock(),
		redissonRedlock(),
		redissonFairRedlock(),
		redlockNoSecondLook(),
		redlockEndless(),
		redlock(),
		resending(setpxDel(), "setpx-del-resend",
			"DEL is resent when its reply is lost, and then removes the next owner's lock"),
		resending(setpxLua(), "setpx-lua-resend",
			"SET NX is resent when its reply is lost, and is refused by its own ghost lock"),
	)
}

// OnZooKeeper lists the locks whose service is a ZooKeeper, in the order of reports. They run in the model, and in the live world where the server
// is one.
func OnZooKeeper() []Spec {
	return equalTokens(zookeeperHerd(), zookeeper(), curatorMutex(), goZooKeeper(), zookeeperProtected(), zookeeperFenced())
}

// OnReplicas lists the locks that need a Redis with replicas, in the order of reports. The explorer has none.
func OnReplicas() []Spec { return []Spec{setpxLuaWait()} }

// OnCluster lists the locks that need a Redis Cluster. They run in the live world only.
func OnCluster() []Spec { return []Spec{redlockCluster()} }

// Explored lists the locks that the explorer has, in the order of reports.
func Explored() []Spec { return slices.Concat(All(), OnZooKeeper()) }

// Every lists all locks.
func Every() []Spec { return slices.Concat(All(), OnReplicas(), OnCluster(), OnZooKeeper()) }

// Find returns the lock of that name; see Lookup.
func Find(name string) (Spec, bool) { return Lookup(Every(), name) }

// equalTokens declares of locks that they compare tokens for equality alone.
func equalTokens(specs ...Spec) []Spec {
	for i := range specs {
		specs[i].EqualTokens = true
	}
	return specs
}

// resending is the lock with a client library that keeps its default retries.
func resending(spec Spec, name, bug string) Spec {
	spec.Name = name
	spec.Idea += "; through a client library with its default retries"
	spec.Bug = bug
	spec.Resends = true
	return spec
}

// Sources are the files of this package, for those who show a lock with its code.
//
//go:embed *.go
var Sources embed.FS
