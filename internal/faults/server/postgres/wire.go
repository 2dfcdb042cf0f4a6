package postgres

import (
	"bufio"
	"context"
	bigendian "encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
)

// pgUser is who the lab and its clients are to a PostgreSQL that the lab has started: it asks for no password.
const pgUser = "lab"

// The types of messages of PostgreSQL that the lab reads.
const (
	pgAuthentication = 'R'
	pgReady          = 'Z'
	pgRow            = 'D'
	pgError          = 'E'
)

// maxPgMessage bounds a message of a server to the lab.
const maxPgMessage = 1 << 20

// pgQuery sends a query to a PostgreSQL on a connection of its own.
func pgQuery(ctx context.Context, addr, query string) (rows [][]string, err error) {
	conn, err := pgDial(ctx, addr)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	if rows, err = conn.query(ctx, query); err != nil {
		return nil, err
	}
	_, _ = conn.Write(pgMessage('X', nil)) // a courtesy
	return rows, nil
}

// pgConn is a connection to a PostgreSQL. It is enough to look at locks: the server must trust the user.
type pgConn struct {
	net.Conn
	from *bufio.Reader
}

// pgDial connects. The end of the context ends the attempt, and not the connection.
func pgDial(ctx context.Context, addr string) (*pgConn, error) {
	tcp, err := new(net.Dialer).DialContext(ctx, "tcp", addr)
	if err != nil {
		return nil, err
	}
	conn := &pgConn{tcp, bufio.NewReader(tcp)}
	const version = 3 << 16
	startup := bigendian.BigEndian.AppendUint32(nil, version)
	startup = append(startup, "user\x00"+pgUser+"\x00database\x00postgres\x00\x00"...)
	if _, err := conn.ask(ctx, pgMessage(0, startup)); err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	return conn, nil
}

// query returns the rows as text; what is null is empty. After an error the connection is of no use.
func (c *pgConn) query(ctx context.Context, query string) ([][]string, error) {
	return c.ask(ctx, pgMessage('Q', append([]byte(query), 0)))
}

func (c *pgConn) ask(ctx context.Context, message []byte) ([][]string, error) {
	defer context.AfterFunc(ctx, func() { c.Close() })()
	if _, err := c.Write(message); err != nil {
		return nil, err
	}
	return pgAnswer(c.from)
}

// pgMessage is a message with its length; the first of a connection has no kind.
func pgMessage(kind byte, body []byte) []byte {
	var b []byte
	if kind != 0 {
		b = append(b, kind)
	}
	b = bigendian.BigEndian.AppendUint32(b, uint32(len(body)+4))
	return append(b, body...)
}

// pgAnswer reads until the server is ready for a query, and returns the rows that came.
func pgAnswer(from *bufio.Reader) (rows [][]string, err error) {
	for {
		kind, body, err := pgRead(from)
		switch {
		case err != nil:
			return nil, err
		case kind == pgReady:
			return rows, nil
		case kind == pgError:
			return nil, errors.New("PostgreSQL: " + pgErrorText(body))
		case kind == pgAuthentication && (len(body) < 4 || bigendian.BigEndian.Uint32(body) != 0):
			return nil, errors.New("PostgreSQL asks for a password")
		case kind == pgRow:
			row, err := pgColumns(body)
			if err != nil {
				return nil, err
			}
			rows = append(rows, row)
		}
	}
}

func pgRead(from *bufio.Reader) (kind byte, body []byte, err error) {
	var head [5]byte
	if _, err := io.ReadFull(from, head[:]); err != nil {
		return 0, nil, err
	}
	n := bigendian.BigEndian.Uint32(head[1:])
	if n < 4 || n > maxPgMessage {
		return 0, nil, fmt.Errorf("PostgreSQL: a message of %d bytes", n)
	}
	body = make([]byte, n-4)
	_, err = io.ReadFull(from, body)
	return head[0], body, err
}

var errPgRow = errors.New("PostgreSQL: a row is cut short")

func pgColumns(body []byte) ([]string, error) {
	if len(body) < 2 {
		return nil, errPgRow
	}
	count := int(bigendian.BigEndian.Uint16(body))
	body = body[2:]
	if count > len(body)/4 { // each has its length
		return nil, errPgRow
	}
	columns := make([]string, count)
	for i := range columns {
		if len(body) < 4 {
			return nil, errPgRow
		}
		n := int32(bigendian.BigEndian.Uint32(body))
		body = body[4:]
		if n < 0 {
			continue // null
		}
		if int(n) > len(body) {
			return nil, errPgRow
		}
		columns[i], body = string(body[:n]), body[n:]
	}
	return columns, nil
}

// pgErrorText is the message in an error, a list of fields that each begin with a kind and end with a zero.
func pgErrorText(body []byte) string {
	for len(body) > 1 {
		end := 1
		for end < len(body) && body[end] != 0 {
			end++
		}
		if body[0] == 'M' {
			return string(body[1:end])
		}
		body = body[min(end+1, len(body)):]
	}
	return "an error without a text"
}
