package outcome

import (
	"slices"
	"strings"

	"github.com/locklab/locklab/checker"
	"github.com/locklab/locklab/internal/report/format"
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

// ShortWord is the word for an anomaly; its name if it has none.
func ShortWord(name checker.Name) string {
	for _, s := range shorts() {
		if s.name == name {
			return s.word
		}
	}
	return format.Clean(string(name))
}

// Letter is the letter for an anomaly; the first of its name if it has none.
func Letter(name checker.Name) string {
	for _, s := range shorts() {
		if s.name == name {
			return s.letter
		}
	}
	return strings.ToUpper(format.Clip(format.Clean(string(name)), 1))
}

// Meaning is what the definition of an anomaly says.
func Meaning(name checker.Name) string {
	for _, d := range checker.Definitions() {
		if d.Name == name {
			return d.Meaning
		}
	}
	return ""
}

// Gravity ranks anomalies by what they mean to a user: what was lost comes before how.
func Gravity(name checker.Name) int {
	order := []checker.Name{checker.LostUpdate, checker.DoubleHolder, checker.StuckLock, checker.StaleWrite}
	if i := slices.Index(order, name); i >= 0 {
		return i
	}
	return len(order)
}
