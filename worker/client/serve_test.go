package client

import (
	"encoding/json"
	"errors"
	"io"
	"maps"
	"net"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/stretchr/testify/require"
)

// dialer is a lock whose acquire connects to its server and waits for a reply, as a library that heeds no context does.
type dialer struct {
	Options
	*calls
}

// calls is what the locks of a client were asked for.
type calls struct {
	dialled atomic.Int64
	pings   atomic.Int64
	waiting chan struct{} // an acquire waits for a reply
	reply   chan grant
	closed  atomic.Bool
}

// grant is what an acquire comes to: its fields are those of the answer.
type grant struct {
	done   bool
	fields map[string]any
}

var errRedial = errors.New("a new connection ended at once")

func (d *dialer) acquire(op *Operation) (bool, error) {
	select {
	case grant := <-d.reply:
		maps.Copy(op.Answer, grant.fields)
		return grant.done, nil
	default:
	}
	conn, err := d.dial()
	if err != nil {
		return false, err
	}
	defer conn.Close()
	d.waiting <- struct{}{}
	if _, err = conn.Read(make([]byte, 1)); err == nil {
		return true, nil
	}
	if again, err := d.dial(); err == nil { // a library that resends
		defer again.Close()
		if _, err = again.Read(make([]byte, 1)); err != nil {
			return false, errRedial
		}
	}
	return true, err
}

func (d *dialer) dial() (net.Conn, error) {
	d.dialled.Add(1)
	return net.Dial("tcp", d.Servers[0])
}

func (d *dialer) release(*Operation) (bool, error) { return false, nil }
func (d *dialer) close(*Operation) (bool, error)   { d.closed.Store(true); return true, nil }

func (d *dialer) renew(op *Operation) (bool, error) {
	op.Answer["valid_ms"] = 2000
	return true, nil
}

// ping fails three times, as a pool with three dead connections does.
func (d *dialer) ping(*Operation) (bool, error) {
	if d.pings.Add(1) <= 3 {
		return false, errors.New("broken pipe")
	}
	return true, nil
}

func dials() Verbs[*dialer] {
	return Verbs[*dialer]{
		Acquire: (*dialer).acquire, Release: (*dialer).release, Renew: (*dialer).renew, Close: (*dialer).close, Reconnect: (*dialer).ping,
	}
}

// conversation is the lab's end.
type conversation struct {
	t       *testing.T
	in      *json.Encoder
	answers map[float64]map[string]any // by id; 0: the latest notice
	out     *json.Decoder
	ended   chan error
	close   func() error
}

const hour = 3.6e6

// converse begins a conversation.
func converse[L any](t *testing.T, hello map[string]any, open func(Options) (L, error), verbs Verbs[L]) *conversation {
	t.Helper()
	fromLab, toClient := io.Pipe()
	fromClient, toLab := io.Pipe()
	c := &conversation{t, json.NewEncoder(toClient), map[float64]map[string]any{}, json.NewDecoder(fromClient), make(chan error, 1), toClient.Close}
	go func() { c.ended <- ServeOn(fromLab, toLab, hello, open, verbs) }()
	bound := time.AfterFunc(time.Minute, func() { fromClient.CloseWithError(errors.New("no answer")) })
	t.Cleanup(func() {
		bound.Stop()
		toClient.Close()
		fromClient.Close()
	})
	return c
}

// says sends a request, without waiting for its answer.
func (c *conversation) says(id int, do string, fields map[string]any) {
	c.t.Helper()
	request := map[string]any{"id": id, "do": do}
	for name, value := range fields {
		request[name] = value
	}
	require.NoError(c.t, c.in.Encode(request))
}

// answer waits for the answer to a request. The times of a busy host are left out.
func (c *conversation) answer(id int) map[string]any {
	c.t.Helper()
	for c.answers[float64(id)] == nil {
		var line map[string]any
		require.NoError(c.t, c.out.Decode(&line))
		of, _ := line["id"].(float64)
		if line["late_ms"] == nil {
			delete(line, "id")
			c.answers[of] = line
		}
	}
	return c.answers[float64(id)]
}

// asks sends a request and waits for its answer.
func (c *conversation) asks(id int, do string, fields map[string]any) map[string]any {
	c.t.Helper()
	c.says(id, do, fields)
	return c.answer(id)
}

func (c *conversation) outcome(id int) string {
	c.t.Helper()
	outcome, _ := c.answer(id)["outcome"].(string)
	return outcome
}

var h1 = map[string]any{"handle": "h1"}

// opened is a conversation with a client of a silent server, whose handle h1 is open.
func opened(t *testing.T, hello map[string]any) (*conversation, *calls) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { listener.Close() })
	go func() {
		for {
			if _, err := listener.Accept(); err != nil {
				return
			}
		}
	}()
	called := &calls{waiting: make(chan struct{}, 1), reply: make(chan grant, 10)}
	c := converse(t, hello, func(o Options) (*dialer, error) {
		o.Answer["keys"], o.Answer["need"] = []string{"mutex:" + o.Key}, "all"
		return &dialer{o, called}, nil
	}, dials())
	store := miniredis.RunT(t)
	c.asks(1, "init", map[string]any{"version": 2, "servers": []string{listener.Addr().String()}, "resource": store.Addr()})
	require.Equal(t, map[string]any{"outcome": "ok", "keys": []any{"mutex:K"}, "need": "all"},
		c.asks(2, "open", map[string]any{"handle": "h1", "key": "K", "lease_ms": 20000}))
	return c, called
}

func TestHello(t *testing.T) {
	c := converse(t, map[string]any{"name": "dialer", "promises": []string{"exclusion"}, "servers": "one"}, nil, dials())
	require.Equal(t, "no", c.asks(1, "init", map[string]any{"version": 3})["outcome"])
	hello := c.asks(2, "init", map[string]any{"version": 2, "servers": []string{"127.0.0.1:1"}})["hello"].(map[string]any)
	require.ElementsMatch(t, []any{"renew", "reconnect"}, hello["verbs"])
	delete(hello, "verbs")
	require.Equal(t, map[string]any{"version": 2.0, "name": "dialer", "promises": []any{"exclusion"}, "servers": "one", "separate": true}, hello)
}

func TestAnswers(t *testing.T) {
	c, called := opened(t, map[string]any{})
	called.reply <- grant{true, map[string]any{"valid_ms": 1500, "fence": 7}}
	acquired := c.asks(3, "acquire", h1)
	require.Equal(t, []any{"ok", 1500.0, 7.0}, []any{acquired["outcome"], acquired["valid_ms"], acquired["fence"]})
	require.Equal(t, map[string]any{"outcome": "no"}, c.asks(4, "release", h1))
	require.Equal(t, map[string]any{"outcome": "ok", "valid_ms": 2000.0}, c.asks(5, "renew", h1))
	unsupported := map[string]any{"outcome": "no", "unsupported": true, "error": "no such verb, handle or way to wait"}
	require.Equal(t, unsupported, c.asks(6, "check", h1))
	require.Equal(t, unsupported, c.asks(7, "dance", h1))
	require.Equal(t, "no", c.asks(8, "release", map[string]any{"handle": "h2"})["outcome"])

	called.reply <- grant{} // another client has it; again, it is free
	called.reply <- grant{done: true}
	require.Equal(t, "ok", c.asks(9, "acquire", map[string]any{"handle": "h1", "within_ms": hour})["outcome"])

	require.Equal(t, "ok", c.asks(10, "close", h1)["outcome"])
	require.True(t, called.closed.Load())
	require.Equal(t, "no", c.asks(11, "release", h1)["outcome"])
	require.Equal(t, map[string]any{"outcome": "ok"}, c.asks(12, "exit", nil))
	require.NoError(t, <-c.ended)
}

// TestEndOfRequests: it means the same as exit, without an answer. A line that is no request is an error.
func TestEndOfRequests(t *testing.T) {
	c := converse(t, map[string]any{}, nil, dials())
	require.NoError(t, c.close())
	require.NoError(t, <-c.ended)
	require.Error(t, ServeOn(io.LimitReader(zeros{}, 1), io.Discard, map[string]any{}, nil, dials()))
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { clear(p); return len(p), nil }

// TestCancel: the connections of a cancelled operation end, and new ones until it has ended, whatever its library does. One that waits for its turn never begins.
func TestCancel(t *testing.T) {
	c, called := opened(t, map[string]any{})
	c.says(3, "acquire", h1)
	<-called.waiting
	c.says(4, "acquire", h1)
	require.Equal(t, "ok", c.asks(5, "cancel", map[string]any{"op": 4})["outcome"])
	require.Equal(t, "unknown", c.outcome(4))
	require.Nil(t, c.answers[3], "it waits still")
	require.Equal(t, int64(1), called.dialled.Load())

	require.Equal(t, "ok", c.asks(6, "cancel", map[string]any{"op": 3})["outcome"])
	require.Equal(t, map[string]any{"outcome": "unknown", "error": errRedial.Error()}, c.answer(3))
	require.Equal(t, int64(2), called.dialled.Load())
	require.Equal(t, "no", c.asks(7, "cancel", map[string]any{"op": 3})["outcome"])

	c.says(8, "acquire", h1) // over a connection that lasts
	<-called.waiting
	c.says(9, "cancel", map[string]any{"op": 8})
	require.Equal(t, "unknown", c.outcome(8))
}

// TestCancelBetweenTries: an acquire that finds the lock taken pauses between its tries.
func TestCancelBetweenTries(t *testing.T) {
	c, called := opened(t, map[string]any{})
	for range cap(called.reply) {
		called.reply <- grant{}
	}
	c.says(3, "acquire", map[string]any{"handle": "h1", "within_ms": hour})
	require.Equal(t, "ok", c.asks(4, "cancel", map[string]any{"op": 3})["outcome"])
	require.Equal(t, "unknown", c.outcome(3))
	require.Zero(t, called.dialled.Load())
}

// heeds is a lock whose library gives up by itself, and needs its connection for that.
type heeds struct{ dialer }

func (h *heeds) acquire(op *Operation) (bool, error) {
	conn, err := h.dial()
	if err != nil {
		return false, err
	}
	defer conn.Close()
	h.waiting <- struct{}{}
	<-op.Done()
	_ = conn.SetReadDeadline(time.Now().Add(50 * time.Millisecond))
	_, err = conn.Read(make([]byte, 1))
	return true, lasting(err)
}

// lasting is nil for a connection that is silent, but lasts.
func lasting(err error) error {
	var timeout net.Error
	if errors.As(err, &timeout) && timeout.Timeout() {
		return nil
	}
	return err
}

func TestCancelByContext(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer listener.Close()
	called := &calls{waiting: make(chan struct{}, 1)}
	open := func(o Options) (*heeds, error) { return &heeds{dialer{o, called}}, nil }
	c := converse(t, map[string]any{"by_context": true}, open, Verbs[*heeds]{Acquire: (*heeds).acquire})
	c.asks(1, "init", map[string]any{"version": 2, "servers": []string{"zookeeper://" + listener.Addr().String()}})
	c.asks(2, "open", h1)
	c.says(3, "acquire", h1)
	<-called.waiting
	c.says(4, "cancel", map[string]any{"op": 3})
	require.Equal(t, "ok", c.outcome(3))
}

// TestReconnect: the connections end, and the answer waits until a library with several dead ones has found a new one.
func TestReconnect(t *testing.T) {
	c, called := opened(t, map[string]any{})
	require.Equal(t, map[string]any{"outcome": "ok"}, c.asks(3, "reconnect", nil))
	require.Equal(t, int64(4), called.pings.Load())
	called.pings.Store(-1000)
	require.Equal(t, map[string]any{"outcome": "no", "error": "broken pipe"}, c.asks(4, "reconnect", nil))

	called.pings.Store(1000)
	c.says(5, "acquire", h1) // it has the lock, and finds its connection dead itself
	<-called.waiting
	for id := 6; called.dialled.Load() == 1; id++ { // the proxy may not have accepted it yet
		require.Equal(t, "ok", c.asks(id, "reconnect", nil)["outcome"])
	}
}

// unreachable is a lock whose library does not get a connection.
type unreachable struct{ pinged chan struct{} }

func (unreachable) acquire(*Operation) (bool, error) { return true, nil }

func (u unreachable) ping(op *Operation) (bool, error) {
	close(u.pinged)
	<-op.Done()
	return false, op.Err()
}

// TestReconnectWaitsForNoOperation: requests are read while a library connects, and an operation comes before that.
func TestReconnectWaitsForNoOperation(t *testing.T) {
	lock := unreachable{make(chan struct{})}
	verbs := Verbs[unreachable]{Acquire: unreachable.acquire, Reconnect: unreachable.ping}
	c := converse(t, map[string]any{}, func(Options) (unreachable, error) { return lock, nil }, verbs)
	c.asks(1, "init", map[string]any{"version": 2})
	c.asks(2, "open", h1)
	c.says(3, "reconnect", nil)
	<-lock.pinged
	c.says(4, "acquire", h1)
	require.Equal(t, "ok", c.outcome(3))
	require.Equal(t, "ok", c.outcome(4))
}

// TestReconnectIsAnsweredNo: a lock that says no is not asked again.
func TestReconnectIsAnsweredNo(t *testing.T) {
	pings := 0
	verbs := Verbs[int]{Reconnect: func(int, *Operation) (bool, error) {
		pings++
		return false, nil
	}}
	c := converse(t, map[string]any{}, func(Options) (int, error) { return 0, nil }, verbs)
	c.asks(1, "init", map[string]any{"version": 2})
	c.asks(2, "open", h1)
	require.Equal(t, map[string]any{"outcome": "no"}, c.asks(3, "reconnect", nil))
	require.Equal(t, 1, pings)
}

func TestWork(t *testing.T) {
	c, _ := opened(t, map[string]any{})
	for n := range 3 {
		done := c.asks(3+n, "work", map[string]any{"handle": "h1", "key": "counter"})
		require.Equal(t, map[string]any{"outcome": "ok", "read": float64(n), "wrote": float64(n + 1)}, done)
	}
	require.Equal(t, true, c.asks(6, "work", map[string]any{"handle": "h1", "key": "K", "workload": "ledger"})["unsupported"])

	store := miniredis.RunT(t)
	c.asks(7, "open", map[string]any{"handle": "h2", "servers": []string{"127.0.0.1:1"}, "resource": store.Addr()})
	store.RequireAuth("secret")
	refused := c.asks(8, "work", map[string]any{"handle": "h2", "key": "counter"})
	require.Equal(t, "unknown", refused["outcome"])
	require.Contains(t, refused["error"], "NOAUTH")
	store.RequireAuth("")
	require.Equal(t, "ok", c.asks(9, "work", map[string]any{"handle": "h2", "key": "counter"})["outcome"])
	store.Close()
	require.Equal(t, "unknown", c.asks(10, "work", map[string]any{"handle": "h2", "key": "counter"})["outcome"])
	require.NoError(t, store.Restart())
	require.Equal(t, 2.0, c.asks(11, "work", map[string]any{"handle": "h2", "key": "counter"})["wrote"], "over a new connection")
}

// TestCancelOfWork: work waits for a silent resource no longer than it is to.
func TestCancelOfWork(t *testing.T) {
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer silent.Close()
	c, _ := opened(t, map[string]any{"by_context": true})
	c.asks(3, "open", map[string]any{"handle": "h2", "servers": []string{"127.0.0.1:1"}, "resource": silent.Addr().String()})
	c.says(4, "work", map[string]any{"handle": "h2", "key": "counter"})
	conn, err := silent.Accept()
	require.NoError(t, err)
	defer conn.Close()
	_, err = conn.Read(make([]byte, 1))
	require.NoError(t, err)
	c.says(5, "cancel", map[string]any{"op": 4})
	require.Equal(t, "unknown", c.outcome(4))
}

// TestNotices: of a loss, and of that of an earlier hold.
func TestNotices(t *testing.T) {
	holds := make(chan *Operation, 2)
	verbs := Verbs[int]{Acquire: func(_ int, op *Operation) (bool, error) {
		holds <- op
		return true, nil
	}}
	c := converse(t, map[string]any{}, func(Options) (int, error) { return 0, nil }, verbs)
	c.asks(1, "init", map[string]any{"version": 2})
	c.asks(2, "open", h1)
	c.asks(3, "acquire", h1)
	c.asks(4, "acquire", h1)
	earlier, present := <-holds, <-holds
	go present.Lost("gone")
	require.Equal(t, map[string]any{"lost": "h1", "hold": 4.0, "why": "gone"}, c.answer(0))
	delete(c.answers, 0)
	go earlier.Lost("late")
	require.Equal(t, map[string]any{"lost": "h1", "hold": 3.0, "why": "late"}, c.answer(0))
}

// TestWait: a library with a queue of its own is asked once, and told for how long.
func TestWait(t *testing.T) {
	verbs := Verbs[int]{
		Acquire: func(int, *Operation) (bool, error) { return false, nil },
		Wait: func(_ int, op *Operation) (bool, error) {
			op.Answer["error"] = op.Within.String()
			return false, nil
		},
	}
	c := converse(t, map[string]any{}, func(Options) (int, error) { return 0, nil }, verbs)
	c.asks(1, "init", map[string]any{"version": 2})
	c.asks(2, "open", h1)
	require.Equal(t, map[string]any{"outcome": "no"}, c.asks(3, "acquire", h1))
	require.Equal(t, map[string]any{"outcome": "no", "error": "1.5s"}, c.asks(4, "acquire", map[string]any{"handle": "h1", "within_ms": 1500}))
}

// TestBadUsage: an unknown verb about the client, and a lock that cannot be made.
func TestBadUsage(t *testing.T) {
	c := converse(t, map[string]any{}, func(Options) (int, error) { return 0, errors.New("no server") }, Verbs[int]{})
	c.asks(1, "init", map[string]any{"version": 2})
	require.Equal(t, true, c.asks(2, "skew", nil)["unsupported"])
	require.Equal(t, true, c.asks(3, "reconnect", nil)["unsupported"])
	require.Equal(t, map[string]any{"outcome": "no", "error": "no server"}, c.asks(4, "open", h1))
	require.Equal(t, "no such verb, handle or way to wait", c.asks(5, "acquire", h1)["error"])
}

// TestOpenBeforeInit: no lock is made, since nobody has said of which servers.
func TestOpenBeforeInit(t *testing.T) {
	open := func(o Options) (string, error) { return o.Servers[0], nil }
	c := converse(t, map[string]any{}, open, Verbs[string]{})
	require.Equal(t, map[string]any{"outcome": "no", "error": "init comes before open"}, c.asks(1, "open", h1))
	c.asks(2, "init", map[string]any{"version": 2, "servers": []string{"127.0.0.1:1"}})
	require.Equal(t, "ok", c.asks(3, "open", h1)["outcome"])
}

// TestNoticesFollowTheAnswer: what a lock learns before its acquire is answered is told behind the answer, and a validity has shrunk by then.
func TestNoticesFollowTheAnswer(t *testing.T) {
	verbs := Verbs[int]{Acquire: func(_ int, op *Operation) (bool, error) {
		op.Valid(time.Hour)
		time.Sleep(50 * time.Millisecond)
		return true, nil
	}}
	c := converse(t, map[string]any{}, func(Options) (int, error) { return 0, nil }, verbs)
	c.asks(1, "init", map[string]any{"version": 2})
	c.asks(2, "open", h1)
	c.says(3, "acquire", h1)
	valid := c.answer(0)
	require.NotNil(t, c.answers[3], "the answer comes first")
	require.Equal(t, "h1", valid["valid"])
	require.LessOrEqual(t, valid["valid_ms"], hour-50)
}

// TestNoticesOfAnEarlierHold: a validity names no hold, so one of an earlier hold must come before the answer to the next acquire.
func TestNoticesOfAnEarlierHold(t *testing.T) {
	var earlier *Operation
	verbs := Verbs[int]{Acquire: func(_ int, op *Operation) (bool, error) {
		if earlier != nil {
			earlier.Valid(time.Hour)
		}
		earlier = op
		return true, nil
	}}
	c := converse(t, map[string]any{}, func(Options) (int, error) { return 0, nil }, verbs)
	c.asks(1, "init", map[string]any{"version": 2})
	c.asks(2, "open", h1)
	c.asks(3, "acquire", h1)
	c.says(4, "acquire", h1)
	require.Equal(t, "h1", c.answer(0)["valid"])
	require.Nil(t, c.answers[4], "the answer comes behind")
}

// TestNoticesKeepTheirOrder: a validity that came behind the loss would prolong a hold that is over.
func TestNoticesKeepTheirOrder(t *testing.T) {
	verbs := Verbs[int]{Acquire: func(_ int, op *Operation) (bool, error) {
		op.Valid(time.Hour)
		op.Lost("gone")
		return true, nil
	}}
	c := converse(t, map[string]any{}, func(Options) (int, error) { return 0, nil }, verbs)
	c.asks(1, "init", map[string]any{"version": 2})
	c.asks(2, "open", h1)
	for id := 3; id < 300; id++ {
		c.asks(id, "acquire", h1)
		require.Contains(t, c.answer(0), "valid", id)
		delete(c.answers, 0)
		require.Contains(t, c.answer(0), "lost", id)
		delete(c.answers, 0)
	}
}

// TestCancelBreaksNoOtherOperation: an operation that follows a cancelled one keeps its connection.
func TestCancelBreaksNoOtherOperation(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer listener.Close()
	go func() {
		for conn, err := listener.Accept(); err == nil; conn, err = listener.Accept() {
			go func() { _, _ = io.Copy(conn, conn) }()
		}
	}()
	verbs := Verbs[string]{
		Acquire: func(_ string, op *Operation) (bool, error) {
			<-op.Done()
			return false, op.Err()
		},
		Check: func(server string, _ *Operation) (bool, error) {
			conn, err := net.Dial("tcp", server)
			if err != nil {
				return false, err
			}
			defer conn.Close()
			for range 3 {
				if _, err = conn.Write([]byte{1}); err == nil {
					_, err = conn.Read(make([]byte, 1))
				}
			}
			return true, err
		},
	}
	c := converse(t, map[string]any{}, func(o Options) (string, error) { return o.Servers[0], nil }, verbs)
	c.asks(1, "init", map[string]any{"version": 2, "servers": []string{listener.Addr().String()}})
	c.asks(2, "open", h1)
	for id := 3; id < 600; id += 3 {
		c.says(id, "acquire", h1)
		c.says(id+1, "check", h1)
		c.says(id+2, "cancel", map[string]any{"op": id})
		require.Equal(t, "unknown", c.outcome(id))
		require.Equal(t, "ok", c.outcome(id+1), c.answers[float64(id+1)])
		require.Equal(t, "ok", c.outcome(id+2))
	}
}

// TestComputingIsNotTheHost: what the process itself uses of the processors is not the host's fault.
func TestComputingIsNotTheHost(t *testing.T) {
	before := processorTime()
	for began := time.Now(); processorTime() == before && time.Since(began) < 5*time.Second; {
		_ = make([]byte, 1<<16)
	}
	if runtime.GOOS != "windows" {
		require.Greater(t, processorTime(), before)
	}
}
