package work

import (
	"context"
	"fmt"

	"github.com/locklab/locklab/history"
	"github.com/locklab/locklab/impls"
	"github.com/locklab/locklab/internal/answers"
)

// tradeItem trades the item that the lock is for, as article 004 advises: a client that has it lists it, another buys it. Clients trade
// other items meanwhile with the same funds, so funds are incremented and decremented. The check of the funds comes before, in a command of
// its own.
func (t Task) tradeItem(ctx context.Context) history.Answer {
	d, err := t.itemDeal(ctx)
	if err != nil {
		return bargained(err)
	}
	done, err := t.together(ctx, d.writes, d.commands...)
	answer := answers.Settled(done, err)
	answer.Did = d.what
	return answer
}

func (t Task) itemDeal(ctx context.Context) (deal, error) {
	own, err := counter(t.Resource.Do(ctx, "SISMEMBER", t.items(t.Client), t.Item))
	if err != nil {
		return deal{}, err
	}
	if own == 1 {
		return t.list(t.Item), nil
	}
	offer, err := t.Resource.Do(ctx, "HGET", t.Key, t.Item)
	if err != nil {
		return deal{}, err
	}
	if offer == nil {
		return deal{}, errNoDeal(t.Item + " is not for sale")
	}
	_, seller, price := t.offer([]string{t.Item, fmt.Sprint(offer)})
	if seller == "" {
		return deal{}, errNoDeal(t.Item + " is its own")
	}
	mine, err := counter(t.Resource.Do(ctx, "GET", t.funds(t.Client)))
	if err != nil {
		return deal{}, err
	}
	if mine < price {
		return deal{}, errNoDeal("not enough money")
	}
	return t.buyItem(seller, price), nil
}

func (t Task) buyItem(seller string, price int64) deal {
	return deal{
		what:   fmt.Sprintf("bought %s from %s for %d", t.Item, seller, price),
		writes: []string{t.Key, t.funds(t.Client), t.funds(seller), t.items(t.Client)},
		commands: []impls.Command{
			{"INCRBY", t.funds(t.Client), -price},
			{"INCRBY", t.funds(seller), price},
			{"HDEL", t.Key, t.Item},
			{"SADD", t.items(t.Client), t.Item},
		},
	}
}
