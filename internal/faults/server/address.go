package server

import (
	"fmt"
	"net"
	"strconv"
	"strings"
)

// The schemes of the address of a Redis: over plain TCP, and over TLS.
const (
	redisScheme  = "redis://"
	redissScheme = "rediss://"
)

// KeeperScheme is the beginning of the address of a ZooKeeper that the lab does not start.
const KeeperScheme = "zookeeper://"

// CheckAddr says whether a text can be the address of a server at all.
func CheckAddr(addr string) error {
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
