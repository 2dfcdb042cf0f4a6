package report

import (
	"strings"

	"github.com/locklab/locklab/checker"
)

// short is an anomaly where there is no room for its name.
type short struct {
	name         checker.Name
	word, letter string
}

func shorts() []short {
	return []short{
		{checker.DoubleHolder, "dbl", "D"},
		{checker.EarlyGrant, "early", "E"},
		{checker.WrongfulDelete, "del", "X"},
		{checker.WrongfulRenew, "renew", "R"},
		{checker.Overwrite, "over", "O"},
		{checker.StaleWrite, "stale", "S"},
		{checker.LostUpdate, "lost", "L"},
		{checker.StuckLock, "stuck", "K"},
		{checker.GhostLock, "ghost", "G"},
		{checker.Unreleasable, "unrel", "U"},
		{checker.HungOperation, "hung", "H"},
		{checker.MissedWakeup, "wake", "W"},
		{checker.FalseAlarm, "alarm", "A"},
		{checker.FenceRegression, "fence", "F"},
		{checker.Unfair, "order", "T"},
		{checker.DeadGrant, "dead", "N"},
	}
}

// shortWord is the word for an anomaly; its name if it has none.
func shortWord(name checker.Name) string {
	for _, s := range shorts() {
		if s.name == name {
			return s.word
		}
	}
	return clean(string(name))
}

// letter is the letter for an anomaly; the first of its name if it has none.
func letter(name checker.Name) string {
	for _, s := range shorts() {
		if s.name == name {
			return s.letter
		}
	}
	return strings.ToUpper(clip(clean(string(name)), 1))
}
