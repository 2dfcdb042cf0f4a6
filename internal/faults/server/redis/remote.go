package redis

import (
	"context"
	"errors"
	"fmt"

	"github.com/locklab/locklab/internal/faults/server/address"
	"github.com/locklab/locklab/internal/faults/server/daemon"
)

// Remote is a Redis that runs at an address. The lab neither starts nor ends it.
type Remote struct {
	at      Endpoint
	version string
}

// At returns the server at the endpoint, which must answer.
func At(ctx context.Context, at Endpoint) (*Remote, error) {
	ctx, cancel := context.WithTimeout(ctx, daemon.Patience)
	defer cancel()
	about, err := ask(ctx, at)
	if err != nil {
		return nil, fmt.Errorf("redis at %s: %w", at, at.recognize(ctx, err))
	}
	version := about["redis_version"]
	if version == "" {
		version = "of unknown version"
	}
	return &Remote{at: at, version: version}, nil
}

// recognize says what a server is that does not answer like a Redis, if that shows.
func (e Endpoint) recognize(ctx context.Context, err error) error {
	var stranger *strangerError
	switch {
	case e.TLS != nil && address.SpeaksRedis(ctx, e.Addr):
		return &DeniedError{"it does not speak TLS there; write " + address.RedisScheme + " for a port without TLS"}
	case e.TLS != nil || !errors.As(err, &stranger):
	case address.SpeaksTLS(ctx, e.Addr):
		return &DeniedError{"it speaks TLS there; write " + address.RedisTLSScheme + " for a port with TLS"}
	case address.SpeaksKeeper(ctx, e.Addr):
		return &DeniedError{"it is a ZooKeeper; write " + address.ZooKeeperScheme + e.Addr}
	}
	return err
}

// Addr is where it listens: host:port.
func (r *Remote) Addr() string { return r.at.Addr }

// Endpoint is how the lab gets there.
func (r *Remote) Endpoint() Endpoint { return r.at }

// Describe says what it is, with its version.
func (r *Remote) Describe() string { return fmt.Sprintf("redis %s at %s", r.version, r.at) }

// Close does nothing: the server is not the lab's.
func (r *Remote) Close() error { return nil }
