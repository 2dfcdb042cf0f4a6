package story

import (
	"slices"

	"github.com/locklab/locklab/checker"
)

// An anomaly follows from an earlier one of the same lock where the earlier one took away what the later one lacked: who writes without the lock has
// lost it to somebody; who gets it beside another got it after that one's had been removed, overwritten or ended.

// link says that one kind of anomaly follows from another if they concern the clients so: of each anomaly, clients are who did it first, then whom it hit.
type link struct {
	later, earlier checker.Name
	holds          func(later, earlier checker.Anomaly) bool
}

// links are tried in order: the nearest explanation first.
func links() []link {
	sameVictim := func(later, earlier checker.Anomaly) bool { return victim(later) == victim(earlier) }
	share := func(later, earlier checker.Anomaly) bool {
		return slices.ContainsFunc(later.Clients, func(c string) bool { return slices.Contains(earlier.Clients, c) })
	}
	same := func(later, earlier checker.Anomaly) bool { // two clients, whichever of them came first
		return doer(later) == doer(earlier) && victim(later) == victim(earlier) || doer(later) == victim(earlier) && victim(later) == doer(earlier)
	}
	always := func(checker.Anomaly, checker.Anomaly) bool { return true }
	lostBefore := func(later, earlier checker.Anomaly) bool { return doer(later) == victim(earlier) }
	return []link{
		{checker.LostUpdate, checker.StaleWrite, always},
		{checker.LostUpdate, checker.DoubleHolder, always},
		{checker.StaleWrite, checker.DoubleHolder, share},
		{checker.StaleWrite, checker.EarlyGrant, share},
		{checker.StaleWrite, checker.WrongfulDelete, lostBefore},
		{checker.DoubleHolder, checker.EarlyGrant, same},
		{checker.DoubleHolder, checker.WrongfulDelete, sameVictim},
		{checker.DoubleHolder, checker.Overwrite, sameVictim},
		{checker.DoubleHolder, checker.WrongfulRenew, share},
		{checker.EarlyGrant, checker.WrongfulDelete, sameVictim},
		{checker.EarlyGrant, checker.Overwrite, sameVictim},
		{checker.FenceRegression, checker.DoubleHolder, share},
		{checker.FenceRegression, checker.EarlyGrant, share},
		{checker.WrongfulDelete, checker.DoubleHolder, lostBefore},
		{checker.WrongfulDelete, checker.EarlyGrant, lostBefore},
		{checker.WrongfulDelete, checker.StaleWrite, lostBefore},
		{checker.WrongfulRenew, checker.DoubleHolder, lostBefore},
		{checker.Overwrite, checker.DoubleHolder, lostBefore},
		{checker.FalseAlarm, checker.Overwrite, lostBefore},
		{checker.FalseAlarm, checker.Unreleasable, share},
		{checker.Unreleasable, checker.Overwrite, share},
		{checker.Unreleasable, checker.WrongfulRenew, always},
		{checker.StuckLock, checker.GhostLock, always},
		{checker.StuckLock, checker.Unreleasable, always},
		{checker.StuckLock, checker.WrongfulRenew, always},
		{checker.StuckLock, checker.Overwrite, always},
		{checker.MissedWakeup, checker.GhostLock, always},
		{checker.HungOperation, checker.GhostLock, always},
		{checker.HungOperation, checker.Unreleasable, always},
	}
}

// chain finds what each anomaly follows from: the latest earlier one that explains it. Several losses of data have one cause.
func chain(anomalies []checker.Anomaly) []Symptom {
	symptoms := make([]Symptom, len(anomalies))
	for i, later := range anomalies {
		symptoms[i] = Symptom{Anomaly: later, Follows: -1}
		for _, l := range links() {
			if l.later != later.Name {
				continue
			}
			if n := explains(anomalies, i, l); n >= 0 {
				symptoms[i].Follows = n
				break
			}
		}
	}
	return symptoms
}

// explains is the latest anomaly by which a link explains anomaly i; negative: none.
func explains(anomalies []checker.Anomaly, i int, l link) int {
	later, latest := anomalies[i], -1
	for n, earlier := range anomalies {
		if n == i || earlier.Name != l.earlier || earlier.Lock != later.Lock && earlier.Lock != "" && later.Lock != "" || !l.holds(later, earlier) {
			continue
		}
		if after(anomalies, n, i) && earlier.Name != checker.GhostLock { // which is seen only when somebody is refused
			continue
		}
		if latest < 0 || earlier.At >= anomalies[latest].At {
			latest = n
		}
	}
	return latest
}

// after says whether one anomaly came after another: of those of one time, by the last event that shows them, since a counterexample's steps may all have the same time.
func after(anomalies []checker.Anomaly, one, other int) bool {
	a, b := anomalies[one], anomalies[other]
	if a.At != b.At {
		return a.At > b.At
	}
	if len(a.Events) > 0 && len(b.Events) > 0 && slices.Max(a.Events) != slices.Max(b.Events) {
		return slices.Max(a.Events) > slices.Max(b.Events)
	}
	return one > other
}

// doer is who did it.
func doer(a checker.Anomaly) string {
	if len(a.Clients) == 0 {
		return ""
	}
	return a.Clients[0]
}

// victim is whom it hit; empty: nobody.
func victim(a checker.Anomaly) string {
	if len(a.Clients) < 2 {
		return ""
	}
	return a.Clients[1]
}
