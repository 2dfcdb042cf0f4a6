package storm

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/locklab/locklab/history"
	"github.com/locklab/locklab/internal/timeline"
)

// disturbances are the faults of a history by what they hit, and when the host was slow.
type disturbances struct {
	hindrances map[string][]faultInterval // what keeps a client or process from going on; by "" the host, by anyClient what hinders all
	clocks     map[string][]faultInterval // by process
	servers    []faultInterval
}

// faultInterval is a time during which a fault was in effect.
type faultInterval struct {
	what      string
	from, to  time.Duration
	effective bool // it was seen to take effect
}

const forever = timeline.Never

// anyClient is the target of a fault that hinders all clients.
const anyClient = "*"

// withoutHost are the disturbances as they would be if the host had neither stalled nor been slow.
func (d disturbances) withoutHost() disturbances {
	d.hindrances = maps.Clone(d.hindrances)
	delete(d.hindrances, "")
	return d
}

// hinder notes what keeps a client from the server. A fault of its links to several servers is one fault, which counts once.
func (d disturbances) hinder(target string, s faultInterval, effective bool) (counts bool) {
	all := d.hindrances[target]
	on := slices.IndexFunc(all, func(o faultInterval) bool { return o.what == s.what && o.to > s.from })
	if on < 0 {
		s.effective = effective
		d.hindrances[target] = append(all, s)
		return effective
	}
	counts = effective && !all[on].effective
	all[on].effective = all[on].effective || effective
	all[on].to = max(all[on].to, s.to)
	return counts
}

// server is a fault of a server that ended leases on it.
func (d disturbances) server(from, to time.Duration) string {
	for _, s := range d.servers {
		if s.from <= to && s.to >= from {
			return fmt.Sprintf("the server's %s at %.3fs", s.what, s.from.Seconds())
		}
	}
	return ""
}

// clock names a client whose clock was changed, or was wrong, between two times.
func (d disturbances) clock(clients []string, from, to time.Duration) string {
	for _, client := range clients {
		for _, s := range d.clocks[history.ProcessOf(client)] {
			if s.from <= to && s.to >= from {
				return client
			}
		}
	}
	return ""
}

// hindered is for how long a fault kept a client, its process or the whole host from going on, and which fault did most of it.
func (d disturbances) hindered(client string, from, to time.Duration) (total time.Duration, what string) {
	return lasted(slices.Concat(d.of(client), d.hindrances[""]), from, to)
}

// faulty is the same without the host.
func (d disturbances) faulty(client string, from, to time.Duration) time.Duration {
	total, _ := lasted(d.of(client), from, to)
	return total
}

// byHost is for how long the host kept a client from going on while no fault did.
func (d disturbances) byHost(client string, from, to time.Duration) time.Duration {
	total, _ := d.hindered(client, from, to)
	return total - d.faulty(client, from, to)
}

// of are the faults of a client, of its process, and of servers on which it waits.
func (d disturbances) of(client string) []faultInterval {
	all := slices.Concat(d.hindrances[client], d.hindrances[anyClient])
	if process := history.ProcessOf(client); process != client {
		all = append(all, d.hindrances[process]...)
	}
	return all
}

// lasted is for how long at least one of the intervals lasted between two times, and the one that did most of it. It sorts them.
func lasted(intervals []faultInterval, from, to time.Duration) (total time.Duration, what string) {
	slices.SortFunc(intervals, func(a, b faultInterval) int { return cmp.Compare(a.from, b.from) })
	var longest time.Duration
	for _, s := range intervals {
		begin, end := max(s.from, from), min(s.to, to)
		if end-begin > longest {
			longest, what = end-begin, s.what
		}
		if end > begin {
			total += end - begin
			from = end
		}
	}
	return total, what
}
