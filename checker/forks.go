package checker

import (
	"fmt"

	"github.com/locklab/locklab/checker/internal/resource"
	"github.com/locklab/locklab/history"
	"github.com/locklab/locklab/internal/timeline"
)

// forks judges a ledger as it was found at the end: each entry must have the next number, and name the one before it.
func (c *counter) forks(f *timeline.Fact, v *timeline.Cursor) []Anomaly {
	if c.Work != history.Ledger || f.Event.Detail == nil {
		return nil
	}
	why := forkWords(f.Event.Detail.Work.Find("entries"))
	if why == "" {
		return nil
	}
	var clients []string
	events := []int{f.Index}
	if c.last.event != 0 {
		clients, events = []string{v.Clients.Name(c.last.client)}, inOrder(c.last.event, f.Index)
	}
	return []Anomaly{{Name: LostUpdate, Lock: v.LockNames.Name(f.Lock), Clients: clients, At: f.Event.At, Why: why, Events: events}}
}

// forkWords says the first entry that does not follow the one before it; "" if all do.
func forkWords(entries []string) string {
	for n, text := range entries {
		number, after, ok := resource.Entry(text)
		switch place := int64(n + 1); {
		case !ok:
			return fmt.Sprintf("In place %d of the ledger stands %q, which is no entry.", place, text)
		case number == place && after == place-1:
		case number > place || after > place-1:
			return fmt.Sprintf("In place %d of the ledger stands %q: there is a gap before it.", place, text)
		default:
			return fmt.Sprintf("In place %d of the ledger stands %q, beside %q: the ledger forks.", place, text, entryNumber(entries[:n], number))
		}
	}
	return ""
}

// entryNumber is the entry with a number, or the last one.
func entryNumber(entries []string, number int64) string {
	for _, text := range entries {
		if n, _, ok := resource.Entry(text); ok && n == number {
			return text
		}
	}
	if len(entries) == 0 {
		return "nothing"
	}
	return entries[len(entries)-1]
}
