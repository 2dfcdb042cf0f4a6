package resource

import (
	"fmt"
	"strings"

	"github.com/locklab/locklab/history"
	"github.com/locklab/locklab/internal/timeline"
)

// Sequence is how the data of a workload is read as a number that grows by one with each update: the counter itself, the number of
// items sold of a stock, the number of the last entry of a ledger. The zero sequence is the counter.
type Sequence struct {
	Work  history.Workload
	Stock int64 // at the beginning of a sale; zero: nothing is sold
}

// SequenceOf is what an open says of the work.
func SequenceOf(w *history.Work) (s Sequence) {
	if w != nil {
		s.Work = w.Workload
		s.Stock, _ = w.Stock()
	}
	return s
}

// Falls says whether the number that clients read and write is a stock, which falls as the sequence grows.
func (s Sequence) Falls() bool { return s.Work == history.Stock || s.Work == history.FlashSaleStore }

// Turned is a number of the sequence as clients see it, or the other way round.
func (s Sequence) Turned(n int64) int64 {
	if s.Falls() {
		return s.Stock - n
	}
	return n
}

// Note takes in a command of the operation.
func (s Sequence) Note(w *Wire, c *history.Command) {
	switch {
	case s.Falls():
		s.noteStock(w, c)
	case s.Work == history.Ledger:
		noteEntry(w, c)
	default:
		w.note(c)
	}
}

// noteStock reads GET and SET of the stock. Of the two places of a stock, the database is the one that counts.
func (s Sequence) noteStock(w *Wire, c *history.Command) {
	if !timeline.Answered(c) {
		return
	}
	switch name := strings.ToUpper(c.Args[0]); {
	case name == "GET":
		w.seen, w.hasSeen = counted(c.Reply)
		w.seen = s.Turned(w.seen)
	case name == "SET" && len(c.Args) > 2 && s.counts(c.Args[1]):
		w.got, w.hasGot = w.seen, w.hasSeen
		w.put, w.hasPut = counted(c.Args[2])
		w.put, w.wrote = s.Turned(w.put), true
	case name != "SET" && name != "INCR" && timeline.AcceptedWrite(c):
		w.hasGot, w.hasPut, w.wrote = false, false, true
	}
}

// counts says whether the number under a key is the stock that counts.
func (s Sequence) counts(key string) bool {
	if s.Work == history.Stock {
		return strings.HasSuffix(key, ":database")
	}
	return strings.HasSuffix(key, ":stock")
}

// noteEntry reads LINDEX and RPUSH of entries.
func noteEntry(w *Wire, c *history.Command) {
	if !timeline.Answered(c) {
		return
	}
	switch name := strings.ToUpper(c.Args[0]); {
	case name == "LINDEX":
		w.seen, _, w.hasSeen = Entry(c.Reply)
		w.hasSeen = w.hasSeen || c.Reply == "nil" // there is none yet
	case name == "RPUSH" && len(c.Args) == 3:
		w.put, w.got, w.hasPut = Entry(c.Args[2])
		w.hasGot, w.wrote = w.hasPut, true
		if w.hasSeen {
			w.got = w.seen
		}
	case timeline.AcceptedWrite(c):
		w.hasGot, w.hasPut, w.wrote = false, false, true
	}
}

// Entry reads "4 after 3 by C1".
func Entry(text string) (number, after int64, ok bool) {
	_, err := fmt.Sscanf(text, "%d after %d by ", &number, &after)
	return number, after, err == nil
}

// Read says which number the update that e acknowledges has replaced by the next one; see wire.read.
func (s Sequence) Read(w *Wire, e *history.Event, wired bool) (int64, bool) {
	if !s.Falls() || w.hasPut || e.Detail == nil {
		return w.read(e, wired)
	}
	turned := *e
	turned.Detail = &history.Detail{Read: s.Turned(e.Detail.Read), Wrote: s.Turned(e.Detail.Wrote)}
	return w.read(&turned, wired)
}

// BothRead says that two updates have replaced the same number.
func (s Sequence) BothRead(other, mine string, read int64, at, then string) string {
	if s.Work == history.Ledger {
		return fmt.Sprintf("%s and %s both wrote an entry %d after entry %d (acknowledged at %s and %s): the ledger forks.",
			other, mine, read+1, read, at, then)
	}
	return fmt.Sprintf("%s and %s both read %d and wrote %d (acknowledged at %s and %s): one of the two %s is lost.",
		other, mine, s.Turned(read), s.Turned(read+1), at, then, s.updates())
}

// ReadTooOld says that an update has read what an earlier one had replaced.
func (s Sequence) ReadTooOld(mine string, read int64, at, other string, theirs int64, then string) string {
	if s.Work == history.Ledger {
		return fmt.Sprintf("%s wrote its entry after entry %d at %s, although %s's entry %d had been acknowledged at %s.",
			mine, read, at, other, theirs, then)
	}
	return fmt.Sprintf("%s read %d at %s, although %s's update to %d had been acknowledged at %s.",
		mine, s.Turned(read), at, other, s.Turned(theirs), then)
}

// TooFew says that the end shows fewer updates than were acknowledged.
func (s Sequence) TooFew(acks, end int64) string {
	switch {
	case s.Falls():
		return fmt.Sprintf("%d sales were acknowledged, and the stock went from %d to %d.", acks, s.Stock, s.Turned(end))
	case s.Work == history.FlashSale:
		return fmt.Sprintf("%d sales were acknowledged, and %d were counted.", acks, end)
	case s.Work == history.Ledger:
		return fmt.Sprintf("%d entries were acknowledged, and the ledger ended with %d.", acks, end)
	}
	return fmt.Sprintf("%d updates were acknowledged, and the counter ended at %d.", acks, end)
}

// TooLow says that the end does not have an acknowledged update.
func (s Sequence) TooLow(end int64, whose string, wrote int64, at string) string {
	thing := "counter"
	switch {
	case s.Falls():
		thing = "stock"
	case s.Work == history.Ledger:
		return fmt.Sprintf("The ledger ended with %d entries, although %s's entry %d had been acknowledged at %s.", end, whose, wrote, at)
	}
	return fmt.Sprintf("The %s ended at %d, although %s's update to %d had been acknowledged at %s.", thing, s.Turned(end), whose, s.Turned(wrote), at)
}

func (s Sequence) updates() string {
	if s.Stock > 0 {
		return "sales"
	}
	return "updates"
}

// Oversold says that more was sold than there was.
func (s Sequence) Oversold(sold int64) string {
	return fmt.Sprintf("The stock was %d, and %d were sold: oversold by %d.", s.Stock, sold, sold-s.Stock)
}
