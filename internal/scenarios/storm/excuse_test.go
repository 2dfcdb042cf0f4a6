package storm

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/locklab/locklab/checker"
	"github.com/locklab/locklab/faults"
	"github.com/locklab/locklab/history"
	"github.com/locklab/locklab/impls"
	"github.com/locklab/locklab/internal/record"
)

const ms = time.Millisecond

// made is a history made by hand, and what is to be excused in it. The lease is a second.
type made struct {
	events    []history.Event
	servers   int
	need      int
	renewing  bool
	local     bool
	opaque    bool
	leaseless bool
	session   bool
}

func (m *made) add(at int, e history.Event) int {
	e.At = time.Duration(at) * ms
	m.events = append(m.events, e)
	return len(m.events) - 1
}

func (m *made) call(at int, client string, op history.Op, id int64) int {
	return m.add(at, history.Event{Kind: history.KindCall, Client: client, Op: op, ID: id})
}

func (m *made) back(at int, client string, op history.Op, id int64, outcome history.Outcome) int {
	return m.add(at, history.Event{Kind: history.KindReturn, Client: client, Op: op, ID: id, Outcome: outcome})
}

func (m *made) send(sent, at int, client string, id int64, command history.Command) int {
	command.Sent = time.Duration(sent) * ms
	if command.Server == "" {
		command.Server = "redis"
	}
	return m.add(at, history.Event{Kind: history.KindCommand, Client: client, ID: id, Detail: &history.Detail{Command: &command}})
}

// acquires is a whole acquire.
func (m *made) acquires(called, sent, returned int, client string, id int64, outcome history.Outcome) {
	m.call(called, client, history.OpAcquire, id)
	m.send(sent, sent, client, id, history.Command{})
	m.back(returned, client, history.OpAcquire, id, outcome)
}

// renews is a renewal whose command the server refuses.
func (m *made) renews(called, sent, returned int, client string, id int64, outcome history.Outcome) {
	m.call(called, client, history.OpRenew, id)
	m.send(sent, sent, client, id, history.Command{Reply: "0"})
	m.back(returned, client, history.OpRenew, id, outcome)
}

// fault adds a phase of a fault: "pause inject", "skew inject offset 0s, rate 1".
func (m *made) fault(at int, target, text string) {
	words := strings.SplitN(text, " ", 3)
	f := &history.Fault{Name: words[0], Target: target, Phase: history.Phase(words[1])}
	if len(words) == 3 {
		f.What = words[2]
	}
	m.add(at, history.Event{Kind: history.KindFault, Client: target, Detail: &history.Detail{Fault: f}})
}

func (m *made) interval(from, to int, target, name string) {
	m.fault(from, target, name+" inject")
	m.fault(from, target, name+" effective")
	m.fault(to, target, name+" recover")
}

func (m *made) exit(at int, client string) {
	m.add(at, history.Event{Kind: history.KindExit, Client: client})
}

// record is the record of the history in the order of its times. The anomalies' events, which are numbered as they were added, get their
// places in it.
func (m *made) record(anomalies ...*checker.Anomaly) *evidence {
	var events []history.Event
	unseen := history.UnseenIf(m.local, history.Local) | history.UnseenIf(m.opaque, history.Opaque)
	for _, client := range []string{"C1", "C1.b", "C2", "C3", "C9", "C1-2"} {
		events = append(events, history.Event{
			Kind: history.KindOpen, Client: client, Lock: "lock",
			Detail: &history.Detail{Lease: 1000 * ms, Contract: history.Contract{Leaseless: m.leaseless}, Servers: m.servers, Need: m.need, Unseen: unseen, Session: m.session},
		})
	}
	opened := len(events)
	order := make([]int, len(m.events))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(m.events[a].At, m.events[b].At) })
	for _, i := range order {
		e := m.events[i]
		e.Lock = "lock"
		events = append(events, e)
	}
	for _, a := range anomalies {
		for k, i := range a.Events {
			a.Events[k] = opened + slices.Index(order, i)
		}
	}
	return newRecord(events)
}

func anomaly(name checker.Name, at int, events []int, clients ...string) checker.Anomaly {
	return checker.Anomaly{Name: name, At: time.Duration(at) * ms, Clients: clients, Events: events}
}

var (
	plain    = Contract{Promises: []impls.Promise{impls.MutualExclusion, impls.ReleaseByOwner, impls.RenewByOwner, impls.CrashSafety, impls.IgnoresClientTime}}
	renewing = Contract{Promises: plain.Promises, Contract: history.Contract{Renews: true}}
	broken   = Contract{Broken: true}
)

func (c Contract) with(promises ...impls.Promise) Contract {
	c.Promises = append(slices.Clone(c.Promises), promises...)
	return c
}

// excuseCase is an anomaly, and what must excuse it; "": nothing.
type excuseCase struct {
	name     string
	contract Contract
	make     func(m *made) checker.Anomaly
	before   []checker.Anomaly
	want     string
}

func testExcuses(t *testing.T, cases []excuseCase) {
	t.Helper()
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			m := &made{}
			a := c.make(m)
			r := m.record(&a)
			require.Equal(t, c.want, c.contract.excuse(c.before, a, r))
		})
	}
}

// second lets C1 acquire at 1000 ms, and C2 be seen with the lock at the given time.
func second(m *made, at int) checker.Anomaly {
	m.acquires(1000, 1010, 1020, "C1", 1, history.OK)
	i := m.call(at, "C2", history.OpAcquire, 2)
	m.send(at, at, "C2", 2, history.Command{})
	m.back(at, "C2", history.OpAcquire, 2, history.OK)
	return anomaly(checker.DoubleHolder, at, []int{2, i + 2}, "C1", "C2")
}

// TestServerFaults: from a lease before the first hold was granted until the anomaly, a server that loses leases excuses all.
func TestServerFaults(t *testing.T) {
	at := func(when int, text string) func(*made) checker.Anomaly {
		return func(m *made) checker.Anomaly {
			a := second(m, 1100)
			m.fault(when, "redis", text)
			return a
		}
	}
	testExcuses(t, []excuseCase{
		{"just within a lease before", plain, at(10, "restart inject"), nil, "the server's restart at 0.010s"},
		{"just no more within a lease before", plain, at(9, "restart inject"), nil, ""},
		{"over just within a lease before", plain, func(m *made) checker.Anomaly {
			m.interval(0, 10, "redis", "down")
			return second(m, 1100)
		}, nil, "the server's down at 0.000s"},
		{"over a lease before the grant, while the client waited", plain, func(m *made) checker.Anomaly {
			m.fault(500, "redis", "restart inject")
			m.interval(600, 700, "redis", "down")
			m.acquires(400, 1710, 1720, "C1", 1, history.OK)
			return anomaly(checker.DoubleHolder, 1800, []int{len(m.events) - 1}, "C1")
		}, nil, ""},
		{"at the anomaly", plain, at(1100, "clock-jump inject"), nil, "the server's clock-jump at 1.100s"},
		{"after the anomaly", plain, at(1101, "restart inject"), nil, ""},
		{"its effect alone is no second fault", plain, at(1000, "restart effective"), nil, ""},
		{"more than a lease before", plain, func(m *made) checker.Anomaly {
			m.fault(0, "redis", "restart inject")
			m.acquires(1001, 1010, 1020, "C1", 1, history.OK)
			return anomaly(checker.DoubleHolder, 1100, []int{3}, "C1")
		}, nil, ""},
		{"before what came before the hold", plain, func(m *made) checker.Anomaly {
			m.fault(0, "redis", "restart inject")
			m.acquires(1001, 1010, 1020, "C1", 1, history.No) // not the hold that the anomaly is about
			m.acquires(1200, 1210, 1220, "C1", 2, history.OK)
			return anomaly(checker.DoubleHolder, 1300, []int{6}, "C1")
		}, nil, ""},
		{"a refused acquire after the hold does not count", plain, func(m *made) checker.Anomaly {
			m.fault(500, "redis", "restart inject")
			m.acquires(1001, 1010, 1020, "C1", 1, history.OK)
			m.acquires(1900, 1910, 1920, "C1", 2, history.No)
			return anomaly(checker.DoubleHolder, 1950, []int{6}, "C1")
		}, nil, "the server's restart at 0.500s"},
		{"before the first of two holds, but not the second", plain, func(m *made) checker.Anomaly {
			m.fault(500, "redis", "restart inject")
			m.acquires(1400, 1410, 1420, "C1", 1, history.OK)
			m.acquires(1600, 1610, 1620, "C2", 2, history.OK)
			return anomaly(checker.WrongfulDelete, 1700, []int{6}, "C2", "C1")
		}, nil, "the server's restart at 0.500s"},
		{"the hold after the anomaly's first event does not count", plain, func(m *made) checker.Anomaly {
			m.fault(0, "redis", "restart inject")
			m.acquires(900, 910, 920, "C1", 1, history.OK)
			first := m.call(1500, "C2", history.OpAcquire, 2)
			m.acquires(1600, 1610, 1620, "C1", 3, history.OK)
			return anomaly(checker.WrongfulDelete, 1700, []int{first}, "C1")
		}, nil, "the server's restart at 0.000s"},
	})
}

// TestGrantedElsewhere: only a grant without any command to the server is another server's, and only to a client that was refused before.
func TestGrantedElsewhere(t *testing.T) {
	const other = "C1 was given the lock by another server than the one under test"
	unseen := func(returned int, outcome history.Outcome, server string) func(*made) checker.Anomaly {
		return func(m *made) checker.Anomaly {
			m.interval(1, 5, "C1", "refuse")
			i := m.call(10, "C1", history.OpAcquire, 1)
			if server != "" {
				m.send(15, 15, "C1", 1, history.Command{Server: server})
			}
			m.back(returned, "C1", history.OpAcquire, 1, outcome)
			return anomaly(checker.WrongfulDelete, 100, []int{i}, "C1")
		}
	}
	testExcuses(t, []excuseCase{
		{"no command", plain, unseen(100, history.OK, ""), nil, other},
		{"granted later", plain, unseen(101, history.OK, ""), nil, ""},
		{"not granted", plain, unseen(20, history.No, ""), nil, ""},
		{"a command", plain, unseen(20, history.OK, "redis"), nil, ""},
		{"never refused", plain, func(m *made) checker.Anomaly {
			i := m.call(10, "C1", history.OpAcquire, 1)
			m.back(20, "C1", history.OpAcquire, 1, history.OK)
			return anomaly(checker.DoubleHolder, 100, []int{i}, "C1")
		}, nil, ""},
		{"work is no command to the lock's server", plain, unseen(20, history.OK, "resource"), nil, other},
		{"a local lock sends none", plain, func(m *made) checker.Anomaly {
			m.local = true
			return unseen(20, history.OK, "")(m)
		}, nil, ""},
	})
}

// TestPromisesNotMade: what a sound lock does not promise is no fault of it. A broken one is caught by it all the same.
func TestPromisesNotMade(t *testing.T) {
	make := func(name checker.Name) func(*made) checker.Anomaly {
		return func(m *made) checker.Anomaly {
			m.acquires(10, 20, 30, "C1", 1, history.OK)
			return anomaly(name, 40, []int{2}, "C1")
		}
	}
	var cases []excuseCase
	for name, promise := range promised() {
		rest := Contract{Promises: slices.DeleteFunc(slices.Clone(plain.Promises), func(p impls.Promise) bool { return p == promise })}
		cases = append(cases,
			excuseCase{string(name) + " not promised", rest, make(name), nil, `the lock does not promise "` + string(promise) + `"`},
			excuseCase{string(name) + " promised", rest.with(promise), make(name), nil, ""},
			excuseCase{string(name) + " of a broken lock", broken, make(name), nil, ""})
	}
	testExcuses(t, cases)
}

// TestClockFaults: a lock that trusts clients' clocks is excused while one is wrong, and for a lease after.
func TestClockFaults(t *testing.T) {
	trusting := Contract{Promises: []impls.Promise{impls.ReleaseByOwner}}
	const wrong = "C1.b's clock was wrong, which the lock trusts"
	skew := func(from, to int) func(*made) checker.Anomaly {
		return func(m *made) checker.Anomaly {
			m.fault(from, "C1", "skew inject offset 2s, rate 1")
			m.fault(from, "C1", "skew effective offset 2s, rate 1")
			if to > 0 {
				m.fault(to, "C1", "skew inject "+faults.RightClock)
				m.fault(to, "C1", "skew effective "+faults.RightClock)
			}
			m.acquires(2000, 2010, 2020, "C1.b", 1, history.OK)
			return anomaly(checker.WrongfulDelete, 2030, []int{len(m.events) - 1}, "C9", "C1.b")
		}
	}
	testExcuses(t, []excuseCase{
		{"wrong", trusting, skew(100, 0), nil, wrong},
		{"right again for a lease", trusting, skew(100, 1010), nil, wrong},
		{"for longer", trusting, skew(100, 1009), nil, ""},
		{"from the anomaly on", trusting, skew(2030, 0), nil, wrong},
		{"later", trusting, skew(2031, 0), nil, ""},
		{"a broken lock is not excused", broken, skew(100, 0), nil, ""},
		{"nor one that ignores clocks", plain, skew(100, 0), nil, ""},
		{"its client has exited", trusting, func(m *made) checker.Anomaly {
			m.fault(100, "C1", "skew inject offset 2s, rate 1")
			m.exit(900, "C1")
			m.acquires(2000, 2010, 2020, "C1.b", 1, history.OK)
			return anomaly(checker.WrongfulDelete, 2030, []int{4}, "C1.b")
		}, nil, ""},
		{"of an exited client, within a lease", trusting, func(m *made) checker.Anomaly {
			m.fault(100, "C1", "skew inject offset 2s, rate 1")
			m.exit(1010, "C1")
			m.acquires(2000, 2010, 2020, "C1.b", 1, history.OK)
			return anomaly(checker.WrongfulDelete, 2030, []int{4}, "C1.b")
		}, nil, wrong},
	})
}

// TestOutlivedLeases: a hold that is longer than its lease is excused where the lock cannot renew, or tells its holder; else by faults that
// took half of the lease.
func TestOutlivedLeases(t *testing.T) {
	hindered := func(from, to int, target, name string) func(*made) checker.Anomaly {
		return func(m *made) checker.Anomaly {
			a := second(m, 2100)
			m.interval(from, to, target, name)
			return a
		}
	}
	named := func(name checker.Name) func(*made) checker.Anomaly {
		return func(m *made) checker.Anomaly { a := second(m, 2100); a.Name = name; return a }
	}
	slowed := func(from, to, seen int, also func(*made)) func(*made) checker.Anomaly { // the lease ends at 2010 ms
		return func(m *made) checker.Anomaly {
			a := second(m, seen)
			m.send(from, to, "C3", 0, history.Command{Server: "resource"})
			if also != nil {
				also(m)
			}
			return a
		}
	}
	seen := func(also func(*made)) func(*made) checker.Anomaly {
		return func(m *made) checker.Anomaly { a := second(m, 2900); also(m); return a }
	}
	const over = "C1's lease had begun 1.09s before, and was over"
	testExcuses(t, []excuseCase{
		{"over but for what servers round", plain, func(m *made) checker.Anomaly { return second(m, 2005) }, nil, "C1's lease had begun 995ms before, and was over"},
		{"not over", plain, func(m *made) checker.Anomaly { return second(m, 2004) }, nil, ""},
		{"a hold that ends with its lease", plain.with(impls.ExclusionOnPause), named(checker.DoubleHolder), nil, ""},
		{"what is written after it", plain.with(impls.ExclusionOnPause), named(checker.StaleWrite), nil, over},
		{"an update that is lost by it", plain, named(checker.LostUpdate), nil, over},
		{"but not with fencing", plain.with(impls.Fencing), named(checker.LostUpdate), nil, ""},
		{"any other anomaly", plain, named(checker.WrongfulRenew), nil, ""},
		{"a lock that renews", renewing, named(checker.DoubleHolder), nil, ""},
		{"nor if it tells, and nothing kept it from renewing", renewing.with(impls.KnowsLoss), named(checker.DoubleHolder), nil, ""},
		{"if it tells", renewing.with(impls.KnowsLoss), hindered(1100, 1101, "C1", "pause"), nil, over},
		{"if it tells, and was granted the lock late", renewing.with(impls.KnowsLoss), func(m *made) checker.Anomaly {
			m.acquires(1000, 1010, 1511, "C1", 1, history.OK)
			i := m.call(2100, "C2", history.OpAcquire, 2)
			return anomaly(checker.DoubleHolder, 2100, []int{2, i}, "C1", "C2")
		}, nil, over},
		{"if it tells, and the host was slow for as long as it was late", renewing.with(impls.KnowsLoss), slowed(1900, 1965, 2100, nil), nil, over},
		{"nor if it tells, and the host was slow for less", renewing.with(impls.KnowsLoss), slowed(1901, 1965, 2100, nil), nil, ""},
		{"nor if it tells, and the host was slow long before", renewing.with(impls.KnowsLoss), slowed(1500, 1942, 2100, nil), nil, ""},
		{"if it tells, and the host was slow shortly before", renewing.with(impls.KnowsLoss), slowed(1500, 1943, 2100, nil), nil, over},
		{"if it tells, and had tried to renew when the host was slow", renewing.with(impls.KnowsLoss), slowed(1100, 1200, 2100, func(m *made) {
			m.send(1200, 1200, "C1", 0, history.Command{})
		}), nil, over},
		{"nor if it only wrote then", renewing.with(impls.KnowsLoss), slowed(1100, 1200, 2100, func(m *made) {
			m.send(1200, 1200, "C1", 0, history.Command{Server: history.Resource})
		}), nil, ""},
		{"if it tells, and renews as late as the host was slow", renewing.with(impls.KnowsLoss), slowed(2000, 2026, 2900, func(m *made) {
			m.send(2061, 2061, "C1", 0, history.Command{})
		}), nil, "C1's lease had begun 1.89s before, and was over"},
		{"nor if it renews later than that", renewing.with(impls.KnowsLoss), slowed(2000, 2026, 2900, func(m *made) {
			m.send(2062, 2062, "C1", 0, history.Command{})
		}), nil, ""},
		{"what it writes is no renewal", renewing.with(impls.KnowsLoss), slowed(2000, 2026, 2900, func(m *made) {
			m.send(2012, 2012, "C1", 0, history.Command{Server: history.Resource})
		}), nil, ""},
		{"if it tells, and is given back at once", renewing.with(impls.KnowsLoss), seen(func(m *made) {
			m.call(2035, "C1", history.OpRelease, 3)
		}), nil, "C1's lease had begun 1.89s before, and was over"},
		{"if it tells, and the loss is told at once", renewing.with(impls.KnowsLoss), seen(func(m *made) {
			m.add(2035, history.Event{Kind: history.KindLost, Client: "C1"})
		}), nil, "C1's lease had begun 1.89s before, and was over"},
		{"if it tells, and a fault comes before it is late", renewing.with(impls.KnowsLoss), seen(func(m *made) {
			m.interval(2035, 2899, "C1", "pause")
		}), nil, "C1's lease had begun 1.89s before, and was over"},
		{"nor if a fault comes later", renewing.with(impls.KnowsLoss), seen(func(m *made) {
			m.interval(2036, 2899, "C1", "pause")
		}), nil, ""},
		{"if it tells, and the host was slow for half of the lease", renewing.with(impls.KnowsLoss), slowed(1100, 1600, 2900, nil), nil,
			"C1's lease had begun 1.89s before, and was over"},
		{"nor if that was less than half", renewing.with(impls.KnowsLoss), slowed(1100, 1599, 2900, nil), nil, ""},
		{"nor if a fault took most of it before the grant was told", renewing.with(impls.KnowsLoss), func(m *made) checker.Anomaly {
			m.acquires(1000, 1010, 1510, "C1", 1, history.OK)
			m.interval(1011, 1509, "C1", "pause")
			m.send(1100, 1530, "C3", 0, history.Command{Server: history.Resource})
			i := m.call(2100, "C2", history.OpAcquire, 2)
			return anomaly(checker.DoubleHolder, 2100, []int{2, i}, "C1", "C2")
		}, nil, ""},
		{"if it tells, and had half of its lease", renewing.with(impls.KnowsLoss), func(m *made) checker.Anomaly {
			m.acquires(1000, 1010, 1510, "C1", 1, history.OK)
			m.interval(1011, 1509, "C1", "hold")
			i := m.call(2100, "C2", history.OpAcquire, 2)
			return anomaly(checker.DoubleHolder, 2100, []int{2, i}, "C1", "C2")
		}, nil, ""},
		{"half of the lease", renewing, hindered(1010, 1510, "C1", "pause"), nil, "C1 was hindered for 500ms of its lease (pause)"},
		{"less than half of it", renewing, hindered(1010, 1509, "C1", "pause"), nil, ""},
		{"another client", renewing, hindered(1010, 1900, "C3", "pause"), nil, ""},
		{"after the lease", renewing, hindered(1700, 2090, "C1", "pause"), nil, ""},
		{"before the lease", renewing, hindered(100, 1400, "C1", "pause"), nil, ""},
		{"by two faults, of which the longer is named", renewing, func(m *made) checker.Anomaly {
			a := hindered(1010, 1210, "C1", "partition")(m)
			m.interval(1200, 1520, "C1", "pause")
			return a
		}, nil, "C1 was hindered for 510ms of its lease (pause)"},
		{"the time of both counts once", renewing, func(m *made) checker.Anomaly {
			a := hindered(1010, 1410, "C1", "partition")(m)
			m.interval(1020, 1420, "C1", "pause")
			return a
		}, nil, ""},
		{"a slow host", renewing, func(m *made) checker.Anomaly {
			a := second(m, 2100)
			m.send(1400, 2000, "C3", 0, history.Command{Server: "resource"})
			return a
		}, nil, "C1 was hindered for 600ms of its lease (the host was slow)"},
		{"a host that is not too slow", renewing, func(m *made) checker.Anomaly {
			a := second(m, 2100)
			for at := 1010; at < 1990; at += 25 {
				m.send(at, at+25, "C3", 0, history.Command{Server: "resource"})
			}
			return a
		}, nil, ""},
		{"the process of a further lock", renewing, func(m *made) checker.Anomaly {
			m.acquires(1000, 1010, 1020, "C1.b", 1, history.OK)
			m.interval(1010, 1600, "C1", "pause")
			return anomaly(checker.DoubleHolder, 2100, []int{2}, "C1.b")
		}, nil, "C1.b was hindered for 590ms of its lease (pause)"},
		{"another lock of the process is none of it", renewing, func(m *made) checker.Anomaly {
			m.acquires(1000, 1010, 1020, "C1", 1, history.OK)
			m.interval(1010, 1600, "C1.b", "hold")
			return anomaly(checker.DoubleHolder, 2100, []int{2}, "C1")
		}, nil, ""},
		{"a fault that its client's exit ended", renewing, func(m *made) checker.Anomaly {
			a := second(m, 2100)
			m.fault(1010, "C1", "pause inject")
			m.exit(1400, "C1")
			return a
		}, nil, ""},
		{"a fault that lasts", renewing, func(m *made) checker.Anomaly {
			a := second(m, 2100)
			m.fault(1010, "C1", "pause inject")
			return a
		}, nil, "C1 was hindered for 1s of its lease (pause)"},
		{"the latest hold counts, and a refused acquire is none", plain, func(m *made) checker.Anomaly {
			m.acquires(10, 20, 30, "C1", 1, history.OK)
			m.acquires(1500, 1510, 1520, "C1", 2, history.OK)
			m.acquires(2000, 2010, 2020, "C1", 3, history.No)
			return anomaly(checker.DoubleHolder, 2100, []int{5}, "C1")
		}, nil, ""},
		{"a hold that begins with the anomaly", plain, func(m *made) checker.Anomaly {
			m.acquires(10, 20, 1520, "C1", 1, history.OK)
			return anomaly(checker.DoubleHolder, 1520, []int{2}, "C1")
		}, nil, "C1's lease had begun 1.5s before, and was over"},
		{"a hold whose renewal was answered ok, though the server refused it", plain, func(m *made) checker.Anomaly {
			m.acquires(10, 20, 30, "C1", 1, history.OK)
			m.renews(1500, 1510, 1520, "C1", 2, history.OK)
			return anomaly(checker.StaleWrite, 2000, []int{5}, "C1")
		}, nil, ""},
		{"a hold whose renewal was answered ok a lease before", plain, func(m *made) checker.Anomaly {
			m.acquires(10, 20, 30, "C1", 1, history.OK)
			m.renews(1500, 1510, 1520, "C1", 2, history.OK)
			return anomaly(checker.StaleWrite, 2600, []int{5}, "C1")
		}, nil, "C1's lease had begun 1.1s before, and was over"},
		{"a hold whose renewal was answered no", plain, func(m *made) checker.Anomaly {
			m.acquires(10, 20, 30, "C1", 1, history.OK)
			m.renews(1500, 1510, 1520, "C1", 2, history.No)
			return anomaly(checker.StaleWrite, 2000, []int{5}, "C1")
		}, nil, "C1's lease had begun 1.98s before, and was over"},
		{"a hold whose renewal was answered ok after the anomaly", plain, func(m *made) checker.Anomaly {
			m.acquires(10, 20, 30, "C1", 1, history.OK)
			m.renews(1500, 1510, 2100, "C1", 2, history.OK)
			return anomaly(checker.StaleWrite, 2000, []int{4}, "C1")
		}, nil, "C1's lease had begun 1.98s before, and was over"},
		{"a hold that begins after the anomaly", plain, func(m *made) checker.Anomaly {
			i := m.call(5, "C2", history.OpAcquire, 9)
			m.acquires(10, 20, 1521, "C1", 1, history.OK)
			return anomaly(checker.DoubleHolder, 1520, []int{i}, "C1")
		}, nil, ""},
	})
}

// TestWhenLeasesBegin: with the last command of the acquire, or the last that prolonged the lock.
func TestWhenLeasesBegin(t *testing.T) {
	key := func(ttl int) history.State {
		return history.State{Type: "string", Value: "C1", TTL: time.Duration(ttl) * ms}
	}
	prolongs := history.Command{Asked: ms, Changes: []history.Change{{Key: "k", Before: key(500), After: key(1000)}}}
	stays := history.Command{Asked: ms, Changes: []history.Change{{Key: "k", Before: key(500), After: key(500)}}}
	m := &made{}
	began := func(client string) time.Duration {
		at, _ := m.record().pastLease(client, 5000*ms, m.renewing)
		return at
	}
	m.call(10, "C1", history.OpAcquire, 1)
	m.send(20, 21, "C1", 1, history.Command{})
	m.send(30, 31, "C1", 1, history.Command{})
	m.send(35, 36, "C1", 1, history.Command{Server: "resource"})
	m.back(40, "C1", history.OpAcquire, 1, history.OK)
	require.Equal(t, 30*ms, began("C1"))
	m.send(50, 51, "C1", 0, stays)
	require.Equal(t, 30*ms, began("C1"), "a command that leaves the lease alone")
	m.send(60, 61, "C1", 0, prolongs)
	require.Equal(t, 60*ms, began("C1"))
	m.send(70, 71, "C2", 0, prolongs)
	require.Equal(t, 60*ms, began("C1"), "somebody else's")
	resource := prolongs
	resource.Server = "resource"
	m.send(80, 81, "C1", 0, resource)
	require.Equal(t, 60*ms, began("C1"), "not the lock")
	require.Equal(t, time.Duration(0), began("C2"))

	node := history.State{Type: "znode", Value: "n-1 of C1"}
	m = &made{session: true}
	m.call(10, "C1", history.OpAcquire, 1)
	m.send(20, 21, "C1", 1, history.Command{Args: []string{"CREATE"}, Changes: []history.Change{{Key: "k", After: node}}})
	m.send(30, 31, "C1", 1, history.Command{Args: []string{"EXPIRED"}, Changes: []history.Change{{Key: "k", Before: node}}})
	m.back(40, "C1", history.OpAcquire, 1, history.OK)
	require.Equal(t, 20*ms, began("C1"), "what ends a session begins none")
	m.send(50, 51, "C1", 0, history.Command{Args: []string{"PING"}, Changes: []history.Change{{Key: "k", Before: node, After: node}}})
	require.Equal(t, 50*ms, began("C1"), "a session goes on")

	on := func(server string, command history.Command) history.Command {
		command.Server = server
		return command
	}
	m = &made{servers: 3}
	m.call(10, "C1", history.OpAcquire, 1)
	for n, server := range []string{"S1", "S2", "S3"} {
		m.send(20+10*n, 21+10*n, "C1", 1, on(server, history.Command{}))
	}
	m.back(50, "C1", history.OpAcquire, 1, history.OK)
	require.Equal(t, 30*ms, began("C1"), "with it ends the majority of S2 and S3")
	m.send(60, 61, "C1", 0, on("S3", prolongs))
	require.Equal(t, 30*ms, began("C1"), "one of three keeps no lock")
	m.send(70, 71, "C1", 0, on("S1", prolongs))
	require.Equal(t, 60*ms, began("C1"))
	m.need = 3
	require.Equal(t, 70*ms, began("C1"), "all are needed: the last counts")
	m.need, m.renewing = 0, true
	require.Equal(t, 70*ms, began("C1"), "nothing hinders a lock that has renewed itself on one")
}

// TestFollows: an update that is lost because of an excused write is excused like it.
func TestFollows(t *testing.T) {
	lost := func(kind history.Kind) func(*made) checker.Anomaly {
		return func(m *made) checker.Anomaly {
			m.acquires(1500, 1510, 1520, "C1", 1, history.OK)
			i := m.add(1700, history.Event{Kind: kind})
			return anomaly(checker.LostUpdate, 1700, []int{2, i}, "C1")
		}
	}
	one := func(name checker.Name, at int, beyond string) []checker.Anomaly {
		return []checker.Anomaly{{Name: name, At: time.Duration(at) * ms, Beyond: beyond}}
	}
	testExcuses(t, []excuseCase{
		{"a stale write", plain, lost(history.KindStep), one(checker.StaleWrite, 510, "x"), "it follows from the stale-write at 0.510s"},
		{"a lease before", plain, lost(history.KindStep), one(checker.DoubleHolder, 510, "x"), "it follows from the double-holder at 0.510s"},
		{"longer before", plain, lost(history.KindStep), one(checker.DoubleHolder, 509, "x"), ""},
		{"that is not excused", plain, lost(history.KindStep), one(checker.StaleWrite, 1600, ""), ""},
		{"another lost update, not at the end", plain, lost(history.KindStep), one(checker.LostUpdate, 1600, "x"), ""},
		{"what has no part in data", plain, lost(history.KindStep), one(checker.GhostLock, 1600, "x"), ""},
		{"at the end, whenever it was", plain, lost(history.KindFinal), one(checker.StaleWrite, 10, "x"), "it follows from the stale-write at 0.010s"},
		{"at the end, another lost update", plain, lost(history.KindFinal), one(checker.LostUpdate, 10, "x"), "it follows from the lost-update at 0.010s"},
		{"at the end, what has no part in data", plain, lost(history.KindFinal), one(checker.GhostLock, 10, "x"), ""},
		{"at the end, what is not excused", plain, lost(history.KindFinal), one(checker.LostUpdate, 10, ""), ""},
		{"the last of several", plain, lost(history.KindStep), append(one(checker.StaleWrite, 600, "x"), one(checker.StaleWrite, 700, "x")...),
			"it follows from the stale-write at 0.700s"},
	})
}

// TestToldLate: a lock that promises to tell its holder in time is excused by a pause that has ended half a lease before or later, and by a host that
// was slow for as long as the news was late.
func TestToldLate(t *testing.T) {
	telling := renewing.with(impls.KnowsLoss, impls.ToldInTime)
	paused := func(from, to int) func(*made) checker.Anomaly {
		return func(m *made) checker.Anomaly {
			a := second(m, 2100)
			m.interval(from, to, "C1", "pause")
			return a
		}
	}
	slowed := func(from, to int) func(*made) checker.Anomaly {
		return func(m *made) checker.Anomaly {
			a := second(m, 2100)
			m.send(from, to, "C3", 0, history.Command{Server: "resource"})
			return a
		}
	}
	testExcuses(t, []excuseCase{
		{"not over", telling, func(m *made) checker.Anomaly { return second(m, 2004) }, nil, ""},
		{"nothing", telling, func(m *made) checker.Anomaly { return second(m, 2100) }, nil, ""},
		{"a pause", telling, paused(1500, 1600), nil, "C1 did not run for 100ms of its lease (pause)"},
		{"a pause that was over for longer", telling, paused(1500, 1599), nil, ""},
		{"a partition", telling, func(m *made) checker.Anomaly {
			a := second(m, 2100)
			m.interval(1020, 2090, "C1", "partition")
			return a
		}, nil, ""},
		{"a host that was slow for as long", telling, slowed(1100, 1165), nil, "the host was slow for 65ms of C1's lease"},
		{"a host that was slow for less", telling, slowed(1100, 1164), nil, ""},
		{"a host that was slow before", telling, slowed(800, 1000), nil, ""},
		{"no stall that the lab saw", telling, func(m *made) checker.Anomaly { return second(m, 2020) }, nil, ""},
	})
}

// TestBeingReleased: a lock that its owner is kept from releasing is not stuck by its own fault.
func TestBeingReleased(t *testing.T) {
	answered := func(outcome history.Outcome, ended, from, to int, target string) func(*made) checker.Anomaly {
		return func(m *made) checker.Anomaly {
			m.acquires(10, 20, 30, "C1", 1, history.OK)
			m.call(100, "C1", history.OpRelease, 2)
			first := m.call(200, "C2", history.OpAcquire, 3)
			m.fault(from, target, "hold effective")
			if to > 0 {
				m.fault(to, target, "hold recover")
			}
			if ended > 0 {
				m.back(ended, "C1", history.OpRelease, 2, outcome)
			}
			return anomaly(checker.StuckLock, 3000, []int{first}, "C2", "C1")
		}
	}
	stuck := func(ended, from, to int, target string) func(*made) checker.Anomaly {
		return answered(history.OK, ended, from, to, target)
	}
	givenUp := func(ended, from, to int, target string) func(*made) checker.Anomaly {
		return answered(history.Unknown, ended, from, to, target)
	}
	testExcuses(t, []excuseCase{
		{"held since", plain, stuck(0, 110, 0, "C1"), nil, "C1's release was under way, and hindered for 2.89s (hold)"},
		{"held for a moment", plain, stuck(0, 2000, 2001, "C1"), nil, "C1's release was under way, and hindered for 1ms (hold)"},
		{"held until a lease before", plain, stuck(0, 110, 2000, "C1"), nil, ""},
		{"held before", plain, stuck(0, 90, 100, "C1"), nil, ""},
		{"a slow host", plain, func(m *made) checker.Anomaly {
			a := stuck(0, 90, 100, "C1")(m)
			m.send(1000, 1725, "C3", 0, history.Command{Server: "resource"})
			return a
		}, nil, "C1's release was under way, and hindered for 725ms (the host was slow)"},
		{"a host that was slow for less than a quarter", plain, func(m *made) checker.Anomaly {
			a := stuck(0, 90, 100, "C1")(m)
			m.send(1000, 1724, "C3", 0, history.Command{Server: "resource"})
			return a
		}, nil, ""},
		{"somebody else is held", plain, stuck(0, 110, 0, "C2"), nil, ""},
		{"it has ended with the anomaly", plain, stuck(3000, 2110, 2120, "C1"), nil, "C1's release was under way, and hindered for 10ms (hold)"},
		{"it has ended before", plain, stuck(2999, 110, 0, "C1"), nil, ""},
		{"given up within a lease", renewing, givenUp(2010, 110, 0, "C1"), nil, "C1's release was under way, and hindered for 10ms (hold)"},
		{"given up, by a lock that does not renew", plain, givenUp(2010, 110, 0, "C1"), nil, ""},
		{"given up longer before", renewing, givenUp(2000, 110, 0, "C1"), nil, ""},
		{"given up, and held longer before", renewing, givenUp(2999, 110, 2000, "C1"), nil, ""},
		{"given up while somebody else is held", renewing, givenUp(2010, 110, 0, "C2"), nil, ""},
	})
}

// TestBeingWithdrawn: a lock is not stuck by its own fault while a fault keeps a client from deleting a node that it has given up.
func TestBeingWithdrawn(t *testing.T) {
	stuck := func(session bool, outcome history.Outcome, from, to int, target string) func(*made) checker.Anomaly {
		return func(m *made) checker.Anomaly {
			m.session = session
			m.acquires(10, 20, 1900, "C1", 1, outcome)
			m.call(1950, "C1", history.OpAcquire, 2)
			first := m.call(2000, "C2", history.OpAcquire, 3)
			m.interval(from, to, target, "hold")
			return anomaly(checker.StuckLock, 3000, []int{first}, "C2", "C1")
		}
	}
	busy := func(at, from, to int) func(*made) checker.Anomaly {
		return func(m *made) checker.Anomaly {
			a := stuck(true, history.Unknown, 10, 20, "C1")(m)
			m.add(to, history.Event{Kind: history.KindFault, Detail: &history.Detail{
				Value: int64(time.Duration(from) * ms), Bound: time.Duration(to-from) * ms,
				Fault: &history.Fault{Name: "stall", Target: "machine", Phase: history.PhaseRecover},
			}})
			a.At = time.Duration(at) * ms
			return a
		}
	}
	testExcuses(t, []excuseCase{
		{"a busy host", plain, busy(3000, 2000, 2275), nil, "C1 took back an acquire of unknown outcome, and the host was too slow for 275ms"},
		{"not too busy", plain, busy(3000, 2000, 2274), nil, ""},
		{"busy before", plain, busy(3000, 1600, 1900), nil, ""},
		{"busy for longer", plain, busy(4000, 2000, 2601), nil, "C1 took back an acquire of unknown outcome, and the host was too slow for 601ms"},
		{"it has had a lease and a half", plain, busy(4000, 2000, 2600), nil, ""},
		{"held", plain, stuck(true, history.Unknown, 1800, 3100, "C1"), nil, "C1 took back an acquire of unknown outcome, and was hindered for 1s (hold)"},
		{"held for long enough", plain, stuck(true, history.Unknown, 1800, 2500, "C1"), nil,
			"C1 took back an acquire of unknown outcome, and was hindered for 500ms (hold)"},
		{"it has had time since", plain, stuck(true, history.Unknown, 1800, 2499, "C1"), nil, ""},
		{"somebody else is held", plain, stuck(true, history.Unknown, 1800, 3100, "C3"), nil, ""},
		{"it was told no", plain, stuck(true, history.No, 1800, 3100, "C1"), nil, ""},
		{"a lock with a lease", plain, stuck(false, history.Unknown, 1800, 3100, "C1"), nil, ""},
	})
}

// TestLateRenewals: the lease of a client that has ended begins when its last renewal arrives.
func TestLateRenewals(t *testing.T) {
	before := history.State{Type: "string", Value: "x", TTL: 300 * ms}
	stuck := func(client string, exit, arrives int, ttl time.Duration) func(*made) checker.Anomaly {
		return func(m *made) checker.Anomaly {
			m.acquires(10, 20, 30, client, 1, history.OK)
			first := m.call(200, "C2", history.OpAcquire, 3)
			m.exit(exit, client)
			after := before
			after.TTL = ttl
			m.send(arrives, arrives, client, 0, history.Command{Changes: []history.Change{{Key: "lock", Before: before, After: after}}})
			return anomaly(checker.StuckLock, 3000, []int{first}, "C2", "C1")
		}
	}
	testExcuses(t, []excuseCase{
		{"a lease before", plain, stuck("C1", 1500, 2000, time.Second), nil, "a renewal of C1 arrived at 2.000s, after the client had ended"},
		{"longer before", plain, stuck("C1", 1500, 1999, time.Second), nil, ""},
		{"later", plain, stuck("C1", 1500, 3001, time.Second), nil, ""},
		{"before it ended", plain, stuck("C1", 2600, 2500, time.Second), nil, ""},
		{"no renewal", plain, stuck("C1", 1500, 2500, 290*ms), nil, ""},
		{"somebody else's", plain, stuck("C3", 1500, 2500, time.Second), nil, ""},
	})
}

// TestOthersTried: see splitVotes.
func TestOthersTried(t *testing.T) {
	const others = "other clients tried at the same time, and none of them got a majority"
	stuck := func(servers int, client string, called, ended int) func(*made) checker.Anomaly {
		return func(m *made) checker.Anomaly {
			m.servers = servers
			first := m.call(200, "C2", history.OpAcquire, 3)
			m.acquires(called, called, ended, client, 4, history.No)
			return anomaly(checker.StuckLock, 3000, []int{first}, "C2", "C1")
		}
	}
	testExcuses(t, []excuseCase{
		{"at the same time", plain, stuck(2, "C3", 2999, 3500), nil, others},
		{"one that had begun before", plain, stuck(3, "C3", 100, 201), nil, others},
		{"one that had ended before", plain, stuck(3, "C3", 100, 200), nil, ""},
		{"one that began after", plain, stuck(3, "C3", 3000, 3500), nil, ""},
		{"its own", plain, stuck(3, "C2", 300, 400), nil, ""},
		{"on one server", plain, stuck(1, "C3", 300, 400), nil, ""},
	})
}

// TestLateRequests: a ghost of a request that came after its client had given up its acquire.
func TestLateRequests(t *testing.T) {
	const late = "the request arrived late: C1 had given up the acquire that sent it"
	type by struct {
		conn    int64
		id      int64 // the operation during which it arrived
		outcome history.Outcome
		ended   int
		client  string // who uses the connection afterwards
		next    string // on which server
		nextBy  int64  // by which connection
	}
	ghost := func(c by) func(*made) checker.Anomaly {
		return func(m *made) checker.Anomaly {
			m.send(5, 5, "C1", 0, history.Command{Server: "redis", Conn: c.conn}) // what came before does not count
			other := m.send(8, 8, "C3", 9, history.Command{Conn: 1})
			m.call(10, "C1", history.OpAcquire, 1)
			m.back(c.ended, "C1", history.OpAcquire, 1, c.outcome)
			i := m.send(100, 100, "C1", c.id, history.Command{Server: "redis", Conn: c.conn})
			if c.client != "" {
				m.send(150, 150, c.client, c.id, history.Command{Server: c.next, Conn: c.nextBy})
			}
			return anomaly(checker.GhostLock, 200, []int{other, i}, "C1", "C3")
		}
	}
	testExcuses(t, []excuseCase{
		{"idle", plain, ghost(by{conn: 7, outcome: history.Unknown, ended: 100}), nil, late},
		{"idle, and goes on with it", plain, ghost(by{conn: 7, outcome: history.Unknown, ended: 100, client: "C1", next: "redis", nextBy: 7}), nil, late},
		{"a broken lock", broken, ghost(by{conn: 7, outcome: history.Unknown, ended: 100}), nil, ""},
		{"an acquire that was answered", plain, ghost(by{conn: 7, outcome: history.No, ended: 100}), nil, ""},
		{"no connection is known", plain, ghost(by{outcome: history.Unknown, ended: 100}), nil, ""},
		{"at the next", plain, ghost(by{conn: 7, id: 2, outcome: history.Unknown, ended: 50}), nil, late},
		{"which goes on with it", plain, ghost(by{conn: 7, id: 2, outcome: history.Unknown, ended: 50, client: "C1", next: "redis", nextBy: 7}), nil, ""},
		{"which goes on with another", plain, ghost(by{conn: 7, id: 2, outcome: history.Unknown, ended: 50, client: "C1", next: "redis", nextBy: 8}), nil, late},
		{"of another server", plain, ghost(by{conn: 7, id: 2, outcome: history.Unknown, ended: 50, client: "C1", next: "S2", nextBy: 7}), nil, late},
		{"another client goes on", plain, ghost(by{conn: 7, id: 2, outcome: history.Unknown, ended: 50, client: "C2", next: "redis", nextBy: 7}), nil, late},
		{"no command of its own", plain, func(m *made) checker.Anomaly {
			i := m.call(10, "C1", history.OpAcquire, 1)
			m.back(20, "C1", history.OpAcquire, 1, history.No)
			return anomaly(checker.GhostLock, 200, []int{i + 1}, "C1", "C3")
		}, nil, ""},
		{"no acquire before", plain, func(m *made) checker.Anomaly {
			return anomaly(checker.GhostLock, 200, []int{m.send(5, 5, "C1", 0, history.Command{Conn: 3})}, "C1", "C3")
		}, nil, ""},
		{"the latest acquire counts", plain, func(m *made) checker.Anomaly {
			m.call(10, "C1", history.OpAcquire, 1)
			m.back(20, "C1", history.OpAcquire, 1, history.Unknown)
			m.call(30, "C1", history.OpAcquire, 2)
			m.back(40, "C1", history.OpAcquire, 2, history.No)
			return anomaly(checker.GhostLock, 200, []int{m.send(50, 50, "C1", 0, history.Command{Conn: 3})}, "C1", "C3")
		}, nil, ""},
	})
}

// TestLateReleases: a release that finds the lock gone, because the request of the one before came in between.
func TestLateReleases(t *testing.T) {
	alarm := func(outcome history.Outcome, next int64) func(*made) checker.Anomaly {
		return func(m *made) checker.Anomaly {
			m.call(10, "C1", history.OpRelease, 1)
			m.back(50, "C1", history.OpRelease, 1, outcome)
			first := m.call(60, "C1", history.OpRelease, 2)
			i := m.send(100, 100, "C1", 2, history.Command{Conn: 7})
			m.send(150, 150, "C1", 2, history.Command{Conn: next})
			return anomaly(checker.FalseAlarm, 200, []int{first, i}, "C1")
		}
	}
	// onServers has the lock removed from some of several servers by requests on these connections, of which 7 is used again and 8 is not.
	onServers := func(servers int, conns ...int64) func(*made) checker.Anomaly {
		return func(m *made) checker.Anomaly {
			m.servers = servers
			m.call(10, "C1", history.OpRelease, 1)
			m.back(50, "C1", history.OpRelease, 1, history.Unknown)
			events := []int{m.call(60, "C1", history.OpRelease, 2)}
			for n, conn := range conns {
				server := fmt.Sprintf("S%d", n+1)
				events = append(events, m.send(100, 100, "C1", 2, history.Command{Server: server, Conn: conn}))
			}
			for n := range conns {
				m.send(150, 150, "C1", 2, history.Command{Server: fmt.Sprintf("S%d", n+1), Conn: 7})
			}
			return anomaly(checker.FalseAlarm, 200, events, "C1")
		}
	}
	const late = "the request arrived late: C1 had given up the release that sent it"
	testExcuses(t, []excuseCase{
		{"given up before", plain, alarm(history.Unknown, 8), nil, late},
		{"late on one server, its own on another", plain, onServers(3, 7, 8), nil, late},
		{"late on one server, its own on two", plain, onServers(3, 7, 8, 7), nil, ""},
		{"late on two servers, its own on two of five", plain, onServers(5, 8, 7, 7, 8), nil, late},
		{"its own on three of five", plain, onServers(5, 8, 7, 7, 7), nil, ""},
		{"its own on two of three", plain, onServers(3, 7, 7), nil, ""},
		{"answered before", plain, alarm(history.OK, 8), nil, ""},
		{"its own, sent again", plain, alarm(history.Unknown, 7), nil, ""},
		{"a broken lock", broken, alarm(history.Unknown, 8), nil, ""},
	})
}

// TestQueuedReleases: a release in a session that finds the lock gone, because the request of the one before had waited for a connection.
func TestQueuedReleases(t *testing.T) {
	type by struct {
		leased  bool // in no session
		outcome history.Outcome
		sent    bool     // a request of the release before had arrived
		first   []string // the request that removes the lock
		second  []string // the next one on that connection; nil: none
		of      int64    // its operation
		client  string   // whose it is
	}
	node, other := []string{"DELETE", "/lock/n-1"}, []string{"GETCHILDREN", "/lock"}
	alarm := func(c by) func(*made) checker.Anomaly {
		return func(m *made) checker.Anomaly {
			m.session = !c.leased
			m.call(10, "C1", history.OpRelease, 1)
			if c.sent {
				m.send(20, 20, "C1", 1, history.Command{Conn: 6, Args: node})
			}
			m.back(50, "C1", history.OpRelease, 1, c.outcome)
			called := m.call(60, "C1", history.OpRelease, 2)
			i := m.send(100, 100, "C1", 2, history.Command{Conn: 7, Args: c.first})
			m.send(150, 150, c.client, c.of, history.Command{Conn: 7, Args: c.second})
			return anomaly(checker.FalseAlarm, 200, []int{called, i}, "C1")
		}
	}
	const late = "the request arrived late: C1 had given up the release that sent it"
	testExcuses(t, []excuseCase{
		{"given up before", plain, alarm(by{outcome: history.Unknown, first: node, second: node, of: 2, client: "C1"}), nil, late},
		{"a broken lock", broken, alarm(by{outcome: history.Unknown, first: node, second: node, of: 2, client: "C1"}), nil, ""},
		{"in no session", plain, alarm(by{leased: true, outcome: history.Unknown, first: node, second: node, of: 2, client: "C1"}), nil, ""},
		{"answered before", plain, alarm(by{outcome: history.No, first: node, second: node, of: 2, client: "C1"}), nil, ""},
		{"which had arrived", plain, alarm(by{outcome: history.Unknown, sent: true, first: node, second: node, of: 2, client: "C1"}), nil, ""},
		{"and the release asks something else", plain, alarm(by{outcome: history.Unknown, first: node, second: other, of: 2, client: "C1"}), nil, ""},
		{"and the next operation asks", plain, alarm(by{outcome: history.Unknown, first: node, second: node, of: 3, client: "C1"}), nil, ""},
		{"a request without a name", plain, alarm(by{outcome: history.Unknown, second: node, of: 2, client: "C1"}), nil, ""},
	})
}

// TestAbandoned: a ghost of an acquire whose outcome its client never learned.
func TestAbandoned(t *testing.T) {
	const unknown = "C1 never learned the outcome of its acquire"
	ghost := func(outcome history.Outcome, at int, id int64) func(*made) checker.Anomaly {
		return func(m *made) checker.Anomaly {
			m.call(10, "C1", history.OpAcquire, 1)
			m.back(30, "C1", history.OpAcquire, 1, outcome)
			i := m.send(at, at, "C1", id, history.Command{})
			return anomaly(checker.GhostLock, 200, []int{i}, "C1", "C2")
		}
	}
	testExcuses(t, []excuseCase{
		{"by its number", plain, ghost(history.Unknown, 60, 1), nil, unknown},
		{"by its time", plain, ghost(history.Unknown, 10, 9), nil, unknown},
		{"until it ended", plain, ghost(history.Unknown, 30, 9), nil, unknown},
		{"after it", plain, ghost(history.Unknown, 31, 9), nil, ""},
		{"before it", plain, ghost(history.Unknown, 9, 9), nil, ""},
		{"answered", plain, ghost(history.No, 20, 1), nil, ""},
		{"of a broken lock", broken, ghost(history.Unknown, 20, 1), nil, unknown},
	})
}

// TestSlowHosts: an operation that did not return is excused by a host that stalled for a quarter of its time.
func TestSlowHosts(t *testing.T) {
	hung := func(to int) func(*made) checker.Anomaly {
		return func(m *made) checker.Anomaly {
			i := m.call(100, "C1", history.OpRelease, 1)
			m.add(to, history.Event{Kind: history.KindFault, Detail: &history.Detail{
				Value: int64(100 * ms), Bound: time.Duration(to-100) * ms, Fault: &history.Fault{Name: "stall", Target: "machine", Phase: history.PhaseRecover},
			}})
			return anomaly(checker.HungOperation, 900, []int{i}, "C1")
		}
	}
	// Each of eight commands of another client, a millisecond on the server, took so long with its state probes.
	probes := func(asked time.Duration) func(*made) checker.Anomaly {
		return func(m *made) checker.Anomaly {
			i := m.call(100, "C1", history.OpRelease, 1)
			for n := range 8 {
				m.send(150+100*n, 151+100*n, "C2", 2, history.Command{Asked: asked})
			}
			return anomaly(checker.HungOperation, 900, []int{i}, "C1")
		}
	}
	testExcuses(t, []excuseCase{
		{"a quarter", plain, hung(300), nil, "C1's release was hindered for 200ms (the host stalled)"},
		{"less", plain, hung(299), nil, ""},
		{"the lab's own state probes", plain, probes(26 * ms), nil, "C1's release was hindered for 208ms (the host was slow)"},
		{"probes that were quick", plain, probes(25 * ms), nil, ""},
	})
}

// TestReconnecting: an operation in a session is excused whose client had no connection yet after a fault, for a lease at most.
func TestReconnecting(t *testing.T) {
	hung := func(session bool, called int, others ...func(*made)) func(*made) checker.Anomaly {
		return func(m *made) checker.Anomaly {
			m.session = session
			m.interval(50, 90, "C1", "reply-lost")
			i := m.call(called, "C1", history.OpRelease, 1)
			for _, other := range others {
				other(m)
			}
			return anomaly(checker.HungOperation, 3000, []int{i}, "C1")
		}
	}
	arrives := func(at int, client string, args ...string) func(*made) {
		return func(m *made) { m.send(at, at, client, 0, history.Command{Args: args}) }
	}
	const excuse = "C1's connection was broken at 0.050s (reply-lost), and it had no other yet"
	testExcuses(t, []excuseCase{
		{"no connection", plain, hung(true, 100), nil, excuse},
		{"for a lease", plain, hung(true, 1090), nil, excuse},
		{"for longer", plain, hung(true, 1091), nil, ""},
		{"a lock without a session", plain, hung(false, 100), nil, ""},
		{"called before the fault", plain, hung(true, 50), nil, ""},
		{"connected before the call", plain, hung(true, 100, arrives(95, "C1", "PING")), nil, ""},
		{"connected after it", plain, hung(true, 100, arrives(2000, "C1", "DELETE")), nil, ""},
		{"another client", plain, hung(true, 100, arrives(95, "C2", "PING")), nil, excuse},
		{"before its end", plain, hung(true, 100, arrives(90, "C1", "DELETE")), nil, excuse},
		{"the end of its session", plain, hung(true, 100, arrives(1000, "C1", "EXPIRED")), nil, excuse},
		{"its node has become the first", plain, hung(true, 100, arrives(1000, "C1", "FIRST")), nil, excuse},
	})
}

// TestAnswers: an answer belongs to the operation of its number; what a crash ended stays ended; only what is open is ended.
func TestAnswers(t *testing.T) {
	m := &made{}
	m.call(10, "C1", history.OpAcquire, 1)
	m.call(11, "C1", history.OpRelease, 2)
	m.back(20, "C1", history.OpAcquire, 1, history.OK)
	m.exit(30, "C1")
	m.back(40, "C1", history.OpRelease, 2, history.OK)
	r := m.record()
	require.Equal(t, 20*ms, r.acquires["C1"][0].ended)
	require.Equal(t, history.OK, r.acquires["C1"][0].outcome)
	require.Equal(t, 30*ms, r.releases["C1"][0].ended)
	require.Equal(t, history.Unknown, r.releases["C1"][0].outcome)
	require.Equal(t, 10*ms, r.began)
	require.Len(t, r.returns, 2)
}

// TestIntervals: a fault ends what is in effect of it, and nothing else.
func TestIntervals(t *testing.T) {
	m := &made{}
	m.fault(1, "C1", "partition effective")
	m.interval(2, 3, "C1", "pause")
	m.interval(4, 5, "C1", "pause")
	m.fault(6, "C1", "partition recover")
	var got []string
	for _, i := range m.record().faults.hindrances["C1"] {
		got = append(got, fmt.Sprint(i.what, " ", i.from, " ", i.to))
	}
	require.Equal(t, []string{"partition 1ms 6ms", "pause 2ms 3ms", "pause 4ms 5ms"}, got)
}

// TestEffects: each fault counts once, when it takes effect; a hold that its client's crash meets is one fault with the crash, as is one under which links are disturbed.
func TestEffects(t *testing.T) {
	for name, c := range map[string]struct {
		make func(m *made)
		want int
	}{
		"a pause":            {func(m *made) { m.interval(1, 2, "C1", "pause") }, 1},
		"two pauses":         {func(m *made) { m.interval(1, 2, "C1", "pause"); m.interval(3, 4, "C1", "pause") }, 2},
		"two faults at once": {func(m *made) { m.fault(1, "C1", "delay effective"); m.fault(2, "C1", "pause effective") }, 2},
		"no effect":          {func(m *made) { m.fault(1, "C1", "pause inject"); m.fault(2, "C1", "pause recover") }, 0},
		"twice effective":    {func(m *made) { m.fault(1, "C1", "pause effective"); m.fault(2, "C1", "pause effective") }, 1},
		"a restart":          {func(m *made) { m.fault(1, "redis", "restart inject"); m.fault(2, "redis", "restart effective") }, 1},
		"a clock": {func(m *made) {
			m.fault(1, "C1", "skew inject offset 2s, rate 1")
			m.fault(2, "C1", "skew effective offset 2s, rate 1")
		}, 1},
		"a clock that is right": {func(m *made) { m.fault(2, "C1", "skew effective "+faults.RightClock) }, 0},
		"a crash":               {func(m *made) { m.fault(1, "C1", "crash inject"); m.fault(2, "C1", "crash effective") }, 1},
		"a crash of what is held": {func(m *made) {
			m.fault(1, "C1.b", "hold-reply effective")
			m.fault(2, "C1", "crash inject")
			m.exit(3, "C1.b")
			m.fault(4, "C1", "crash effective")
		}, 1},
		"a crash after a hold": {func(m *made) {
			m.fault(1, "C1", "hold effective")
			m.fault(2, "C1", "hold recover")
			m.fault(3, "C1", "crash inject")
			m.fault(4, "C1", "crash effective")
		}, 2},
		"a crash while another is held": {func(m *made) {
			m.fault(1, "C2", "hold effective")
			m.fault(2, "C1", "crash inject")
			m.fault(3, "C1", "crash effective")
		}, 2},
		"a crash under another fault": {func(m *made) {
			m.fault(1, "C1", "partition effective")
			m.fault(2, "C1", "crash inject")
			m.fault(3, "C1", "crash effective")
		}, 2},
		"links disturbed under what is held": {func(m *made) {
			m.fault(1, "C1.b", "hold effective")
			m.fault(2, "C1", "reply-lost inject")
			m.fault(3, "C1", "reply-lost effective")
			m.fault(4, "C1.b", "hold recover")
		}, 1},
		"links disturbed after a hold": {func(m *made) {
			m.fault(1, "C1.b", "hold effective")
			m.fault(2, "C1.b", "hold recover")
			m.fault(3, "C1", "reply-lost inject")
			m.fault(4, "C1", "reply-lost effective")
		}, 2},
		"a crash of one that comes back": {func(m *made) {
			m.fault(1, "C1", "hold effective")
			m.fault(2, "C1", "crash inject")
			m.exit(3, "C1")
			m.fault(4, "C1-2", "crash inject")
			m.fault(5, "C1-2", "crash effective")
		}, 2},
		"a duplicate": {func(m *made) { m.fault(1, "C1", "duplicate effective") }, 1},
		"a history of somebody else's": {func(m *made) {
			m.add(1, history.Event{Kind: history.KindFault})
			m.add(1, history.Event{Kind: history.KindFault, Detail: &history.Detail{}})
			m.add(1, history.Event{Kind: history.KindCommand, Detail: &history.Detail{}})
		}, 0},
	} {
		m := &made{}
		c.make(m)
		require.Equal(t, c.want, m.record().effects, name)
	}
}

// TestShorten keeps eight of each sort, first those that break a promise, and of each sort the first.
func TestShorten(t *testing.T) {
	var all []checker.Anomaly
	for i := range 10 {
		for _, name := range []checker.Name{checker.DoubleHolder, checker.StaleWrite} {
			for _, beyond := range []string{"x", ""} {
				all = append(all, checker.Anomaly{Name: name, Beyond: beyond, At: time.Duration(i)})
			}
		}
	}
	kept := shorten(all)
	require.Len(t, kept, 4*maxPerName)
	for i, a := range kept {
		require.Equal(t, i >= 2*maxPerName, a.Beyond != "", i)
		require.Equal(t, time.Duration(i%(2*maxPerName)/2), a.At, i)
	}
}

// TestSeen: when anomalies of each sort were seen, those included that are not kept; one in a tenth of a second stands for all.
func TestSeen(t *testing.T) {
	var all []checker.Anomaly
	for _, at := range []time.Duration{500, 120, 150, 199, 200, 500} {
		all = append(all, checker.Anomaly{Name: checker.DoubleHolder, At: at * ms})
	}
	all = append(all, checker.Anomaly{Name: checker.DoubleHolder, Beyond: "x", At: 130 * ms}, checker.Anomaly{Name: checker.StaleWrite, At: 7 * ms})
	require.Equal(t, []record.Seen{
		{Name: checker.DoubleHolder, At: []int64{120, 200, 500}},
		{Name: checker.DoubleHolder, Beyond: true, At: []int64{130}},
		{Name: checker.StaleWrite, At: []int64{7}},
	}, seen(all))
}

// TestFirst: after how long, and at which answer, the first promise was broken.
func TestFirst(t *testing.T) {
	m := &made{}
	m.acquires(100, 110, 120, "C1", 1, history.OK)
	m.acquires(200, 210, 220, "C2", 2, history.OK)
	excused, double, early := anomaly(checker.StaleWrite, 130, []int{1}, "C1"), anomaly(checker.DoubleHolder, 220, []int{2, 5}, "C1"),
		anomaly(checker.DoubleHolder, 210, []int{1, 2}, "C1")
	excused.Beyond = "x"
	r := m.record(&excused, &double, &early)
	require.Nil(t, r.first([]checker.Anomaly{excused}))
	require.Equal(t, &record.First{Name: checker.DoubleHolder, After: 120 * ms, Operation: 2}, r.first([]checker.Anomaly{excused, double}))
	require.Equal(t, 1, r.first([]checker.Anomaly{early}).Operation)
}
