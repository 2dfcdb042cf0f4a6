package impls

import (
	"context"
	"errors"
	"time"

	"github.com/locklab/locklab/history"
)

// quorum are servers of which so many must agree.
type quorum struct {
	env  Env
	need int
	// patience is how long one server is waited for.
	patience time.Duration
}

// errTooFewAnswers: neither enough servers agreed, nor can it be said that too few would have.
var errTooFewAnswers = errors.New("too few servers answered")

// majority is how many of n servers two clients cannot both have.
func majority(n int) int { return n/2 + 1 }

// nodePatience is the bound per server: short beside the lease, or a few servers that hang would use it up; and long beside what a
// machine that is busy with many clients needs for one answer. It is Redisson's 3 s to a lease of 30 s.
func nodePatience(lease time.Duration) time.Duration { return lease / 10 }

// ask asks the servers one after another, none for longer than the bound. When ctx has ended the others are not asked any more,
// and have no answer: see askRest.
func (q quorum) ask(ctx context.Context, one func(ctx context.Context, i int) (bool, error)) votes {
	answers := make(votes, len(q.env.Servers()))
	for i := range answers {
		if ctx.Err() != nil {
			break
		}
		answers[i] = q.vote(ctx, i, one)
	}
	return answers
}

// askRest asks those servers that ask has left out, for whom it must not stay undone. Their answers come too late to count.
func (q quorum) askRest(ctx context.Context, asked votes, one func(ctx context.Context, i int) (bool, error)) {
	for i, answer := range asked {
		if answer == history.OutcomeNone {
			q.vote(context.WithoutCancel(ctx), i, one)
		}
	}
}

func (q quorum) vote(ctx context.Context, i int, one func(ctx context.Context, i int) (bool, error)) history.Outcome {
	attempt, cancel := q.env.WithTimeout(ctx, q.patience)
	defer cancel()
	return Outcome(one(attempt, i))
}

// votes are the answers of servers. OutcomeNone is that of a server that was not asked.
type votes []history.Outcome

func (v votes) count(what history.Outcome) int {
	n := 0
	for _, vote := range v {
		if vote == what {
			n++
		}
	}
	return n
}

// decide says whether so many servers have agreed; an error where those that did not answer could have tipped it.
func (v votes) decide(need int) (bool, error) {
	agreed := v.count(history.OK)
	switch {
	case agreed >= need:
		return true, nil
	case agreed+v.count(history.Unknown)+v.count(history.OutcomeNone) >= need:
		return false, errTooFewAnswers
	}
	return false, nil
}

// leftBehind counts the servers on which a lock may remain after an attempt to take it back. What was not answered may still be
// on its way, and then comes after a removal that found nothing.
func leftBehind(taken, removed votes) int {
	n := 0
	for i := range taken {
		switch {
		case taken[i] == history.OK && removed[i] != history.OK && removed[i] != history.No:
			n++
		case taken[i] == history.Unknown && removed[i] != history.OK:
			n++
		}
	}
	return n
}
