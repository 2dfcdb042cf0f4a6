package work

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/locklab/locklab/history"
	"github.com/locklab/locklab/impls"
	"github.com/locklab/locklab/internal/answers"
)

// price is what every item is listed for.
const price = 10

// reader reads from the store, on any connection or on one that watches keys.
type reader func(ctx context.Context, args ...any) (any, error)

// deal is what a client is about to do on the market.
type deal struct {
	what     string
	writes   []string
	commands []impls.Command
}

// trade lists or buys an item, as in article 004: it checks price and funds, then moves money and item in one transaction.
func (t Task) trade(ctx context.Context) history.Answer {
	d, err := t.deal(ctx, t.Resource.Do)
	if err != nil {
		return bargained(err)
	}
	done, err := t.together(ctx, d.writes, d.commands...)
	answer := answers.Settled(done, err)
	answer.Did = d.what
	return answer
}

// tradeWatched trades without a lock: it watches all keys that the deal depends on, and retries if they have changed.
func (t Task) tradeWatched(ctx context.Context) history.Answer {
	for {
		d, traded, err := t.tryWatched(ctx)
		if err != nil {
			return bargained(err)
		}
		if traded {
			answer := done()
			answer.Did = d.what
			return answer
		}
	}
}

func (t Task) tryWatched(ctx context.Context) (d deal, traded bool, _ error) {
	err := t.Resource.Watch(ctx, []string{t.Key}, func(tx impls.Tx) (err error) {
		watched := func(ctx context.Context, args ...any) (any, error) {
			if _, err := tx.Do(ctx, "WATCH", args[1]); err != nil {
				return nil, err
			}
			return tx.Do(ctx, args...)
		}
		if err := t.stillFirst(ctx, watched); err != nil {
			return err
		}
		if d, err = t.deal(ctx, watched); err != nil {
			return err
		}
		_, traded, err = tx.Exec(ctx, d.commands...)
		return err
	})
	return d, traded, err
}

// stillFirst is an error if the resource has seen a greater fence.
func (t Task) stillFirst(ctx context.Context, read reader) error {
	if !t.fenced {
		return nil
	}
	greatest, err := counter(read(ctx, "GET", t.fenceKey()))
	if err == nil && greatest > t.fence {
		return errNoDeal(staleFence + " a greater fence has been seen")
	}
	return err
}

// errNoDeal is why there is nothing to do: a definite no.
type errNoDeal string

func (e errNoDeal) Error() string { return string(e) }

func bargained(err error) history.Answer {
	if no := errNoDeal(""); errors.As(err, &no) {
		return refused(string(no))
	}
	return answers.Settled(false, err)
}

func (t Task) funds(name string) string { return t.Key + ":funds:" + name }
func (t Task) items(name string) string { return t.Key + ":items:" + name }

// deal lists an item that the client has, or else buys the first that another client has listed.
func (t Task) deal(ctx context.Context, read reader) (deal, error) {
	own, err := Texts(read(ctx, "SMEMBERS", t.items(t.Client)))
	if err != nil {
		return deal{}, err
	}
	if len(own) > 0 {
		return t.list(slices.MinFunc(own, byNumber)), nil
	}
	listed, err := Texts(read(ctx, "HGETALL", t.Key))
	if err != nil {
		return deal{}, err
	}
	return t.buy(ctx, read, listed)
}

func (t Task) list(item string) deal {
	return deal{
		what:   fmt.Sprintf("listed %s for %d", item, price),
		writes: []string{t.items(t.Client), t.Key},
		commands: []impls.Command{
			{"SREM", t.items(t.Client), item},
			{"HSET", t.Key, item, fmt.Sprintf("%s %d", t.Client, price)},
		},
	}
}

// buy reads the offer and the funds of both sides, and prepares the purchase.
func (t Task) buy(ctx context.Context, read reader, listed []string) (deal, error) {
	item, seller, price := t.offer(listed)
	if item == "" {
		return deal{}, errNoDeal("nothing is for sale")
	}
	mine, err := counter(read(ctx, "GET", t.funds(t.Client)))
	if err != nil {
		return deal{}, err
	}
	theirs, err := counter(read(ctx, "GET", t.funds(seller)))
	if err != nil {
		return deal{}, err
	}
	if mine < price {
		return deal{}, errNoDeal("not enough money")
	}
	return deal{
		what:   fmt.Sprintf("bought %s from %s for %d", item, seller, price),
		writes: []string{t.Key, t.funds(t.Client), t.funds(seller), t.items(t.Client)},
		commands: []impls.Command{
			{"SET", t.funds(t.Client), mine - price},
			{"SET", t.funds(seller), theirs + price},
			{"HDEL", t.Key, item},
			{"SADD", t.items(t.Client), item},
		},
	}, nil
}

// offer is the first item that another client has listed: "item-7" by "C2" for 10.
func (t Task) offer(listed []string) (item, seller string, price int64) {
	for i := 0; i+1 < len(listed); i += 2 {
		who, text, _ := strings.Cut(listed[i+1], " ")
		asked, err := strconv.ParseInt(text, 10, 64)
		if err != nil || who == t.Client || item != "" && byNumber(item, listed[i]) <= 0 {
			continue
		}
		item, seller, price = listed[i], who, asked
	}
	return item, seller, price
}

// byNumber puts item-2 before item-10.
func byNumber(a, b string) int { return cmp.Or(len(a)-len(b), strings.Compare(a, b)) }

// Texts reads a reply that is a list, with the error of its command.
func Texts(reply any, err error) ([]string, error) {
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
