package tap

import (
	"errors"
	"io"
	"net"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/locklab/locklab/internal/faults/resp"
)

// flushTime bounds how long a client that has closed its side may take to read what is left.
const flushTime = time.Second

// keepBatch is the size beyond which a written batch is not used again as a queue.
const keepBatch = 16 << 10

// outbox queues bytes for one client, so that a client that does not read delays no other. If the account has too few, it breaks the connection
// and calls exceeded with the error, which must not call it back.
type outbox struct {
	conn     net.Conn
	limit    int
	account  *resp.Budget
	exceeded func(error)

	mu      sync.Mutex
	changed sync.Cond
	waiting []byte
	writing bool // a goroutine writes to conn
	direct  bool // that goroutine is deliver's
	queues  bool // deliver must queue
	flushBy time.Time
	hurried bool // a command of this connection has the turn, so no push may wait for room
	muted   bool // what comes is dropped
	closing bool // no more bytes will come
	dead    bool // conn is broken
}

func newOutbox(conn net.Conn, limit int, account *resp.Budget, exceeded func(error)) *outbox {
	o := &outbox{conn: conn, limit: limit, account: account, exceeded: exceeded}
	o.changed.L = &o.mu
	return o
}

// run writes to the client until the outbox is closed and empty, and tells the client. It closes a connection that is broken.
func (o *outbox) run() {
	defer o.end()
	var batch []byte
	for {
		batch = o.next(batch[:0])
		if len(batch) == 0 {
			return
		}
		_, err := o.conn.Write(batch)
		o.account.Give(len(batch))
		o.written(nil, err)
	}
}

func (o *outbox) end() {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.dead {
		o.conn.Close()
		return
	}
	sayNoMore(o.conn)
}

// next takes the queue to write it, and reuses the written batch as the new queue. It returns nothing at the end.
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
	if cap(empty) > keepBatch {
		empty = nil
	}
	o.waiting = empty
	o.writing = true
	o.conn.SetWriteDeadline(o.flushBy)
	o.changed.Broadcast()
	return batch
}

// written ends a write and queues again what it left.
func (o *outbox) written(rest []byte, err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.writing, o.direct = false, false
	switch {
	case errors.Is(err, os.ErrDeadlineExceeded) && len(rest) > 0:
		if o.take(len(rest)) {
			o.waiting = slices.Concat(rest, o.waiting)
		}
	case err != nil:
		o.die()
	}
	if len(o.waiting) > 0 || o.closing || o.dead {
		o.changed.Broadcast()
	}
}

// deliver writes b itself if the queue is empty, which saves a switch of goroutines; otherwise it queues b. The caller must not have the
// turn.
func (o *outbox) deliver(b []byte) {
	if !o.claim(b) {
		return
	}
	n, err := o.conn.Write(b)
	o.written(b[n:], err)
}

// claim says that the caller may write b, or else queues b.
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

// dontWait(true) says that a goroutine waits for deliver to return: deliver then queues, and a write under way is cut short by a deadline.
// A deadline for each write would cost more than the write.
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

// pushWhenRoom queues b when there is room, or at once while a command has the turn.
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
	if o.take(len(b)) {
		o.waiting = append(o.waiting, b...)
	}
	o.changed.Broadcast()
}

// take says whether n bytes may be queued; if not, the connection is broken.
func (o *outbox) take(n int) bool {
	err := o.account.Take(n)
	if err == nil {
		return true
	}
	o.die()
	o.exceeded(err)
	return false
}

// die drops the queue, and what will be queued.
func (o *outbox) die() {
	o.account.Give(len(o.waiting))
	o.dead, o.waiting = true, nil
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

// mute drops everything that would be queued from now on.
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

// hasten bounds the time to write the queue: the client has closed its side.
func (o *outbox) hasten() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.flushBy = time.Now().Add(flushTime)
	o.conn.SetWriteDeadline(o.flushBy)
}

// finish has run write the queue and end.
func (o *outbox) finish() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.closing = true
	o.changed.Broadcast()
}

// kill drops the queue.
func (o *outbox) kill() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.die()
	o.changed.Broadcast()
}

// copyFrom passes a stream on unread.
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
