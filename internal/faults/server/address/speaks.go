package address

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"strings"
	"time"

	"github.com/locklab/locklab/internal/faults/jute"
	"github.com/locklab/locklab/internal/faults/resp"
)

// soonest bounds the look at what else a server may be: it has answered, or kept silent, before.
const soonest = 500 * time.Millisecond

// SpeaksRedis says whether a server answers PING as a Redis does.
func SpeaksRedis(ctx context.Context, addr string) bool {
	ctx, cancel := context.WithTimeout(ctx, soonest)
	defer cancel()
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", addr)
	if err != nil {
		return false
	}
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { conn.Close() })()
	if _, err := conn.Write(resp.AppendCommand(nil, "PING")); err != nil {
		return false
	}
	line, err := ReadLine(conn)
	return err == nil && (line == "+PONG" || strings.HasPrefix(line, "-NOAUTH") || strings.HasPrefix(line, "-LOADING"))
}

// SpeaksKeeper says whether a server opens a session as a ZooKeeper does.
func SpeaksKeeper(ctx context.Context, addr string) bool {
	ctx, cancel := context.WithTimeout(ctx, soonest)
	defer cancel()
	session, err := jute.Dial(ctx, addr, sessionTime)
	if err != nil {
		return false
	}
	_ = session.End() // it is a ZooKeeper all the same
	return true
}

// sessionTime is the time-out of the session that a ZooKeeper is asked for.
const sessionTime = 4 * time.Second

// longestLine bounds the reply to AUTH or SELECT.
const longestLine = 1 << 10

// ReadLine reads a reply of one line, and not a byte of what follows.
func ReadLine(conn io.Reader) (string, error) {
	var line []byte
	for one := make([]byte, 1); len(line) < longestLine && !strings.HasSuffix(string(line), "\r\n"); {
		if _, err := io.ReadFull(conn, one); err != nil {
			return "", err
		}
		line = append(line, one[0])
	}
	return strings.TrimSuffix(string(line), "\r\n"), nil
}

// SpeaksTLS says whether a server that ends plain connections answers to TLS.
func SpeaksTLS(ctx context.Context, addr string) bool {
	ctx, cancel := context.WithTimeout(ctx, soonest)
	defer cancel()
	dialer := tls.Dialer{Config: &tls.Config{InsecureSkipVerify: true}} // nothing is sent: this is only about what to write in the address
	conn, err := dialer.DialContext(ctx, "tcp", addr)
	if err == nil {
		conn.Close()
	}
	var refusedByIt tls.AlertError
	return err == nil || errors.As(err, &refusedByIt) || strings.Contains(err.Error(), "remote error: tls:")
}
