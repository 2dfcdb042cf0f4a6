package checker

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/locklab/locklab/checker/internal/resource"
	"github.com/locklab/locklab/history"
)

// floor is a make-believe store with clients that work in it: each first reads, and then writes what follows from what it read.
// It writes down what a lab would see.
type floor struct {
	work    history.Workload
	stock   int64
	numbers map[string]int64 // by key
	entries []string
	memory  map[string]int64 // by client: sold from its own stock

	now    time.Duration
	events []history.Event
	lastID int64
}

// job is one piece of work under way.
type job struct {
	f      *floor
	id     int64
	client string
	write  func() // nil: there is nothing to do
	event  history.Event
}

const floorClients = 3

func newFloor(work history.Workload, stock int64) *floor {
	f := &floor{work: work, stock: stock, numbers: map[string]int64{}, memory: map[string]int64{}}
	f.numbers["counter"], f.numbers["counter:database"], f.numbers["counter:stock"] = stock, stock, stock
	if work == history.FlashSale || work == history.FlashSaleStore {
		f.numbers["counter"] = 0
	}
	for n := range floorClients {
		f.record(history.Event{Kind: history.KindOpen, Client: clientName(n), Lock: storyLock, Detail: &history.Detail{
			Contract: history.Contract{Leaseless: true}, Work: &history.Work{Workload: work, Data: f.data()},
		}})
	}
	return f
}

func (f *floor) record(e history.Event) {
	f.now += time.Millisecond
	e.At = f.now
	f.events = append(f.events, e)
}

// data is the store as the lab reads it.
func (f *floor) data() (data []history.Datum) {
	add := func(name string, values ...string) { data = append(data, history.Datum{Name: name, Values: values}) }
	number := func(key string) string { return strconv.FormatInt(f.numbers[key], 10) }
	switch f.work {
	case history.Stock:
		add("cache", number("counter"))
		add("stock", number("counter:database"))
	case history.FlashSale, history.FlashSaleStore:
		add("stock", number("counter:stock"))
		add("bought", number("counter"))
	case history.Ledger:
		add("entries", f.entries...)
	}
	return data
}

func (f *floor) end() Verdict {
	value := map[history.Workload]int64{
		history.Stock: f.numbers["counter:database"], history.FlashSale: f.numbers["counter"],
		history.FlashSaleStore: f.numbers["counter:stock"], history.Ledger: int64(len(f.entries)),
	}[f.work]
	f.record(history.Event{Kind: history.KindFinal, Lock: storyLock, Detail: &history.Detail{
		Value: value, Work: &history.Work{Workload: f.work, Data: f.data()},
	}})
	return Judge(f.events, Options{Twice: true})
}

// call begins work: the client reads what it needs.
func (f *floor) call(client string) *job {
	f.lastID++
	j := &job{f: f, id: f.lastID, client: client}
	j.event = history.Event{ID: j.id, Client: client, Lock: storyLock, Kind: history.KindCall, Op: history.OpWork}
	f.record(j.event)
	j.event.Kind, j.event.Outcome = history.KindReturn, history.OK
	return j
}

func (j *job) send(reply string, args ...string) {
	j.f.record(history.Event{ID: j.id, Client: j.client, Kind: history.KindCommand, Op: history.OpWork, Detail: &history.Detail{
		Command: &history.Command{Server: history.Resource, Args: args, Reply: reply},
	}})
}

func (j *job) get(key string) int64 {
	n := j.f.numbers[key]
	j.send(strconv.FormatInt(n, 10), "GET", key)
	return n
}

func (j *job) set(reply, key string, n int64) {
	j.f.numbers[key] = n
	j.send(reply, "SET", key, strconv.FormatInt(n, 10))
}

func (j *job) incr(key string) {
	j.f.numbers[key]++
	j.send(strconv.FormatInt(j.f.numbers[key], 10), "INCR", key)
}

// read reads, and leaves in write what is to be written then.
func (j *job) read() {
	f := j.f
	var before, after int64
	switch f.work {
	case history.Stock:
		before = j.get("counter")
		after = before - 1
		j.write = func() { j.set("OK", "counter:database", after); j.set("OK", "counter", after) }
	case history.FlashSaleStore:
		before = j.get("counter:stock")
		after = before - 1
		j.write = func() { j.incr("counter"); j.set("OK", "counter:stock", after) }
	case history.FlashSale:
		before = f.stock - f.memory[j.client]
		after = before - 1
		j.write = func() { f.memory[j.client]++; j.incr("counter") }
	case history.Ledger:
		reply := "nil"
		if n := len(f.entries); n > 0 {
			reply = f.entries[n-1]
			before, _, _ = resource.Entry(reply)
		}
		j.send(reply, "LINDEX", "counter", "-1")
		after = before + 1
		j.write = func() {
			text := fmt.Sprintf("%d after %d by %s", after, before, j.client)
			f.entries = append(f.entries, text)
			j.send(strconv.Itoa(len(f.entries)), "RPUSH", "counter", text)
		}
	}
	if f.work != history.Ledger && before <= 0 {
		j.write, j.event.Outcome, j.event.Detail = nil, history.No, &history.Detail{Error: history.SoldOut}
		return
	}
	j.event.Detail = &history.Detail{Read: before, Wrote: after}
}

func (j *job) carryOut() {
	if j.write != nil {
		j.write()
	}
}

// back answers, or loses the answer.
func (j *job) back(dice *rand.Rand) {
	if dice.IntN(5) == 0 {
		j.event.Outcome, j.event.Detail = history.Unknown, nil
	}
	j.f.record(j.event)
}

func sharedWork(t *rapid.T) history.Workload {
	return rapid.SampledFrom([]history.Workload{history.Stock, history.FlashSaleStore, history.Ledger}).Draw(t, "work")
}

// Work that is done one after the other is never accused, whatever answers get lost and however late they come. Nor is a client
// that sells from its own memory, as long as it is alone.
func TestWorkInTurnIsLegal(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		dice := newDice(t)
		f := newFloor(sharedWork(t), rapid.Int64Range(1, 6).Draw(t, "stock"))
		clients := floorClients
		if rapid.Bool().Draw(t, "alone") {
			f, clients = newFloor(history.FlashSale, f.stock), 1
		}
		var waiting []*job // for their answers
		for range rapid.IntRange(0, 20).Draw(t, "works") {
			client := clientName(dice.IntN(clients))
			if slices.ContainsFunc(waiting, func(j *job) bool { return j.client == client }) {
				continue
			}
			j := f.call(client)
			j.read()
			j.carryOut()
			waiting = append(waiting, j)
			for len(waiting) > 0 && dice.IntN(2) == 0 {
				n := dice.IntN(len(waiting))
				waiting[n].back(dice)
				waiting = slices.Delete(waiting, n, n+1)
			}
		}
		require.Equal(t, Verdict{Kind: Safe}, f.end())
	})
}

// Two clients that both read before either writes lose an update, in whatever data; and that is seen.
func TestOverlappingWorkIsSeen(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		dice := newDice(t)
		f := newFloor(sharedWork(t), 40)
		for range rapid.IntRange(0, 8).Draw(t, "before") {
			j := f.call("C3")
			j.read()
			j.carryOut()
			f.record(j.event)
		}
		one, two := f.call("C1"), f.call("C2")
		one.read()
		two.read()
		require.NotNil(t, one.write)
		if rapid.Bool().Draw(t, "the other first") {
			one, two = two, one
		}
		one.carryOut()
		f.record(one.event)
		for range rapid.IntRange(0, 3).Draw(t, "meanwhile") {
			j := f.call(one.client)
			j.read()
			j.carryOut()
			j.back(dice)
		}
		two.carryOut()
		f.record(two.event)
		v := f.end()
		require.False(t, v.CheckerFault, v.Reason)
		require.Contains(t, v.Names(), LostUpdate, "%s", Tally(f.events))
	})
}

// Two processes that sell from their own memory sell twice what there is.
func TestTwoStocksInMemoryAreSeen(t *testing.T) {
	f := newFloor(history.FlashSale, 2)
	for n := range 5 {
		j := f.call(clientName(n % 2))
		j.read()
		j.carryOut()
		f.record(j.event)
	}
	v := f.end()
	require.Equal(t, []Name{LostUpdate}, v.Names(), v.Reason)
	require.Equal(t, "stock 2, sold 4: oversold by 2; told \"sold out\": 1", Tally(f.events))
}
