package measure

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/locklab/locklab/impls"
	"github.com/locklab/locklab/internal/bench"
	"github.com/locklab/locklab/internal/worker"
)

// MarketPlan says how to measure article 004's market.
type MarketPlan struct {
	For    time.Duration // of each cell, in each round
	Rounds int
	Lock   impls.Spec
	Wait   string // how clients wait for it
}

// Market measures each guard with each crowd in each round: the machine may be faster in one round than in another. record gets the cells as they end.
func (p *Place) Market(ctx context.Context, plan MarketPlan, record *bench.Market) error {
	*record = bench.Market{For: plan.For, Rounds: plan.Rounds, Lock: plan.Lock.Name, Wait: plan.Wait, Article: bench.ArticleMarket()}
	guards := bench.Guards()
	if p.host != nil {
		guards = slices.DeleteFunc(guards, func(g bench.Guard) bool { return g == bench.Watch })
		record.Absent = []bench.Absent{{Lock: string(bench.Watch), Why: "the embedded server's WATCH does not notice that an item has gone (ZREM)"}}
	}
	var steps []step
	for round := 1; round <= plan.Rounds; round++ {
		for _, crowd := range bench.Crowds() {
			for _, guard := range guards {
				steps = append(steps, step{fmt.Sprintf("round %d, %s, %v", round, guard, crowd), plan.For, func(ctx context.Context) error {
					cell, err := p.marketCell(ctx, plan, guard, crowd)
					if err == nil {
						cell.Round = round
						record.Cells = append(record.Cells, cell)
					}
					return err
				}})
			}
		}
	}
	return p.carryOut(ctx, steps)
}

// marketCell has the crowd trade for a while.
func (p *Place) marketCell(ctx context.Context, plan MarketPlan, guard bench.Guard, crowd bench.Crowd) (_ bench.MarketCell, err error) {
	addrs, err := p.addrs(ctx, max(1, plan.Lock.Servers))
	if err != nil {
		return bench.MarketCell{}, err
	}
	clients, err := dial(ctx, crowd.Sellers+crowd.Buyers, addrs)
	defer func() { err = errors.Join(err, hangUp(clients)) }()
	if err != nil {
		return bench.MarketCell{}, err
	}
	key := p.newKey("market")
	traders := make([]*trader, len(clients))
	for i, client := range clients {
		traders[i] = &trader{name: fmt.Sprint("T", i), key: key, store: client.Server(), client: client, spec: plan.Lock, guard: guard, wait: plan.Wait}
		if _, err := traders[i].store.Do(ctx, "HSET", traders[i].purse(traders[i].name), "funds", 1<<40); err != nil {
			return bench.MarketCell{}, err
		}
	}
	over := time.Now().Add(plan.For)
	errs := together(len(traders), func(i int) error {
		if i < crowd.Sellers {
			return traders[i].sell(ctx, over)
		}
		return traders[i].shop(ctx, over)
	})
	if err := errors.Join(errs...); err != nil {
		return bench.MarketCell{}, err
	}
	left, err := integer(traders[0].store.Do(ctx, "ZCARD", traders[0].market()))
	cell := bench.MarketCell{Guard: guard, Crowd: crowd, Left: int(left)}
	var spent time.Duration
	for _, t := range traders {
		cell.Listed += t.listed
		cell.Bought += t.bought
		cell.Tried += t.retries
		cell.Failed += t.failed
		spent += t.spent
	}
	if cell.Bought > 0 {
		cell.Wait = spent / time.Duration(cell.Bought)
	}
	return cell, err
}

// together runs n functions at once.
func together(n int, run func(i int) error) []error {
	errs := make([]error, n)
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() { errs[i] = run(i) })
	}
	all.Wait()
	return errs
}

// trader is a seller or a buyer. One goroutine uses it.
type trader struct {
	name   string
	key    string // of the market: all keys begin with it
	store  impls.Server
	client *worker.Client
	spec   impls.Spec
	guard  bench.Guard
	wait   string
	one    *worker.Lock // of the whole market

	listed, bought, retries, failed int
	spent                           time.Duration // on purchases
}

func (t *trader) market() string             { return t.key + ":market" }
func (t *trader) purse(name string) string   { return t.key + ":user:" + name }
func (t *trader) items(name string) string   { return t.key + ":items:" + name }
func (t *trader) lockKey(item string) string { return t.key + ":lock:" + item }

// marketPatience is how long article 004 tries to buy an item.
const marketPatience = 10 * time.Second

// reader reads from the store, on any connection or on one that watches keys.
type reader func(ctx context.Context, args ...any) (any, error)

// price is what every item costs.
const price = 10

// sell lists one item after another, one at least.
func (t *trader) sell(ctx context.Context, over time.Time) error {
	defer t.close()
	for n := 0; n == 0 || time.Now().Before(over); n++ {
		item := fmt.Sprintf("%d.%s", n, t.name)
		if _, err := t.store.Do(ctx, "SADD", t.items(t.name), item); err != nil {
			return err
		}
		done, err := t.guarded(ctx, item, []string{t.items(t.name)}, t.listing(item))
		switch {
		case err != nil:
			return err
		case done == traded:
			t.listed++
		default:
			t.failed++
		}
	}
	return nil
}

// listing moves an item of the seller's to the market.
func (t *trader) listing(item string) func(context.Context, reader) ([]impls.Command, error) {
	return func(ctx context.Context, read reader) ([]impls.Command, error) {
		own, err := integer(read(ctx, "SISMEMBER", t.items(t.name), item))
		if err != nil || own == 0 {
			return nil, err
		}
		return []impls.Command{{"ZADD", t.market(), price, item}, {"SREM", t.items(t.name), item}}, nil
	}
}

// emptyPause is how long a buyer waits before it looks again at an empty market.
const emptyPause = time.Millisecond

// shop buys one item after another.
func (t *trader) shop(ctx context.Context, over time.Time) error {
	defer t.close()
	for time.Now().Before(over) {
		item, err := t.choose(ctx, t.store.Do)
		if err != nil {
			return err
		}
		if item == "" {
			time.Sleep(emptyPause)
			continue
		}
		began := time.Now()
		err = t.buy(ctx, item, earlier(over, began.Add(marketPatience)), over)
		t.spent += time.Since(began)
		if err != nil {
			return err
		}
	}
	return nil
}

func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}

// buy tries to buy until it has bought an item, the market is empty, or its time is up.
func (t *trader) buy(ctx context.Context, item string, until, over time.Time) (err error) {
	for item != "" {
		if now := time.Now(); !now.Before(until) {
			if now.Before(over) {
				t.failed++
			}
			return nil
		}
		done, err := t.guarded(ctx, item, []string{t.market(), t.purse(t.name)}, t.purchase(item))
		if err != nil {
			return err
		}
		if done == traded {
			t.bought++
			return nil
		}
		t.retries++
		if item, err = t.choose(ctx, t.store.Do); err != nil {
			return err
		}
	}
	return nil
}

// choose is one of the first hundred items for sale; "" if there is none.
func (t *trader) choose(ctx context.Context, read reader) (string, error) {
	items, err := texts(read(ctx, "ZRANGE", t.market(), 0, 99))
	if err != nil || len(items) == 0 {
		return "", err
	}
	return items[rand.IntN(len(items))], nil
}

// texts reads a reply that is a list, with the error of its command.
func texts(reply any, err error) ([]string, error) {
	if err != nil {
		return nil, err
	}
	list, ok := reply.([]any)
	if !ok {
		return nil, fmt.Errorf("the server answered with a %T where a list should be", reply)
	}
	out := make([]string, len(list))
	for i, one := range list {
		out[i] = fmt.Sprint(one)
	}
	return out, nil
}

// purchase checks price and funds, and moves money and item. Where the guard is about the whole market, it chooses the item itself: nobody can
// take it meanwhile.
func (t *trader) purchase(item string) func(context.Context, reader) ([]impls.Command, error) {
	return func(ctx context.Context, read reader) (_ []impls.Command, err error) {
		if t.guard != bench.PerItem {
			if item, err = t.choose(ctx, read); err != nil || item == "" {
				return nil, err
			}
		}
		asked, err := read(ctx, "ZSCORE", t.market(), item)
		if err != nil || asked == nil {
			return nil, err
		}
		funds, err := integer(read(ctx, "HGET", t.purse(t.name), "funds"))
		if err != nil {
			return nil, err
		}
		if funds < price {
			return nil, errors.New("a buyer has no money left")
		}
		return []impls.Command{
			{"HINCRBY", t.purse(sellerOf(item)), "funds", price},
			{"HINCRBY", t.purse(t.name), "funds", -price},
			{"SADD", t.items(t.name), item},
			{"ZREM", t.market(), item},
		}, nil
	}
}
