package recorded

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/locklab/locklab/checker"
	"github.com/locklab/locklab/history"
)

// entry is a line of a client's log. docs/check-logs.md describes the fields; it may have others.
type entry struct {
	Time    json.RawMessage `json:"time"`
	Client  string          `json:"client"`
	Lock    string          `json:"lock"`
	Event   string          `json:"event"`
	Op      string          `json:"op"`
	Outcome string          `json:"outcome"`
	TookMS  *float64        `json:"took_ms"`
	ValidMS *float64        `json:"valid_ms"`
	Fence   int64           `json:"fence"`
	Permits int             `json:"permits"`
	Counts  bool            `json:"reentrant"`
	Fair    bool            `json:"fair"`
}

// logged is what a line says, at a time since 1970.
type logged struct {
	at    time.Duration
	line  Line
	event history.Event
}

// logReader reads a log. What has been called and not returned is by client, lock and operation.
type logReader struct {
	list    []logged
	latest  map[string]time.Duration // by client
	calling map[callKey]int          // the line
	opens   map[string]*history.Detail
	locks   []string
	clients []string
}

type callKey struct {
	client, lock string
	op           history.Op
}

// Log judges a client's own log, or those of several clients put together in any order.
func Log(r io.Reader, file string, opts Options) (*Judgement, error) {
	in := logReader{latest: map[string]time.Duration{}, calling: map[callKey]int{}, opens: map[string]*history.Detail{}}
	n := 0
	err := lines(r, file, func(number int, text string) error {
		n++
		return in.line(Line{number, text})
	})
	if err != nil {
		return nil, err
	}
	if len(in.list) == 0 {
		return nil, &InputError{file, 0, errNothing}
	}
	j := newJudgement(file, "log", checker.DoubleHolder, checker.FenceRegression, checker.Unfair)
	j.Because = "the log has no commands, and other clients may be missing in it"
	p := in.part()
	j.Lines, j.Lasted = n, p.events[len(p.events)-1].At
	j.Clients, j.Locks = append(j.Clients, in.clients...), append(j.Locks, in.locks...)
	j.Assumed = append(j.Assumed,
		"the clocks of all clients agree: an overlap that is shorter than they differ by shows nothing",
		"a hold lasts from the return of acquire to the call of release, to a loss, to the end of valid_ms, or to the client's exit",
	)
	if !in.fair() {
		j.LookedFor = slices.DeleteFunc(j.LookedFor, func(name checker.Name) bool { return name == checker.Unfair })
		j.CannotTell = append(j.CannotTell, checker.Unfair)
	}
	if !in.contended() {
		j.Why = "no lock was acquired by two clients, so nothing could go wrong between them"
	}
	j.judge([]*part{p}, opts)
	return j, nil
}

func (in *logReader) line(line Line) error {
	var e entry
	if err := json.Unmarshal([]byte(line.Text), &e); err != nil {
		return fmt.Errorf("not a line of a log, which is a JSON object: %w", err)
	}
	at, err := parseTime(e.Time)
	switch {
	case err != nil:
		return err
	case e.Client == "":
		return errors.New(`it has no "client"`)
	case e.Lock == "" && e.Event != "exit":
		return errors.New(`it has no "lock"`)
	case at < in.latest[e.Client]:
		return fmt.Errorf("its time is before that of an earlier line of %s", e.Client)
	}
	in.latest[e.Client] = at
	note(&in.clients, e.Client)
	if e.Lock != "" {
		note(&in.locks, e.Lock)
	}
	event := history.Event{Client: e.Client, Lock: e.Lock}
	switch e.Event {
	case "open":
		return in.open(e)
	case "lost":
		event.Kind = history.KindLost
	case "exit":
		event.Kind = history.KindExit
		for key := range in.calling {
			if key.client == e.Client {
				delete(in.calling, key)
			}
		}
	case "call", "return":
		return in.operation(e, line, at, event)
	default:
		return fmt.Errorf(`"event" is %q; it is open, call, return, lost or exit`, e.Event)
	}
	in.list = append(in.list, logged{at, line, event})
	return nil
}

// open takes in what a lock promises.
func (in *logReader) open(e entry) error {
	if e.Permits < 0 || e.Permits > history.MaxParties {
		return fmt.Errorf(`"permits" is %d; it may be 1 to %d`, e.Permits, history.MaxParties)
	}
	in.opens[e.Lock] = &history.Detail{Contract: history.Contract{Permits: e.Permits, Reentrant: e.Counts, Fair: e.Fair}}
	return nil
}

// operation takes in a call or a return. A return without a call needs took_ms, which says when that was.
func (in *logReader) operation(e entry, line Line, at time.Duration, event history.Event) error {
	op, ok := history.ParseOp(e.Op)
	if !ok || op == history.OpWork {
		return fmt.Errorf(`"op" is %q; it is acquire, release, renew or check`, e.Op)
	}
	event.Op = op
	key := callKey{e.Client, e.Lock, op}
	before, pending := in.calling[key]
	call := event
	call.Kind = history.KindCall
	if e.Event == "call" {
		if pending {
			return fmt.Errorf("%s calls %s of %s again, which has not returned since line %d; threads need names of their own", e.Client, op, e.Lock, before)
		}
		in.calling[key] = line.Number
		in.list = append(in.list, logged{at, line, call})
		return nil
	}
	outcome, ok := history.ParseOutcome(e.Outcome)
	if !ok {
		return fmt.Errorf(`"outcome" is %q; it is ok, no or unknown`, e.Outcome)
	}
	switch {
	case pending:
		delete(in.calling, key)
	case e.TookMS == nil || *e.TookMS < 0 || *e.TookMS > mostMS:
		return fmt.Errorf(`%s returns from %s of %s without a call; log the call, too, or "took_ms"`, e.Client, op, e.Lock)
	default:
		in.list = append(in.list, logged{at - milliseconds(*e.TookMS), line, call})
	}
	event.Kind, event.Outcome, event.Fence = history.KindReturn, outcome, e.Fence
	if e.ValidMS != nil {
		if *e.ValidMS > mostMS {
			return fmt.Errorf(`"valid_ms" is %v; it may be at most %v`, *e.ValidMS, float64(mostMS))
		}
		event.Valid = history.Declared(milliseconds(*e.ValidMS))
	}
	in.list = append(in.list, logged{at, line, event})
	return nil
}

// mostMS bounds times of a log: a century.
const mostMS = 3.2e12

func milliseconds(ms float64) time.Duration { return time.Duration(ms * float64(time.Millisecond)) }

var errTime = errors.New(`"time" is neither a time such as "2026-01-02T03:04:05.678Z" nor a number of seconds since 1970`)

// parseTime reads a time, as one since 1970.
func parseTime(raw json.RawMessage) (time.Duration, error) {
	if len(raw) == 0 {
		return 0, errors.New(`it has no "time"`)
	}
	var text string
	if json.Unmarshal(raw, &text) == nil {
		at, err := time.Parse(time.RFC3339Nano, text)
		if err != nil || at.Year() < 1970 || at.Year() > 2200 {
			return 0, errTime
		}
		return time.Duration(at.UnixNano()), nil
	}
	at, err := parseStamp(string(raw))
	if err != nil {
		return 0, errTime
	}
	return at, nil
}

// sort puts the lines, which may be those of several logs one after the other, in order. Of those of one time, what ends a hold comes before what begins one, as far as the order of
// each client's own lines allows: where times are in milliseconds, that happens.
func (in *logReader) sort() {
	slices.SortStableFunc(in.list, func(a, b logged) int { return cmp.Compare(a.at, b.at) })
	for from := 0; from < len(in.list); {
		to := from + 1
		for to < len(in.list) && in.list[to].at == in.list[from].at {
			to++
		}
		settle(in.list[from:to])
		from = to
	}
}

// settle orders lines of one time.
func settle(list []logged) {
	queues, clients := map[string][]logged{}, []string{}
	for _, l := range list {
		note(&clients, l.event.Client)
		queues[l.event.Client] = append(queues[l.event.Client], l)
	}
	for i := range list {
		next := slices.MinFunc(clients, func(a, b string) int { return cmp.Compare(queues[a][0].rank(), queues[b][0].rank()) })
		list[i] = queues[next][0]
		if queues[next] = queues[next][1:]; len(queues[next]) == 0 {
			clients = slices.DeleteFunc(clients, func(client string) bool { return client == next })
		}
	}
}

// rank orders what happens at one time: first what ends a hold, last what may begin one.
func (l logged) rank() int {
	switch e := l.event; {
	case e.Kind == history.KindLost, e.Kind == history.KindExit, e.Kind == history.KindCall && e.Op == history.OpRelease:
		return 0
	case e.Kind == history.KindReturn && e.Op != history.OpRelease:
		return 2
	}
	return 1
}

// part is the log as a history.
func (in *logReader) part() *part {
	in.sort()
	p := &part{}
	for _, name := range in.locks {
		for _, client := range in.clients {
			d := history.Detail{Contract: history.Contract{Leaseless: true}, Unseen: history.Opaque}
			if given := in.opens[name]; given != nil {
				d.Permits, d.Reentrant, d.Fair = given.Permits, given.Reentrant, given.Fair
			}
			p.add(history.Event{Kind: history.KindOpen, Client: client, Lock: name, Detail: &d}, Line{})
		}
	}
	calls := map[callKey]int64{}
	next := int64(0)
	for _, l := range in.list {
		e := l.event
		e.At = l.at - in.list[0].at
		key := callKey{e.Client, e.Lock, e.Op}
		switch e.Kind {
		case history.KindCall:
			next++
			calls[key] = next
			e.ID = next
		case history.KindReturn:
			e.ID = calls[key]
		}
		p.add(e, l.line)
	}
	return p
}

func (in *logReader) fair() bool {
	for _, d := range in.opens {
		if d.Fair {
			return true
		}
	}
	return false
}

// contended says whether two clients have acquired the same lock, or tried to.
func (in *logReader) contended() bool {
	by := map[string]string{}
	for _, l := range in.list {
		if l.event.Kind != history.KindReturn || l.event.Op != history.OpAcquire {
			continue
		}
		if other, known := by[l.event.Lock]; known && other != l.event.Client {
			return true
		}
		by[l.event.Lock] = l.event.Client
	}
	return false
}
