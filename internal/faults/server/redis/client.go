package redis

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
func with(ctx context.Context, at Endpoint, use func(redisclient.Client) error) error {
	return within(ctx, at, 0, use)
}

// patiently is with for a server of the lab's own, but only ctx bounds how long it may take: load on the host is no failure.
func patiently(ctx context.Context, addr string, use func(redisclient.Client) error) error {
	return within(ctx, Plain(addr), -1, use)
}

// within bounds each reply by timeout; zero: the library's default, negative: none.
func within(ctx context.Context, at Endpoint, timeout time.Duration, use func(redisclient.Client) error) error {
	conn, err := at.Dial(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	connections := make(chan net.Conn, 1)
	connections <- conn
	client := redisclient.New(at.Addr, redisclient.Settings{
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
func ask(ctx context.Context, at Endpoint) (about map[string]string, err error) {
	err = with(ctx, at, func(client redisclient.Client) (err error) {
		if err := client.Ping(ctx).Err(); err != nil {
			return at.describe(err)
		}
		if about, err = info(ctx, client, "server"); err != nil {
			return at.describe(err)
		}
		return nil
	})
	return about, err
}

// describe says in words why a server does not do what the lab asks of it.
func (e Endpoint) describe(err error) error {
	var (
		refused redis.Error
		slow    net.Error
	)
	if errors.As(err, &refused) {
		return worded(err.Error(), err)
	}
	if errors.As(err, &slow) && slow.Timeout() {
		return fmt.Errorf("it accepts connections, and does not answer like a Redis in time: %w", err)
	}
	if e.TLS != nil {
		err = e.explain(err) // a client's certificate is judged after the handshake
	}
	var denied *DeniedError
	if errors.As(err, &denied) {
		return err
	}
	return &strangerError{err}
}

// strangerError is the answer of a server that may be no Redis.
type strangerError struct{ err error }

func (e *strangerError) Error() string { return "it does not answer like a Redis: " + e.err.Error() }
func (e *strangerError) Unwrap() error { return e.err }

// worded puts the meaning of a server's error before its words.
func worded(text string, err error) error {
	code, _, _ := strings.Cut(text, " ")
	why := map[string]string{
		"NOAUTH":     "it asks for a password, and the lab has none; set LOCKLAB_PASSWORD or give --password-file",
		"OOM":        "it is full (maxmemory), and takes no more keys; make room or give another server",
		"MISCONF":    "it cannot write to its disk, and takes no writes; see its log",
		"READONLY":   "it is read-only; give the address of the primary",
		"LOADING":    "it is still loading its data; try again later",
		"NOREPLICAS": "it has too few replicas to take writes",
		"MASTERDOWN": "it is a replica without its primary; give the address of the primary",
		"NOPERM":     "its user may not do what the lab needs; docs/your-server.md has an ACL rule that is enough",
	}[code]
	if why == "" {
		why = "it refuses"
	}
	return fmt.Errorf("%s: %w", why, err)
}
