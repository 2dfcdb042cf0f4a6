package server

import (
	"context"
	"fmt"
	"net"
	"strconv"
)

// Remote is a Redis that runs at an address. The lab neither starts nor ends it.
type Remote struct {
	addr    string
	version string
}

// CheckAddr says whether a text can be the address of a server at all.
func CheckAddr(addr string) error {
	host, port, err := net.SplitHostPort(addr)
	if _, noNumber := strconv.ParseUint(port, 10, 16); err != nil || host == "" || noNumber != nil {
		return fmt.Errorf("redis at %q: not an address like 127.0.0.1:6379", addr)
	}
	return nil
}

// At returns the server at the address, which must answer.
func At(ctx context.Context, addr string) (*Remote, error) {
	if err := CheckAddr(addr); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	about, err := ask(ctx, addr)
	if err != nil {
		return nil, fmt.Errorf("redis at %s: %w", addr, err)
	}
	version := about["redis_version"]
	if version == "" {
		version = "of unknown version"
	}
	return &Remote{addr: addr, version: version}, nil
}

// Addr is its address as given.
func (r *Remote) Addr() string { return r.addr }

// Describe says what it is, with its version.
func (r *Remote) Describe() string { return fmt.Sprintf("redis %s at %s", r.version, r.addr) }

// Close does nothing: the server is not the lab's.
func (r *Remote) Close() error { return nil }
