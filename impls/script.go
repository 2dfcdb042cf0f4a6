package impls

import (
	"crypto/sha1"
	"encoding/hex"
)

// Script is a Lua script for the server.
type Script struct {
	Source string
}

// SHA is the name under which the server caches the script.
func (s *Script) SHA() string {
	sum := sha1.Sum([]byte(s.Source))
	return hex.EncodeToString(sum[:])
}

// compareAndDelete removes the lock if its value is still ours.
const compareAndDelete = `if redis.call("GET", KEYS[1]) == ARGV[1] then
	return redis.call("DEL", KEYS[1])
end
return 0`

// compareAndExpire starts the lease anew if the lock's value is still ours.
const compareAndExpire = `if redis.call("GET", KEYS[1]) == ARGV[1] then
	return redis.call("PEXPIRE", KEYS[1], ARGV[2])
end
return 0`
