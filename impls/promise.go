package impls

import (
	"fmt"
	"slices"
	"strings"
)

// Promise is a property that a lock claims.
type Promise string

// The promises. An anomaly against a promise that a lock does not make is not the lock's fault, but the verdict names it.
const (
	MutualExclusion   Promise = "mutual exclusion"                  // while no fault lasts longer than the lease
	ExclusionOnPause  Promise = "hold ends with its lease"          // it declares its validity
	ReleaseByOwner    Promise = "release by owner only"             //
	RenewByOwner      Promise = "renewal by owner only"             //
	CrashSafety       Promise = "freed within a lease of a crash"   //
	KnowsLoss         Promise = "tells its holder that it was lost" //
	ToldInTime        Promise = "tells its holder in time"          // while its process runs: a partition is no excuse, a pause is
	IgnoresClientTime Promise = "does not trust clients' clocks"    //
	Fencing           Promise = "hands out growing fences"          // a resource that refuses smaller ones is safe
	Fairness          Promise = "grants in the order of asking"     // to those who wait
	Reentrance        Promise = "can be taken again by its holder"  // and is free after as many releases
)

// PromiseWord is a promise with the word for it in the protocol of clients.
type PromiseWord struct {
	Word string
	Promise
}

// PromiseWords lists all promises.
func PromiseWords() []PromiseWord {
	return []PromiseWord{
		{"exclusion", MutualExclusion},
		{"ends-with-lease", ExclusionOnPause},
		{"release-by-owner", ReleaseByOwner},
		{"renew-by-owner", RenewByOwner},
		{"crash-safe", CrashSafety},
		{"tells-loss", KnowsLoss},
		{"tells-in-time", ToldInTime},
		{"ignores-clocks", IgnoresClientTime},
		{"fencing", Fencing},
		{"fair", Fairness},
		{"reentrant", Reentrance},
	}
}

// PromiseWordsOf are the protocol's words for promises.
func PromiseWordsOf(promises []Promise) []string {
	words := []string{}
	for _, p := range PromiseWords() {
		if slices.Contains(promises, p.Promise) {
			words = append(words, p.Word)
		}
	}
	return words
}

// ParsePromises are the promises of those words.
func ParsePromises(words []string) ([]Promise, error) {
	known := PromiseWords()
	var promises []Promise
	for _, word := range words {
		i := slices.IndexFunc(known, func(p PromiseWord) bool { return p.Word == word })
		if i < 0 {
			var names []string
			for _, p := range known {
				names = append(names, p.Word)
			}
			return nil, fmt.Errorf("unknown promise %q; there are %s", word, strings.Join(names, ", "))
		}
		promises = append(promises, known[i].Promise)
	}
	return promises, nil
}
