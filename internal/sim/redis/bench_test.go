package redis

import "testing"

// BenchmarkScripts is what a lock's scripts cost: one that acquires, one that is refused, and one that releases.
func BenchmarkScripts(b *testing.B) {
	const (
		acquire = `if redis.call("set", KEYS[1], ARGV[1], "NX", "PX", ARGV[2]) then return redis.status_reply("OK") end return false`
		release = `if redis.call("get", KEYS[1]) == ARGV[1] then return redis.call("del", KEYS[1]) else return 0 end`
	)
	s := New()
	acquireSHA := s.Do(1, "SCRIPT", "LOAD", acquire).Text
	releaseSHA := s.Do(1, "SCRIPT", "LOAD", release).Text
	b.ReportAllocs()
	for b.Loop() {
		s.Do(1, "EVALSHA", acquireSHA, "1", "lock", "a", "2000")
		s.Do(1, "EVALSHA", acquireSHA, "1", "lock", "b", "2000")
		s.Do(1, "EVALSHA", releaseSHA, "1", "lock", "a")
	}
}
