// Package address reads the addresses of servers that the lab does not start, and finds out which protocol answers there.
//
// It owns the schemes, and what of an address may be shown. It must not know how the lab gets in.
package address

import (
	"fmt"
	"net"
	"strconv"
	"strings"
)

// The schemes of the address of a Redis: over plain TCP, and over TLS.
const (
	RedisScheme    = "redis://"
	RedisTLSScheme = "rediss://"
)

// ZooKeeperScheme is the beginning of the address of a ZooKeeper that the lab does not start.
const ZooKeeperScheme = "zookeeper://"

// Check says whether a text can be the address of a server at all.
func Check(addr string) error {
	host, port, err := net.SplitHostPort(addr)
	if _, noNumber := strconv.ParseUint(port, 10, 16); err != nil || host == "" || noNumber != nil {
		return fmt.Errorf("redis at %q: not an address like 127.0.0.1:6379", Redact(addr))
	}
	return nil
}

// Redact hides the password and the query, which may have one, in what may be a URL, of any scheme or none.
func Redact(text string) string {
	scheme, rest, isURL := strings.Cut(text, "://")
	if scheme += "://"; !isURL {
		scheme, rest = "", text
	}
	if at := strings.LastIndexByte(rest, '@'); at >= 0 {
		if user, _, has := strings.Cut(rest[:at], ":"); has {
			rest = user + ":***" + rest[at:]
		}
	}
	if address, _, has := strings.Cut(rest, "?"); has && isURL {
		rest = address + "?***"
	}
	return scheme + rest
}
