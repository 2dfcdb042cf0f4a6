package worker

import (
	"context"
	"fmt"

	"github.com/locklab/locklab/impls"
	"github.com/locklab/locklab/worker/protocol"
)

// tradeItem trades the one item that the lock is for, as article 004 advises: who has it lists it, who does not buys it. Others trade
// other items meanwhile, with the same purses. So money is added and taken, and not read and written back; but whether it suffices is
// looked at before.
func (t task) tradeItem(ctx context.Context) protocol.Message {
	d, err := t.itemDeal(ctx)
	if err != nil {
		return bargained(err)
	}
	done, err := t.together(ctx, d.writes, d.commands...)
	answer := settled(done, err)
	answer.Did = d.what
	return answer
}

func (t task) itemDeal(ctx context.Context) (deal, error) {
	own, err := counter(t.resource.Do(ctx, "SISMEMBER", t.items(t.client), t.item))
	if err != nil {
		return deal{}, err
	}
	if own == 1 {
		return t.list(t.item), nil
	}
	offer, err := t.resource.Do(ctx, "HGET", t.key, t.item)
	if err != nil {
		return deal{}, err
	}
	if offer == nil {
		return deal{}, errNoDeal(t.item + " is not for sale")
	}
	_, seller, price := t.offer([]string{t.item, fmt.Sprint(offer)})
	if seller == "" {
		return deal{}, errNoDeal(t.item + " is its own")
	}
	mine, err := counter(t.resource.Do(ctx, "GET", t.funds(t.client)))
	if err != nil {
		return deal{}, err
	}
	if mine < price {
		return deal{}, errNoDeal("not enough money")
	}
	return t.buyItem(seller, price), nil
}

func (t task) buyItem(seller string, price int64) deal {
	return deal{
		what:   fmt.Sprintf("bought %s from %s for %d", t.item, seller, price),
		writes: []string{t.key, t.funds(t.client), t.funds(seller), t.items(t.client)},
		commands: []impls.Command{
			{"INCRBY", t.funds(t.client), -price},
			{"INCRBY", t.funds(seller), price},
			{"HDEL", t.key, t.item},
			{"SADD", t.items(t.client), t.item},
		},
	}
}
