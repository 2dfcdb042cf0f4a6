package checker

import (
	"github.com/locklab/locklab/history"
	"github.com/locklab/locklab/internal/timeline"
)

// Holder is a client that holds a lock.
type Holder struct{ Client, Lock string }

// HoldersByMonitors are the holders after each event, as the monitors know them.
func HoldersByMonitors(events []history.Event) [][]Holder {
	v := timeline.NewCursor()
	all := make([][]Holder, len(events))
	for i := range events {
		v.Step(i, &events[i], func(*timeline.Fact) {})
		for lock, k := range v.Locks {
			for client, h := range k.Holds {
				if h.Active(events[i].At) {
					all[i] = append(all[i], Holder{v.Clients.Name(client), v.LockNames.Name(lock)})
				}
			}
		}
	}
	return all
}

// HoldersBySecondJudge are the holders after each event, as porcupine's reader has read them.
func HoldersBySecondJudge(events []history.Event) [][]Holder {
	all := make([][]Holder, len(events))
	for _, lock := range mutexHistories(events) {
		for _, s := range lock.spans {
			for i := int(s.got / 2); i < len(events) && at(i) < s.end; i++ {
				all[i] = append(all[i], Holder{events[s.got/2].Client, lock.name})
			}
		}
	}
	return all
}

// mutexHistories reads the holds of each lock, in the order in which the locks appear.
func mutexHistories(events []history.Event) []*mutexHistory {
	locks, _ := lockHistories(events, false)
	return locks
}

// ReadStory reads a history of testdata.
var ReadStory = readStory
