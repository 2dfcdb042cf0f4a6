package checker

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/locklab/locklab/checker/internal/resource"
	"github.com/locklab/locklab/history"
	"github.com/locklab/locklab/internal/timeline"
	"github.com/locklab/locklab/internal/timeline/ownership"
)

// market judges money and items that change hands. An update is lost when a trade replaces what an acknowledged trade has written
// between this one's reading and its writing: a sum of money, or an item's place. In the end no money may have come or gone, and
// each item must be in one place.
type market struct {
	begin   *history.Work
	written map[string][]writing // by key, or item
	trades  map[int64]*trading
	charges []lostTrade // for which the victim's acknowledgement is awaited
}

// writing is a write of something.
type writing struct {
	trade  int64
	client int
	event  int
	at     time.Duration
	value  string
}

// trading is a trade under way, or one that is over.
type trading struct {
	seen   map[string]sight
	queued [][]string // commands of a transaction
	acked  bool
}

// sight is when a trade has read a key.
type sight struct {
	event int
	at    time.Duration
}

// lostTrade is an anomaly that counts when its victim has been acknowledged.
type lostTrade struct {
	victim  int64
	anomaly Anomaly
}

func newMarket(begin *history.Work) *market {
	return &market{begin: begin, written: make(map[string][]writing), trades: make(map[int64]*trading)}
}

func (m *market) step(f *timeline.Fact, v *timeline.Cursor) []Anomaly {
	switch f.Event.Kind {
	case history.KindCall:
		m.trades[f.Op.ID] = &trading{seen: make(map[string]sight)}
	case history.KindCommand:
		if t := m.trades[f.Op.ID]; t != nil && f.Work && answeredOrQueued(f.Sent) {
			return m.command(t, f, v)
		}
	case history.KindReturn:
		return m.returned(f)
	case history.KindFinal:
		return m.final(f, v)
	}
	return nil
}

func answeredOrQueued(c *history.Command) bool {
	return timeline.Answered(c) || len(c.Args) > 0 && c.Reply == "QUEUED"
}

func (m *market) command(t *trading, f *timeline.Fact, v *timeline.Cursor) []Anomaly {
	c := f.Sent
	name := strings.ToUpper(c.Args[0])
	switch {
	case c.Reply == "QUEUED":
		t.queued = append(t.queued, slices.Clone(c.Args))
		return nil
	case name == "EXEC":
		queued := t.queued
		t.queued = nil
		if c.Reply == "nil" {
			clear(t.seen)
			return nil
		}
		return m.write(t, f, v, queued)
	case ownership.RunsScript(name):
		return m.write(t, f, v, resource.ComparedCommands(c.Args))
	case !timeline.ReadsOnly(name):
		return m.write(t, f, v, [][]string{c.Args})
	case len(c.Args) > 1 && name != "WATCH":
		t.seen[c.Args[1]] = sight{f.Index, f.Event.At}
	}
	return nil
}

// write takes in commands that were carried out in one step.
func (m *market) write(t *trading, f *timeline.Fact, v *timeline.Cursor, commands [][]string) (found []Anomaly) {
	for _, args := range commands {
		if len(args) < 3 {
			continue
		}
		thing, value := "", ""
		var seen sight
		switch strings.ToUpper(args[0]) {
		case "SET":
			thing, value, seen = args[1], args[2], t.seen[args[1]]
		case "HDEL":
			thing, value, seen = "item "+args[2], "bought", t.seen[args[1]]
		case "HSET":
			thing, value, seen = "item "+args[2], "listed", t.seen[strings.Join([]string{args[1], "items", history.ProcessOf(v.Clients.Name(f.Client))}, ":")]
		default:
			continue
		}
		now := writing{f.Op.ID, f.Client, f.Index, f.Event.At, value}
		before := m.written[thing]
		m.written[thing] = append(before, now)
		if seen.event != 0 {
			found = append(found, m.replaced(thing, before, seen, now, f, v)...)
		}
	}
	return found
}

// replaced charges a write with those that its trade had not seen, up to the latest one that was acknowledged.
func (m *market) replaced(thing string, before []writing, seen sight, now writing, f *timeline.Fact, v *timeline.Cursor) []Anomaly {
	for _, b := range slices.Backward(before) {
		if b.event <= seen.event || b.trade == now.trade {
			break
		}
		lost := lostTrade{b.trade, Anomaly{
			Name: LostUpdate, Lock: v.LockNames.Name(f.Lock), At: f.Event.At, Why: lostWords(thing, seen, b, now, v),
			Clients: []string{v.Clients.Name(now.client), v.Clients.Name(b.client)}, Events: inOrder(seen.event, b.event, f.Index),
		}}
		if victim := m.trades[b.trade]; victim != nil && victim.acked {
			return []Anomaly{lost.anomaly}
		}
		m.charges = append(m.charges, lost)
	}
	return nil
}

func lostWords(thing string, seen sight, before, now writing, v *timeline.Cursor) string {
	mine, other := v.Clients.Name(now.client), v.Clients.Name(before.client)
	if item, ok := strings.CutPrefix(thing, "item "); ok {
		return fmt.Sprintf("%s %s %s at %s by what it had read at %s, although %s had %s it at %s.",
			mine, now.value, item, seconds(now.at), seconds(seen.at), other, before.value, seconds(before.at))
	}
	whose := thing[strings.LastIndexByte(thing, ':')+1:]
	return fmt.Sprintf("%s set the money of %s to %s at %s by what it had read at %s; that %s had set it to %s at %s is lost.",
		mine, whose, now.value, seconds(now.at), seconds(seen.at), other, before.value, seconds(before.at))
}

func (m *market) returned(f *timeline.Fact) (found []Anomaly) {
	t := m.trades[f.Op.ID]
	if t == nil || f.Op.Outcome != history.OK {
		return nil
	}
	t.acked = true
	m.charges = slices.DeleteFunc(m.charges, func(c lostTrade) bool {
		if c.victim == f.Op.ID {
			found = append(found, c.anomaly)
		}
		return c.victim == f.Op.ID
	})
	return found
}

func (m *market) final(f *timeline.Fact, v *timeline.Cursor) (found []Anomaly) {
	if f.Event.Detail == nil || f.Event.Detail.Work == nil {
		return nil
	}
	for _, why := range marketWords(m.begin, f.Event.Detail.Work) {
		found = append(found, Anomaly{Name: LostUpdate, Lock: v.LockNames.Name(f.Lock), At: f.Event.At, Why: why, Events: []int{f.Index}})
	}
	return found
}

// marketWords says what cannot have become of a market.
func marketWords(begin, end *history.Work) []string {
	wrong := []string{moneyWords(money(begin), money(end)), debtWords(end), placeWords(places(begin), places(end))}
	return slices.DeleteFunc(wrong, func(why string) bool { return why == "" })
}

// debtWords names the clients that have paid more than they had.
func debtWords(end *history.Work) string {
	var debts []string
	for _, d := range end.Data {
		who, ok := strings.CutPrefix(d.Name, "money of ")
		if n, _ := resource.WholeNumber(d.Values); ok && n < 0 {
			debts = append(debts, fmt.Sprintf("%s has paid %d more than it had", who, -n))
		}
	}
	if debts == nil {
		return ""
	}
	return "In the end " + strings.Join(debts, " and ") + "."
}

// money is the sum of everybody's.
func money(w *history.Work) (sum int64) {
	for _, d := range w.Data {
		if strings.HasPrefix(d.Name, "money of ") {
			n, _ := resource.WholeNumber(d.Values)
			sum += n
		}
	}
	return sum
}

func moneyWords(before, after int64) string {
	switch {
	case after < before:
		return fmt.Sprintf("Together they had %d in the beginning and have %d in the end: %d are lost.", before, after, before-after)
	case after > before:
		return fmt.Sprintf("Together they had %d in the beginning and have %d in the end: %d came from nowhere.", before, after, after-before)
	}
	return ""
}

// places says for each item where it is: with whom, or listed by whom.
func places(w *history.Work) map[string][]string {
	at := make(map[string][]string)
	for _, d := range w.Data {
		owner, ok := strings.CutPrefix(d.Name, "items of ")
		for _, value := range d.Values {
			words := strings.Fields(value)
			switch {
			case ok:
				at[value] = append(at[value], owner)
			case d.Name == "market" && len(words) == 3: // "item-1 C2 10"
				at[words[0]] = append(at[words[0]], "the market")
			}
		}
	}
	return at
}

// maxItems bounds how many items a message names.
const maxItems = 3

func placeWords(before, after map[string][]string) string {
	var wrong []string
	for item := range before {
		switch where := after[item]; len(where) {
		case 1:
		case 0:
			wrong = append(wrong, item+" is gone")
		default:
			wrong = append(wrong, fmt.Sprintf("%s is with %s", item, strings.Join(where, " and with ")))
		}
	}
	if len(wrong) == 0 {
		return ""
	}
	slices.SortFunc(wrong, func(a, b string) int { return cmp.Or(len(a)-len(b), strings.Compare(a, b)) })
	more := ""
	if len(wrong) > maxItems {
		more = fmt.Sprintf(", and %d more are not in one place", len(wrong)-maxItems)
		wrong = wrong[:maxItems]
	}
	return "In the end " + strings.Join(wrong, ", ") + more + "."
}
