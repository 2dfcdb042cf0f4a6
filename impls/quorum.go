package impls

import (
	"context"
	"errors"
	"time"

	"github.com/locklab/locklab/history"
)

// quorum asks all servers, of which need must agree.
type quorum struct {
	env  Env
	need int
	// patience bounds the wait for one server.
	patience time.Duration
}

// errTooFewAnswers: too few servers agreed, but with those that did not answer there might have been enough.
var errTooFewAnswers = errors.New("too few servers answered")

// majority is the least number of n servers of which two clients cannot both have as many.
func majority(n int) int { return n/2 + 1 }

// nodePatience is the bound per server: a few hanging servers must not use up the lease, and a loaded machine must be able to answer. It
// is Redisson's ratio, 3 s to a lease of 30 s.
func nodePatience(lease time.Duration) time.Duration { return lease / 10 }

// ask asks the servers one after another, each within the bound, until ctx ends. The rest have no answer: see askRest.
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

// askRest asks the servers that ask left out when ctx ended, because a release must reach every server. Their answers do not count.
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

// votes are the servers' answers: OutcomeNone if a server was not asked.
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

// decide says whether enough servers have agreed; an error if the missing answers could have decided otherwise.
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

// leftBehind counts the servers on which a lock may remain after an attempt to remove it. An unanswered SET may still arrive, after a
// removal that found nothing.
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
