package tap

import (
	"errors"
	"io"
	"net"
	"os"
	"slices"
	"sync"
	"time"
)

// flushTime is how long a client that has closed its side may take to read what is left for it.
const flushTime = time.Second

// outbox holds what is on its way to one client, so that nobody waits for a client that does not read.
type outbox struct {
	conn  net.Conn
	limit int

	mu      sync.Mutex
	changed sync.Cond
	waiting []byte
	writing bool // somebody writes to conn
	direct  bool // deliver does
	queues  bool // deliver shall not
	flushBy time.Time
	hurried bool // a command of this connection has the turn: nothing may wait for room
	muted   bool // the client gets nothing any more
	closing bool // nothing more will come
	dead    bool // the client cannot be reached
}

func newOutbox(conn net.Conn, limit int) *outbox {
	o := &outbox{conn: conn, limit: limit}
	o.changed.L = &o.mu
	return o
}

// run writes to the client until the outbox is closed and empty, then closes the connection.
func (o *outbox) run() {
	defer o.conn.Close()
	var batch []byte
	for {
		batch = o.next(batch[:0])
		if len(batch) == 0 {
			return
		}
		_, err := o.conn.Write(batch)
		o.written(nil, err)
	}
}

// next takes what waits, to be written, and leaves the emptied batch for what comes. It returns nothing at the end.
func (o *outbox) next(empty []byte) []byte {
	o.mu.Lock()
	defer o.mu.Unlock()
	for o.writing || len(o.waiting) == 0 && !o.closing && !o.dead {
		o.changed.Wait()
	}
	if o.dead || len(o.waiting) == 0 {
		return nil
	}
	batch := o.waiting
	if cap(empty) > o.limit {
		empty = nil
	}
	o.waiting = empty
	o.writing = true
	o.conn.SetWriteDeadline(o.flushBy)
	o.changed.Broadcast()
	return batch
}

// written ends a write and puts back what it left.
func (o *outbox) written(rest []byte, err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.writing, o.direct = false, false
	switch {
	case errors.Is(err, os.ErrDeadlineExceeded) && len(rest) > 0:
		o.waiting = slices.Concat(rest, o.waiting)
	case err != nil:
		o.dead, o.waiting = true, nil
	}
	if len(o.waiting) > 0 || o.closing || o.dead {
		o.changed.Broadcast()
	}
}

// deliver writes b in place if nothing else waits for the client, which spares a change of goroutines; otherwise it queues b.
// The caller must not have the turn.
func (o *outbox) deliver(b []byte) {
	if !o.claim(b) {
		return
	}
	n, err := o.conn.Write(b)
	o.written(b[n:], err)
}

// claim lets the caller write b, or else queues it.
func (o *outbox) claim(b []byte) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.writing || o.queues || len(o.waiting) > 0 || o.muted || o.dead {
		o.add(b)
		return false
	}
	o.writing, o.direct = true, true
	return true
}

// dontWait says whether somebody waits for deliver to return: then it queues, and puts what it is writing into the queue. A
// deadline for each write would do, but costs more than the write.
func (o *outbox) dontWait(yes bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.queues = yes
	if yes && o.direct {
		o.conn.SetWriteDeadline(time.Unix(1, 0))
	}
}

// push queues b without waiting.
func (o *outbox) push(b []byte) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.add(b)
}

// pushWhenRoom queues b when there is room, at once while a command has the turn.
func (o *outbox) pushWhenRoom(b []byte) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for o.full() && !o.hurried {
		o.changed.Wait()
	}
	o.add(b)
}

func (o *outbox) add(b []byte) {
	if o.muted || o.dead {
		return
	}
	o.waiting = append(o.waiting, b...)
	o.changed.Broadcast()
}

// waitForRoom waits until the client has read enough, or is gone.
func (o *outbox) waitForRoom() {
	o.mu.Lock()
	defer o.mu.Unlock()
	for o.full() {
		o.changed.Wait()
	}
}

func (o *outbox) full() bool { return len(o.waiting) >= o.limit && !o.dead && !o.closing }

// hurry says whether a command of this connection has the turn.
func (o *outbox) hurry(yes bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.hurried = yes
	if yes && o.full() {
		o.changed.Broadcast()
	}
}

// mute loses everything that is queued from now on.
func (o *outbox) mute() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.muted = true
}

func (o *outbox) isMuted() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.muted
}

// hasten bounds the time for what waits: the client has closed its side.
func (o *outbox) hasten() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.flushBy = time.Now().Add(flushTime)
	o.conn.SetWriteDeadline(o.flushBy)
}

// finish has run write what waits and end.
func (o *outbox) finish() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.closing = true
	o.changed.Broadcast()
}

// kill gives up what waits.
func (o *outbox) kill() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.dead, o.waiting = true, nil
	o.changed.Broadcast()
}

// copyFrom passes a stream on unexamined.
func (o *outbox) copyFrom(stream io.Reader) {
	chunk := make([]byte, 32<<10)
	for {
		n, err := stream.Read(chunk)
		o.pushWhenRoom(chunk[:n])
		if err != nil {
			return
		}
	}
}
