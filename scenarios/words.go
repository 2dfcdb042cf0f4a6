package scenarios

import (
	"fmt"
	"strings"

	"github.com/locklab/locklab/history"
)

// phrase is the spelling of a verb.
type phrase struct {
	words string
	verb  Verb
	op    history.Op
}

// phrases lists the verbs of a client.
func phrases() []phrase {
	return []phrase{
		{"acquire", VerbOp, history.OpAcquire},
		{"release", VerbOp, history.OpRelease},
		{"renew", VerbOp, history.OpRenew},
		{"check", VerbOp, history.OpCheck},
		{"work", VerbOp, history.OpWork},
		{"await", VerbAwait, 0},
		{"continue", VerbContinue, 0},
		{"arrives late", VerbArrives, 0},
		{"times out", VerbTimesOut, 0},
		{"give up", VerbGiveUp, 0},
		{"renews", VerbRenews, 0},
		{"takes in the reply", VerbTakesIn, 0},
		{"pause", VerbPause, 0},
		{"resume", VerbResume, 0},
		{"crash", VerbCrash, 0},
		{"thread dies", VerbThreadDies, 0},
		{"waits until lost", VerbWaitsLost, 0}, // before "waits", with which it begins
		{"waits", VerbWaits, 0},
		{"clock", VerbClock, 0},
		{"cut off", VerbCutOff, 0},
		{"refuse", VerbRefuse, 0},
		{"delay", VerbDelay, 0},
		{"lose replies", VerbLoseReplies, 0},
		{"heal", VerbHeal, 0},
	}
}

// labPhrases lists the verbs of the lab.
func labPhrases() []phrase {
	return []phrase{
		{"wait for", VerbWaitFor, 0},
		{"wait until expired", VerbWaitExpired, 0},
		{"wait until half over", VerbWaitHalf, 0},
		{"wait until freed", VerbWaitFreed, 0},
		{"wait until renewed", VerbWaitRenewed, 0},
		{"server clock jumps", VerbServerJump, 0},
		{"operator limits lock to", VerbOperator, 0},
		{"server restarts empty", VerbRestart, 0},
		{"server saves", VerbSave, 0},
		{"server restarts as saved", VerbRestartSaved, 0},
		{"server holds back one replica", VerbHoldBack, 0},
		{"server fails over to", VerbTakeOver, 0},
		{"server fails over without", VerbSplit, 0},
		{"server demotes the old primary", VerbDemote, 0},
		{"server requires a replica", VerbRequireReplica, 0},
		{"wait until writes are refused", VerbWaitRefused, 0},
		{"server migrates the slot", VerbMigrate, 0},
		{"server migrates only the lock", VerbMigrateLock, 0},
		{"server has migrated the slot", VerbMigrated, 0},
		{"server goes down", VerbGoesDown, 0},
		{"server comes back", VerbComesBack, 0},
	}
}

// labWords are the first words of labPhrases, and that of a verb of whichever server.
func labWords() []string { return []string{"wait", "server", "operator", "on"} }

// blockWords begin and end steps that are repeated.
func blockWords() []string { return []string{"repeat", "end"} }

func spellings(all []phrase) []string {
	words := make([]string, len(all))
	for i, p := range all {
		words[i] = p.words
	}
	return words
}

// wordsFor is the spelling of a verb and operation.
func wordsFor(all []phrase, verb Verb, op history.Op) string {
	for _, p := range all {
		if p.verb == verb && p.op == op {
			return p.words
		}
	}
	return ""
}

// promotions say which replica takes over.
func promotions() []string { return []string{promoteHeldBack, promoteOther} }

const (
	promoteHeldBack = "the one held back"
	promoteOther    = "the other one"
)

func headers() []string {
	return []string{"source", "workload", "lease", "clients", "other-key", "servers", "needs", "expect"}
}

func needs() []string {
	all := []Need{
		NeedsService, NeedsLease, NeedsResend, NeedsNoResend, NeedsRenewal, NeedsCheck, NeedsRenew, NeedsReentrance, NeedsFairness, NeedsMajority, NeedsAsynchrony, NeedsZooKeeper,
		NeedsEnsemble,
	}
	return stringsOf(all)
}

func stringsOf[T ~string](all []T) []string {
	words := make([]string, len(all))
	for i, one := range all {
		words[i] = string(one)
	}
	return words
}

// unknownWord is the error of an unknown word.
func unknownWord(kind, word string, known []string) error {
	if meant := didYouMean(word, known); meant != "" {
		return fmt.Errorf("unknown %s %q%s", kind, word, meant)
	}
	return fmt.Errorf("unknown %s %q; known are %s", kind, word, strings.Join(known, ", "))
}
