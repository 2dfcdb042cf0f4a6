package storm

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/locklab/locklab/checker"
	"github.com/locklab/locklab/faults"
	"github.com/locklab/locklab/history"
	"github.com/locklab/locklab/impls"
)

// TestOpaquePlans: where nobody reads what clients send, no fault waits for a request, or for a server's grant. All that is possible strikes.
func TestOpaquePlans(t *testing.T) {
	params := Params{Seed: 1, Clients: 5, For: 10 * time.Minute, Lease: time.Second, Faults: Kinds(), Opaque: true}
	struck := map[faults.Kind]bool{}
	for _, s := range New(params).Strikes {
		struck[s.Kind] = true
		require.Empty(t, s.Breakpoints)
		require.False(t, s.Late)
		require.NotEqual(t, string(Taker), s.Client)
	}
	for _, kind := range Kinds() {
		require.Equal(t, params.Lacks(kind) == "", struck[kind], kind)
	}
	require.NotEmpty(t, params.Lacks(faults.HoldRequest))
	require.Empty(t, params.Lacks(faults.Restart))
}

// unread lets C1 acquire at 1000 ms, and C2 at the given time, without any command on record.
func unread(m *made, at int) checker.Anomaly {
	m.opaque = true
	m.call(1000, "C1", history.OpAcquire, 1)
	m.back(1020, "C1", history.OpAcquire, 1, history.OK)
	m.call(at-20, "C2", history.OpAcquire, 2)
	i := m.back(at, "C2", history.OpAcquire, 2, history.OK)
	return anomaly(checker.DoubleHolder, at, []int{1, i}, "C2", "C1")
}

// TestUnreadLeases: a hold may outlive its lease. Nobody has seen when a lease was prolonged, so faults must have kept its client from that.
func TestUnreadLeases(t *testing.T) {
	with := func(at, from, to int, client, fault string) func(*made) checker.Anomaly {
		return func(m *made) checker.Anomaly {
			a := unread(m, at)
			m.interval(from, to, client, fault)
			return a
		}
	}
	telling := renewing.with(impls.KnowsLoss)
	waitsFor := func(from, to int, name checker.Name, called int, hindered string, clients ...string) func(*made) checker.Anomaly {
		return func(m *made) checker.Anomaly {
			m.opaque = true
			m.call(1000, "C1", history.OpAcquire, 1)
			m.call(called, "C2", history.OpAcquire, 2)
			m.back(1020, "C1", history.OpAcquire, 1, history.OK)
			i := m.back(5000, "C2", history.OpAcquire, 2, history.OK)
			m.interval(from, to, hindered, "pause")
			return anomaly(name, 5000, []int{0, i}, clients...)
		}
	}
	waits := func(name checker.Name, called int, hindered string, clients ...string) func(*made) checker.Anomaly {
		return waitsFor(3000, 4000, name, called, hindered, clients...)
	}
	testExcuses(t, []excuseCase{
		{"no command is no other server", plain, func(m *made) checker.Anomaly { return unread(m, 1500) }, nil, ""},
		{"a lease that nobody renews", plain, func(m *made) checker.Anomaly { return unread(m, 2000) }, nil, "C1's lease had begun 1s before, and was over"},
		{"without a lease", plain, func(m *made) checker.Anomaly { m.leaseless = true; return unread(m, 5000) }, nil, ""},
		{"renewed", renewing, func(m *made) checker.Anomaly { return unread(m, 5000) }, nil, ""},
		{"renewed, and it tells", telling, func(m *made) checker.Anomaly { return unread(m, 5000) }, nil, ""},
		{"of a session that is older than the hold", telling, with(1800, 1100, 1600, "C1", "pause"), nil, "C1 was hindered for 500ms of its lease (pause)"},
		{"half of it before the hold", telling, with(1800, 850, 1350, "C1", "partition"), nil, "C1 was hindered for 500ms of its lease (partition)"},
		{"a lease before", telling, with(1800, 400, 900, "C1", "pause"), nil, ""},
		{"a lease that nobody renews does not begin before", plain, with(1800, 1100, 1600, "C1", "pause"), nil, ""},
		{"it is paused", telling, with(5000, 3000, 3500, "C1", "pause"), nil, "C1 was hindered for 500ms of its lease (pause)"},
		{"not for long enough", telling, with(5000, 3000, 3499, "C1", "pause"), nil, ""},
		{"another is", telling, with(5000, 3000, 4900, "C3", "pause"), nil, ""},
		{"before its hold", telling, with(5000, 200, 1000, "C1", "pause"), nil, ""},
		{"one that waits while another has the lock", telling, waits(checker.DoubleHolder, 1021, "C2", "C2", "C1"), nil, ""},
		{"a pause that was over a lease before the grant", telling, waits(checker.DoubleHolder, 1020, "C2", "C2", "C1"), nil, ""},
		{"one that may have been granted it before", telling, waitsFor(3000, 4500, checker.DoubleHolder, 1020, "C2", "C2", "C1"), nil,
			"C2 was hindered for 500ms of its lease (pause)"},
		{"a lock that does not renew, and was granted late", plain, waitsFor(4500, 4750, checker.DoubleHolder, 1020, "C2", "C2", "C9"), nil, ""},
		{"a lock that tells in time, and was granted late", telling.with(impls.ToldInTime), waitsFor(3000, 3900, checker.DoubleHolder, 1020, "C2", "C2", "C1"), nil, ""},
		{"the one that has the lock, while another waits", telling, waits(checker.DoubleHolder, 1021, "C1", "C2", "C1"), nil,
			"C1 was hindered for 1s of its lease (pause)"},
		{"the one that writes", telling, waits(checker.StaleWrite, 1010, "C1", "C1", "C2"), nil, "C1 was hindered for 1s of its lease (pause)"},
		{"not the one whose lock it is then", telling, waits(checker.StaleWrite, 1010, "C2", "C1", "C2"), nil, ""},
		{"one that waits, of a lock that tells in time", telling.with(impls.ToldInTime), func(m *made) checker.Anomaly {
			a := waits(checker.DoubleHolder, 1021, "C3", "C2", "C1")(m)
			m.interval(4100, 4900, "C2", "pause")
			return a
		}, nil, ""},
	})
}

// TestBrokenConnections: a lock that ends with its connection is excused from the fault on that ends one.
func TestBrokenConnections(t *testing.T) {
	bound := Contract{Promises: plain.Promises, Contract: history.Contract{EndsWithConnection: true}}
	with := func(name checker.Name, client, fault string, from, to int) func(*made) checker.Anomaly {
		return func(m *made) checker.Anomaly {
			m.leaseless = true
			a := unread(m, 1500)
			if a.Name = name; name == checker.StaleWrite { // the one that writes comes first
				slices.Reverse(a.Clients)
			}
			m.interval(from, to, client, fault)
			return a
		}
	}
	const refused = "C1's connections were broken at 1.100s (refuse)"
	killed := func(exit int) func(*made) checker.Anomaly {
		return func(m *made) checker.Anomaly {
			a := unread(m, 1500)
			m.fault(1400, "C1", "crash inject")
			m.exit(exit, "C1")
			return a
		}
	}
	testExcuses(t, []excuseCase{
		{"refused", bound, with(checker.DoubleHolder, "C1", "refuse", 1100, 1200), nil, refused},
		{"what it writes then", bound, with(checker.StaleWrite, "C1", "refuse", 1100, 1200), nil, refused},
		{"and loses", bound, with(checker.LostUpdate, "C1", "refuse", 1100, 1200), nil, refused},
		{"a reply is lost", bound, with(checker.DoubleHolder, "C1", "reply-lost", 1100, 1200), nil, "C1's connections were broken at 1.100s (reply-lost)"},
		{"killed, and not seen to be gone yet", bound, killed(1510), nil, "C1's connections were broken at 1.400s (crash)"},
		{"a pause breaks none", bound, with(checker.DoubleHolder, "C1", "pause", 1100, 1400), nil, ""},
		{"nor does a partition", bound, with(checker.DoubleHolder, "C1", "partition", 1100, 1400), nil, ""},
		{"before the grant", bound, with(checker.DoubleHolder, "C1", "refuse", 500, 1010), nil, ""},
		{"after the anomaly", bound, with(checker.DoubleHolder, "C1", "refuse", 1500, 1600), nil, ""},
		{"another client's", bound, with(checker.DoubleHolder, "C3", "refuse", 1100, 1200), nil, ""},
		{"a lock with a lease", plain, with(checker.DoubleHolder, "C1", "refuse", 1100, 1200), nil, ""},
		{"a fence", bound, with(checker.FenceRegression, "C1", "refuse", 1100, 1200), nil, "the lock does not promise \"hands out growing fences\""},
	})
}
