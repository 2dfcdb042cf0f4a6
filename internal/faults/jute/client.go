package jute

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"time"
)

// Client is a session of the lab's own with a ZooKeeper, which sends no pings: its time-out must be longer than it waits between requests. It is
// used by one goroutine.
type Client struct {
	conn net.Conn
	from *bufio.Reader
	xid  int32

	timeout time.Duration
}

// Dial opens a session. ctx bounds that only.
func Dial(ctx context.Context, addr string, timeout time.Duration) (*Client, error) {
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", addr)
	if err != nil {
		return nil, err
	}
	stop := context.AfterFunc(ctx, func() { conn.Close() })
	defer stop()
	c := &Client{conn: conn, from: bufio.NewReader(conn)}
	if err := c.handshake(timeout); err != nil {
		conn.Close()
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		return nil, err
	}
	return c, nil
}

func (c *Client) handshake(timeout time.Duration) error {
	if _, err := c.conn.Write(ConnectFrame(timeout)); err != nil {
		return err
	}
	frame, err := ReadFrame(c.from)
	if err != nil {
		return fmt.Errorf("it does not answer like a ZooKeeper: %w", err)
	}
	session, err := DecodeConnected(frame)
	if err == nil && session.Session == 0 {
		err = errors.New("it gives no session")
	}
	c.timeout = session.Timeout
	return err
}

// Timeout is the time-out that the server gave the session.
func (c *Client) Timeout() time.Duration { return c.timeout }

// Ask sends a request and returns the reply to it.
func (c *Client) Ask(op Op, path string) (Reply, error) {
	c.xid++
	if _, err := c.conn.Write(RequestFrame(c.xid, op, path)); err != nil {
		return Reply{}, err
	}
	frame, err := ReadFrame(c.from)
	if err != nil {
		return Reply{}, err
	}
	reply, err := DecodeReply(frame)
	if err == nil && reply.Xid != c.xid {
		err = fmt.Errorf("reply %d to request %d", reply.Xid, c.xid)
	}
	return reply, err
}

// Children are the names of the nodes below one; none if it is not there.
func (c *Client) Children(path string) ([]string, error) {
	reply, err := c.Ask(OpGetChildren, path)
	switch {
	case err != nil:
		return nil, err
	case reply.Code == CodeNoNode:
		return nil, nil
	case reply.Code != CodeOK:
		return nil, reply.Code
	}
	return reply.Children()
}

// Close ends the connection, and so in the end the session.
func (c *Client) Close() error { return c.conn.Close() }

// End ends the session at once. A server may hang up without an answer to that, since it closes the session's connection as well (ZOOKEEPER-558):
// that is no error.
func (c *Client) End() error {
	_, err := c.Ask(OpClose, "")
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return errors.Join(err, c.conn.Close())
}
