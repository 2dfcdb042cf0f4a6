package checker

import (
	"github.com/locklab/locklab/checker/internal/overlap"
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
	for _, lock := range overlap.Locks(events) {
		for _, s := range lock.Spans {
			for i := int(s.Got / 2); i < len(events) && overlap.At(i) < s.End; i++ {
				all[i] = append(all[i], Holder{events[s.Got/2].Client, lock.Name})
			}
		}
	}
	return all
}

// ReadStory reads a history of testdata.
var ReadStory = readStory
