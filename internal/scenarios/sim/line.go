package sim

import (
	"context"
	"io"
	"os"
	"sync"
	"time"

	"github.com/locklab/locklab/internal/sim/process"
	"github.com/locklab/locklab/internal/sim/service"
)

// line is a connection without bytes, for one command, or several in a row, at a time. Its methods as a connection belong to the script's goroutine.
type line struct {
	end

	mu      sync.Mutex
	asked   [][]string // the commands that have not been sent; nil: there are none
	waits   bool       // somebody waits for the reply
	err     error      // of everything from now on; nil: it is whole
	closed  bool       // by the library
	hungUp  bool
	replies chan answer // has room for one

	messages chan string // that have been published, with room for one: who has been woken need not be woken twice; nil: it has not subscribed
}

// answer is what commands come to.
type answer struct {
	replies []service.Reply
	err     error
}

// lines are those of a lock that wait for a command. Any goroutine may use them.
type lines struct {
	guest *guest
	lock  *guestLock

	mu   sync.Mutex
	idle map[string][]*line // by the address of the server
}

func (p *lines) ask(ctx context.Context, to string, args ...any) (any, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	words, err := process.Words(args)
	if err != nil {
		return nil, err
	}
	replies, err := p.to(to)(ctx, words)
	if err != nil {
		return nil, err
	}
	return plain(replies[0]), nil
}

// to asks the server at an address, on an idle line.
func (p *lines) to(addr string) asking {
	return func(ctx context.Context, commands ...[]string) ([]service.Reply, error) {
		l, err := p.take(ctx, addr)
		if err != nil {
			return nil, err
		}
		replies, err := l.ask(ctx, commands...)
		if err != nil {
			return nil, err
		}
		p.mu.Lock()
		p.idle[addr] = append(p.idle[addr], l)
		p.mu.Unlock()
		return replies, nil
	}
}

// plain is a reply in Go's own types.
func plain(reply service.Reply) any {
	switch reply.Kind {
	case service.Nil:
		return nil
	case service.Error:
		return ServerError(reply.Text)
	case service.Integer:
		return reply.Int
	case service.Array:
		list := make([]any, len(reply.List))
		for i, element := range reply.List {
			list[i] = plain(element)
		}
		return list
	}
	return reply.Text
}

// ServerError is an error that a server has answered with. It is one of go-redis, too; see redis.Error.
type ServerError string

func (e ServerError) Error() string { return string(e) }

// RedisError marks it for go-redis.
func (ServerError) RedisError() {}

// take is an idle line that is whole, or a new one.
func (p *lines) take(ctx context.Context, to string) (l *line, err error) {
	p.mu.Lock()
	for idle := p.idle[to]; len(idle) > 0 && l == nil; idle = p.idle[to] {
		last := len(idle) - 1
		p.idle[to] = idle[:last]
		if idle[last].whole() {
			l = idle[last]
		}
	}
	p.mu.Unlock()
	if l != nil {
		return l, nil
	}
	return p.open(ctx, to)
}

// open is a new line.
func (p *lines) open(ctx context.Context, to string) (l *line, err error) {
	err = p.guest.reach(ctx, p.lock.handle, "tcp", to, func(e end) transport {
		l = &line{end: e, replies: make(chan answer, 1)}
		return l
	})
	if err == nil {
		p.lock.open(l)
	}
	return l, err
}

// ask asks commands and waits for the replies, like go-redis: a context that is over sends nothing, its deadline ends the wait like a time-out of the
// connection, and its end alone does not. A line whose command failed is of no more use, and closed.
func (l *line) ask(ctx context.Context, commands ...[]string) ([]service.Reply, error) {
	if err := ctx.Err(); err != nil {
		l.close()
		return nil, err
	}
	l.mu.Lock()
	if err := l.err; err != nil {
		l.mu.Unlock()
		return nil, err
	}
	l.asked, l.waits = commands, true
	l.mu.Unlock()
	l.guest.act()
	var over <-chan time.Time
	if deadline, has := ctx.Deadline(); has {
		timer := time.NewTimer(time.Until(deadline))
		defer timer.Stop()
		over = timer.C
	}
	var a answer
	select {
	case <-over:
		a.err = os.ErrDeadlineExceeded
		select {
		case a = <-l.replies: // at the same instant
		default:
		}
	case a = <-l.replies:
	}
	if a.err != nil {
		l.close()
	}
	return a.replies, a.err
}

func (l *line) whole() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.err == nil
}

func (l *line) close() {
	l.mu.Lock()
	l.closed = true
	l.mu.Unlock()
	l.guest.act()
}

func (l *line) Awaits() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.waits
}

func (l *line) Closed() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.closed
}

func (l *line) Next() (commands [][]string, hangUp bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	commands, l.asked = l.asked, nil
	hangUp = l.closed && !l.hungUp
	l.hungUp = l.hungUp || hangUp
	return commands, hangUp
}

func (l *line) answered(replies []service.Reply) {
	l.guest.hand(func() { l.come(answer{replies: replies}) })
}

// come lets what the command comes to reach the goroutine that waits for it, if it still does.
func (l *line) come(a answer) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.waits {
		l.waits = false
		l.replies <- a
	}
}

func (l *line) receive(m service.Message) {
	l.guest.hand(func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		if l.err != nil {
			return
		}
		select {
		case l.messages <- m.Text:
		default:
		}
	})
}

func (l *line) broke() { l.guest.hand(func() { l.Fail(io.EOF) }) }

func (l *line) Fail(err error) {
	l.mu.Lock()
	if l.err == nil {
		l.err = err
		if l.messages != nil {
			close(l.messages)
		}
	}
	l.mu.Unlock()
	l.come(answer{err: err})
}

func (l *line) TimeOut() {
	l.mu.Lock()
	waits := l.waits
	l.mu.Unlock()
	if waits {
		l.Fail(os.ErrDeadlineExceeded)
	}
}
