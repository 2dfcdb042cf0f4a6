package main

import (
	"fmt"
	"time"

	"github.com/redis/rueidis"
	"github.com/redis/rueidis/rueidislock"

	"github.com/locklab/locklab/adapters/go/internal/words"
	"github.com/locklab/locklab/worker/client"
)

// long is what no request takes: none must end by accident.
const long = time.Hour

// read reads the options of the command line: majority is KeyMajority, plain is DisableCache, once is DisableRetry.
func read(hello map[string]any) func(client.Options) rueidislock.LockerOption {
	said := words.Read(hello, "majority", "plain", "once")
	once, plain, majority := said.Has("once"), said.Has("plain"), max(said["majority"], 1)
	hello["about"] = fmt.Sprint(hello["about"], ", KeyMajority ", majority)
	return func(o client.Options) rueidislock.LockerOption {
		options := rueidis.ClientOption{InitAddress: o.Servers, DisableRetry: once, DisableCache: plain, AlwaysRESP2: plain, ForceSingleClient: true}
		if once {
			options.ConnWriteTimeout = long
		}
		var keys []string // a majority of an odd number of them is the lock
		for i := range 2*majority - 1 {
			keys = append(keys, fmt.Sprintf("rueidislock:%d:%s", i, o.Key))
		}
		o.Answer["keys"], o.Answer["need"] = keys, "majority"
		return rueidislock.LockerOption{KeyMajority: int32(majority), KeyValidity: o.Lease, TryNextAfter: long, ClientOption: options}
	}
}
