// Package adapters lists the clients for published lock libraries that lie below it: what they need, and how to start them.
//
// It owns the list, and looks for what is needed on this machine. It must not know how a client is started, nor what came of it.
package adapters

import (
	"slices"
	"strings"
)

// Adapter is a client for one library with one set of options. Paths are relative to the root of the sources.
type Adapter struct {
	Name    string // of its lock, as in hello
	Library string // with its version
	Options string // beside the default ones
	Needs   []Need
	Prepare string // to be called once
	Made    string // what Prepare makes; empty: there is nothing to prepare
	Command string // starts the client
	Server  string // for --server; empty: redis-server
	// Like are the locks of the lab that make the same promises: what one of them shows in a scenario, too, follows from these. None: not on the scorecard.
	Like []string
	// Table has what the scenarios showed of it, if that is not Common: a module of its own plays it.
	Table string
}

// Common is the table of the clients that are played as one.
const Common = "adapters/expected.txt"

const (
	goKit   = "cd adapters/go && go build -o bin/ ./... && cd -"
	nodeKit = "cd adapters/node && npm ci && cd -"
)

// All are the adapters.
func All() []Adapter {
	return slices.Concat(inGo(), inNode(), []Adapter{
		{Name: "redis-py", Library: "redis-py 4.3.4", Options: "timeout", Needs: []Need{NeedsRedisPy}, Command: "python3 adapters/python/redis_py.py", Like: []string{"setpx-lua"}},
		{
			Name: "redis-py-retry", Library: "redis-py 4.3.4", Options: "timeout; Redis with Retry on ConnectionError",
			Needs: []Need{NeedsRedisPy}, Command: "python3 adapters/python/redis_py.py retry", Like: []string{"setpx-lua"},
		},
		{Name: "redis-py-no-timeout", Library: "redis-py 4.3.4", Needs: []Need{NeedsRedisPy}, Command: "python3 adapters/python/redis_py.py no-timeout", Like: []string{"setnx-watch"}},
		{Name: "kazoo", Library: "kazoo 2.8.0", Needs: []Need{NeedsKazoo, NeedsKeeper}, Command: "python3 adapters/python/kazoo_lock.py", Server: "zookeeper", Like: []string{"go-zookeeper"}},
		{
			Name: "kazoo-suspended", Library: "kazoo 2.8.0", Options: "stopped at SUSPENDED",
			Needs: []Need{NeedsKazoo, NeedsKeeper}, Command: "python3 adapters/python/kazoo_lock.py suspended", Server: "zookeeper", Like: []string{"go-zookeeper"},
		},
		{Name: "redis-rb", Library: "redis-rb 4.8.0", Options: "no library: a client without a kit", Needs: []Need{NeedsRedisRb}, Command: "ruby adapters/ruby/redis_rb.rb", Like: []string{"setpx-lua"}},
		{Name: "redis-cli", Library: "a shell script", Needs: []Need{NeedsRedisCLI, NeedsPython}, Command: "python3 adapters/shell/client.py", Like: []string{"setpx-lua"}},
	}, inModules())
}

// inModules are those that have modules of their own, with tests that play their tables.
func inModules() (all []Adapter) {
	curator := Adapter{
		Library: "Curator, as Debian has it", Needs: []Need{NeedsJDK, NeedsCurator, NeedsKeeper}, Server: "zookeeper", Like: []string{"go-zookeeper"},
		Prepare: "adapters/java/build adapters/java/bin", Made: "adapters/java/bin/client", Table: "adapters/java/expected.txt",
	}
	etcd := Adapter{
		Library: "etcd client 3.7.3, concurrency", Needs: []Need{NeedsGo, NeedsEtcd}, Server: "etcd", Like: []string{"go-zookeeper", "setpx-lua"},
		Prepare: "cd adapters/etcd && go build -o bin/ . && cd -", Made: "adapters/etcd/bin/etcd", Table: "adapters/etcd/expected.txt",
	}
	for _, of := range []struct {
		library       Adapter
		name, options string
	}{
		{etcd, "etcd", ""},
		{etcd, "etcd-fenced", "the store's revision as a fence"},
		{etcd, "etcd-counted", "its user counts the lease"},
		{curator, "curator", "ensembleTracker(false)"},
		{curator, "curator-suspended", "ensembleTracker(false); stopped at SUSPENDED"},
		{curator, "curator-fenced", "ensembleTracker(false); its node's number as a fence"},
	} {
		a := of.library
		a.Name, a.Options, a.Command = of.name, of.options, a.Made
		if strings.Contains(a.Name, "-") {
			a.Command += " -lock " + a.Name
		}
		all = append(all, a)
	}
	return append(all, Adapter{
		Name: "postgres", Library: "pgx 5.13.0", Needs: []Need{NeedsGo, NeedsPostgres}, Prepare: "cd adapters/postgres && go build -o bin/ . && cd -",
		Made: "adapters/postgres/bin/postgres", Command: "adapters/postgres/bin/postgres", Server: "postgres", Table: "adapters/postgres/expected.txt",
	})
}

func inGo() (all []Adapter) {
	for _, a := range []Adapter{
		{Name: "redsync", Library: "redsync 4.18.1", Like: []string{"setpx-lua"}},
		{Name: "redsync-once", Library: "redsync 4.18.1", Options: "go-redis MaxRetries -1", Command: "-option once", Like: []string{"setpx-lua"}},
		{Name: "redsync-setnx", Library: "redsync 4.18.1", Options: "WithSetNXOnExtend", Command: "-option setnx", Like: []string{"setpx-lua"}},
		{Name: "redsync-majority", Library: "redsync 4.18.1", Options: "three servers", Command: "-majority", Like: []string{"redlock"}},
		{Name: "redsync-majority-failfast", Library: "redsync 4.18.1", Options: "three servers, WithFailFast", Command: "-majority -option failfast", Like: []string{"redlock"}},
		{Name: "redislock", Library: "redislock 0.9.4", Like: []string{"setpx-lua"}},
		{Name: "redislock-once", Library: "redislock 0.9.4", Options: "go-redis MaxRetries -1", Command: "-once", Like: []string{"setpx-lua"}},
		{Name: "redislock-ring", Library: "redislock 0.9.4", Options: "a Ring of several servers", Command: "-ring", Like: []string{"setpx-lua"}},
		{Name: "rueidislock", Library: "rueidislock 1.0.79", Options: "KeyMajority 1", Like: []string{"watchdog"}},
		{Name: "rueidislock-plain", Library: "rueidislock 1.0.79", Options: "KeyMajority 1, DisableCache", Command: "-plain", Like: []string{"watchdog"}},
		{Name: "rueidislock-once", Library: "rueidislock 1.0.79", Options: "KeyMajority 1, DisableRetry", Command: "-once", Like: []string{"watchdog"}},
		{Name: "rueidislock-majority", Library: "rueidislock 1.0.79", Command: "-majority 2", Like: []string{"watchdog"}},
		{Name: "zk", Library: "zk 1.0.4", Needs: []Need{NeedsKeeper}, Server: "zookeeper", Like: []string{"go-zookeeper"}},
	} {
		library, _, _ := strings.Cut(a.Library, " ")
		a.Needs, a.Prepare, a.Made = append(a.Needs, NeedsGo), goKit, "adapters/go/bin/"+library
		a.Command = strings.TrimSpace(a.Made + " " + a.Command)
		all = append(all, a)
	}
	return all
}

func inNode() (all []Adapter) {
	for _, a := range []Adapter{
		{Name: "redlock-4", Library: "redlock 4.2.0", Command: "redlock4.js", Like: []string{"setpx-lua"}},
		{Name: "redlock-4-majority", Library: "redlock 4.2.0", Options: "three servers", Command: "redlock4.js majority", Like: []string{"redlock"}},
		{Name: "redlock-5", Library: "redlock 5.0.0-beta.2", Command: "redlock5.js", Like: []string{"setpx-lua"}},
		{Name: "redlock-5-majority", Library: "redlock 5.0.0-beta.2", Options: "three servers", Command: "redlock5.js majority", Like: []string{"redlock"}},
		{Name: "redlock-5-using", Library: "redlock 5.0.0-beta.2", Options: "using", Command: "redlock5-using.js", Like: []string{"watchdog"}},
		{Name: "redlock-5-using-once", Library: "redlock 5.0.0-beta.2", Options: "using; ioredis without retries", Command: "redlock5-using.js once", Like: []string{"watchdog"}},
		{Name: "redis-semaphore", Library: "redis-semaphore 5.8.0", Options: "Mutex", Command: "redis-semaphore.js", Like: []string{"redisson-watchdog"}},
		{Name: "redis-semaphore-once", Library: "redis-semaphore 5.8.0", Options: "Mutex; ioredis without retries", Command: "redis-semaphore.js once", Like: []string{"redisson-watchdog"}},
		{Name: "redis-semaphore-majority", Library: "redis-semaphore 5.8.0", Options: "RedlockMutex, three servers", Command: "redis-semaphore.js majority", Like: []string{"redisson-redlock"}},
		{
			Name: "redis-semaphore-majority-once", Library: "redis-semaphore 5.8.0", Options: "RedlockMutex, three servers; ioredis without retries",
			Command: "redis-semaphore.js majority once", Like: []string{"redisson-redlock"},
		},
		{Name: "redlock-5-endless", Library: "redlock 5.0.0-beta.2", Options: "retryCount -1", Command: "redlock5.js endless", Like: []string{"setpx-lua"}},
	} {
		a.Needs, a.Prepare, a.Made = []Need{NeedsNode}, nodeKit, "adapters/node/node_modules"
		a.Command = "node adapters/node/" + a.Command
		all = append(all, a)
	}
	return all
}

// Find is the adapter of that name.
func Find(name string) (Adapter, bool) {
	all := All()
	at := slices.IndexFunc(all, func(a Adapter) bool { return a.Name == name })
	if at < 0 {
		return Adapter{}, false
	}
	return all[at], true
}
