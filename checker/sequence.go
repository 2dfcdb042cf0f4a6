package checker

import (
	"fmt"
	"strings"

	"github.com/locklab/locklab/history"
	"github.com/locklab/locklab/internal/timeline"
)

// sequence is how the data of a workload is read as a number that grows by one with each update: the counter itself, the number of
// items sold of a stock, the number of the last entry of a ledger. The zero sequence is the counter.
type sequence struct {
	work  history.Workload
	stock int64 // at the beginning of a sale; zero: nothing is sold
}

// sequenceOf is what an open says of the work. ok is false for work whose data is no sequence.
func sequenceOf(w *history.Work) (s sequence, ok bool) {
	if w == nil {
		return sequence{}, true
	}
	s.work = w.Workload
	switch w.Workload {
	case history.Counter, history.Ledger:
		return s, true
	case history.Stock, history.FlashSale, history.FlashSaleStore:
		s.stock, ok = wholeNumber(w.Find("stock"))
		return s, ok
	}
	return s, false
}

// wholeNumber reads values of which there should be one.
func wholeNumber(values []string) (int64, bool) {
	if len(values) != 1 {
		return 0, false
	}
	return counted(values[0])
}

// falls says whether the number that clients read and write is a stock, which falls as the sequence grows.
func (s sequence) falls() bool { return s.work == history.Stock || s.work == history.FlashSaleStore }

// turned is a number of the sequence as clients see it, or the other way round.
func (s sequence) turned(n int64) int64 {
	if s.falls() {
		return s.stock - n
	}
	return n
}

// note takes in a command of the operation.
func (s sequence) note(w *wire, c *history.Command) {
	switch {
	case s.falls():
		s.noteStock(w, c)
	case s.work == history.Ledger:
		noteEntry(w, c)
	default:
		w.note(c)
	}
}

// noteStock reads GET and SET of the stock. Of the two places of a stock, the database is the one that counts.
func (s sequence) noteStock(w *wire, c *history.Command) {
	if !timeline.Answered(c) {
		return
	}
	switch name := strings.ToUpper(c.Args[0]); {
	case name == "GET":
		w.seen, w.hasSeen = counted(c.Reply)
		w.seen = s.turned(w.seen)
	case name == "SET" && len(c.Args) > 2 && s.counts(c.Args[1]):
		w.got, w.hasGot = w.seen, w.hasSeen
		w.put, w.hasPut = counted(c.Args[2])
		w.put, w.wrote = s.turned(w.put), true
	case name != "SET" && name != "INCR" && timeline.AcceptedWrite(c):
		w.hasGot, w.hasPut, w.wrote = false, false, true
	}
}

// counts says whether the number under a key is the stock that counts.
func (s sequence) counts(key string) bool {
	if s.work == history.Stock {
		return strings.HasSuffix(key, ":database")
	}
	return strings.HasSuffix(key, ":stock")
}

// noteEntry reads LINDEX and RPUSH of entries.
func noteEntry(w *wire, c *history.Command) {
	if !timeline.Answered(c) {
		return
	}
	switch name := strings.ToUpper(c.Args[0]); {
	case name == "LINDEX":
		w.seen, _, w.hasSeen = entry(c.Reply)
		w.hasSeen = w.hasSeen || c.Reply == "nil" // there is none yet
	case name == "RPUSH" && len(c.Args) == 3:
		w.put, w.got, w.hasPut = entry(c.Args[2])
		w.hasGot, w.wrote = w.hasPut, true
		if w.hasSeen {
			w.got = w.seen
		}
	case timeline.AcceptedWrite(c):
		w.hasGot, w.hasPut, w.wrote = false, false, true
	}
}

// entry reads "4 after 3 by C1".
func entry(text string) (number, after int64, ok bool) {
	_, err := fmt.Sscanf(text, "%d after %d by ", &number, &after)
	return number, after, err == nil
}

// read says which number the update that e acknowledges has replaced by the next one; see wire.read.
func (s sequence) read(w *wire, e *history.Event, wired bool) (int64, bool) {
	if !s.falls() || w.hasPut || e.Detail == nil {
		return w.read(e, wired)
	}
	turned := *e
	turned.Detail = &history.Detail{Read: s.turned(e.Detail.Read), Wrote: s.turned(e.Detail.Wrote)}
	return w.read(&turned, wired)
}

// bothRead says that two updates have replaced the same number.
func (s sequence) bothRead(other, mine string, read int64, at, then string) string {
	if s.work == history.Ledger {
		return fmt.Sprintf("%s and %s both wrote an entry %d after entry %d (acknowledged at %s and %s): the ledger forks.",
			other, mine, read+1, read, at, then)
	}
	return fmt.Sprintf("%s and %s both read %d and wrote %d (acknowledged at %s and %s): one of the two %s is lost.",
		other, mine, s.turned(read), s.turned(read+1), at, then, s.updates())
}

// readTooOld says that an update has read what an earlier one had replaced.
func (s sequence) readTooOld(mine string, read int64, at, other string, theirs int64, then string) string {
	if s.work == history.Ledger {
		return fmt.Sprintf("%s wrote its entry after entry %d at %s, although %s's entry %d had been acknowledged at %s.",
			mine, read, at, other, theirs, then)
	}
	return fmt.Sprintf("%s read %d at %s, although %s's update to %d had been acknowledged at %s.",
		mine, s.turned(read), at, other, s.turned(theirs), then)
}

// tooFew says that the end shows fewer updates than were acknowledged.
func (s sequence) tooFew(acks, end int64) string {
	switch {
	case s.falls():
		return fmt.Sprintf("%d sales were acknowledged, and the stock went from %d to %d.", acks, s.stock, s.turned(end))
	case s.work == history.FlashSale:
		return fmt.Sprintf("%d sales were acknowledged, and %d were counted.", acks, end)
	case s.work == history.Ledger:
		return fmt.Sprintf("%d entries were acknowledged, and the ledger ended with %d.", acks, end)
	}
	return fmt.Sprintf("%d updates were acknowledged, and the counter ended at %d.", acks, end)
}

// tooLow says that the end does not have an acknowledged update.
func (s sequence) tooLow(end int64, whose string, wrote int64, at string) string {
	thing := "counter"
	switch {
	case s.falls():
		thing = "stock"
	case s.work == history.Ledger:
		return fmt.Sprintf("The ledger ended with %d entries, although %s's entry %d had been acknowledged at %s.", end, whose, wrote, at)
	}
	return fmt.Sprintf("The %s ended at %d, although %s's update to %d had been acknowledged at %s.", thing, s.turned(end), whose, s.turned(wrote), at)
}

func (s sequence) updates() string {
	if s.stock > 0 {
		return "sales"
	}
	return "updates"
}

// oversold says that more was sold than there was.
func (s sequence) oversold(sold int64) string {
	return fmt.Sprintf("The stock was %d, and %d were sold: oversold by %d.", s.stock, sold, sold-s.stock)
}
