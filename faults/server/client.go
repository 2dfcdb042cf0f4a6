package server

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/locklab/locklab/internal/redisclient"
)

// with opens one connection to the server for the time of use: without CLIENT SETINFO, and without retries.
func with(ctx context.Context, addr string, db int, use func(redisclient.Client) error) error {
	return within(ctx, addr, db, 0, use)
}

// patiently is with, but only ctx bounds how long the server may take: load on the host is no failure.
func patiently(ctx context.Context, addr string, use func(redisclient.Client) error) error {
	return within(ctx, addr, 0, -1, use)
}

// within bounds each reply by timeout; zero: the library's default, negative: none.
func within(ctx context.Context, addr string, db int, timeout time.Duration, use func(redisclient.Client) error) error {
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", addr)
	if err != nil {
		return fmt.Errorf("unreachable: %w", err)
	}
	defer conn.Close()
	connections := make(chan net.Conn, 1)
	connections <- conn
	client := redisclient.New(addr, redisclient.Settings{
		DB:          db,
		Connections: 1,
		Timeout:     timeout,
		// Connected above, because the library would log and repeat a failure that the caller has to judge.
		Dial: func(context.Context, string, string) (net.Conn, error) {
			select {
			case conn := <-connections:
				return conn, nil
			default:
				return nil, errors.New("the connection broke")
			}
		},
	})
	defer client.Close()
	return use(client)
}

// ask sends PING and INFO server. A server that refuses INFO yields no facts.
func ask(ctx context.Context, addr string) (about map[string]string, err error) {
	err = with(ctx, addr, 0, func(client redisclient.Client) (err error) {
		if err := client.Ping(ctx).Err(); err != nil {
			return refusal(err)
		}
		if about, err = info(ctx, client, "server"); err != nil {
			return describe(err)
		}
		return nil
	})
	return about, err
}

func describe(err error) error {
	var refused redis.Error
	switch {
	case errors.As(err, &refused) && strings.HasPrefix(err.Error(), "NOAUTH"):
		return fmt.Errorf("it asks for a password, and the lab has none: %w", err)
	case errors.As(err, &refused):
		return fmt.Errorf("it refuses: %w", err)
	}
	return fmt.Errorf("it does not answer like a Redis: %w", err)
}
