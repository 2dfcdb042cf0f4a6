// Package redisclient is what the clients on go-redis have in common.
//
// It owns the options of go-redis. It must not know a library.
package redisclient

import (
	"strconv"

	"github.com/redis/go-redis/v9"
)

// New is a go-redis client with its default options, by which it sends a command again, up to three times, when no reply comes within three
// seconds. once: it sends each command once, and no time-out fires by accident.
func New(server string, once bool) *redis.Client {
	options := &redis.Options{Addr: server}
	if once {
		options.MaxRetries, options.ReadTimeout, options.WriteTimeout = -1, -1, -1
	}
	return redis.NewClient(options)
}

// Ring is one of several servers for each key, with its default options: by a hash of the key, and of the names of those servers that it can reach.
func Ring(servers []string) *redis.Ring {
	shards := map[string]string{}
	for i, server := range servers {
		shards["shard"+strconv.Itoa(i+1)] = server
	}
	return redis.NewRing(&redis.RingOptions{Addrs: shards})
}
