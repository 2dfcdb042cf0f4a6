package figures

import (
	"fmt"
	"strings"

	"github.com/locklab/locklab/internal/bench"
	"github.com/locklab/locklab/internal/report/format"
)

func updatesSections(u *bench.Updates) []section {
	s := section{
		Title: "Acknowledged updates that are lost",
		Lead: fmt.Sprintf("%d clients append to a shared set for %s: acquire, read, think %s, write, release, rest about %s; they wait by %s. "+
			"Lease %s; every %s one client, chosen by the seed, is paused for %s. Seeds %s.",
			u.Clients, format.Duration(u.For), format.Duration(u.Think), format.Duration(u.Rest), format.Clean(u.Wait), format.Duration(u.Lease), format.Duration(u.Every), format.Duration(u.Pause), seedList(u.Seeds)),
		Table: figures{
			Head: []string{"lock", "acknowledged", "lost", "share", "by seed", "guarded: acknowledged", "lost", "share", "refused", "fence"},
			Text: []bool{true, false, false, false, false, false, false, false, false, true},
		},
	}
	shares := plot{Title: "Share of acknowledged updates that is lost", Unit: "%"}
	for _, row := range u.Rows {
		plain, guarded := bench.Total(row.Unguarded), bench.Total(row.Guarded)
		fence := "of the store"
		if row.OwnFence {
			fence = "its own"
		}
		s.Table.Rows = append(s.Table.Rows, []string{
			format.Clean(row.Lock), thousands(plain.Acked), thousands(plain.Lost), percent(plain.Share()), bySeed(row.Unguarded),
			thousands(guarded.Acked), thousands(guarded.Lost), percent(guarded.Share()), thousands(guarded.Refused), fence,
		})
		shares.Bars = append(shares.Bars,
			bar{format.Clean(row.Lock), []float64{100 * plain.Share()}, percent(plain.Share())},
			bar{format.Clean(row.Lock) + ", guarded", []float64{100 * guarded.Share()}, percent(guarded.Share())})
		if failed := plain.Failed + guarded.Failed; failed > 0 {
			s.Notes = append(s.Notes, fmt.Sprintf("%s: %s of unknown outcome, neither acknowledged nor lost", format.Clean(row.Lock), format.Plural(failed, "update", "updates")))
		}
	}
	s.Plots = []plot{shares}
	s.Notes = append(s.Notes,
		"all locks were measured at the same time, by the processes of each program: a pause strikes a client of each",
		"guarded: the store remembers the greatest fence that was shown to it before a read, and refuses writes with a smaller one",
		"fence of the store: the lock issues none, so the client draws a number from the store after its grant (INCR)",
		"a client does not ask the lock again before it writes; a loss that a lock announces stops nothing",
		fmt.Sprintf("Jepsen's analysis of etcd 3.4.3 reports about %.0f %% for etcd's lock with a lease of 2s and pauses every 5s; think time and pauses differ", 100*bench.JepsenShare))
	s.Notes = append(s.Notes, absent(u.Absent)...)
	return []section{s}
}

func seedList(seeds []int64) string {
	var words []string
	for _, seed := range seeds {
		words = append(words, fmt.Sprint(seed))
	}
	return strings.Join(words, ", ")
}

// bySeed lists the share of each seed.
func bySeed(counts []bench.UpdatesCount) string {
	var words []string
	for _, c := range counts {
		words = append(words, fmt.Sprintf("%.1f", 100*c.Share()))
	}
	return strings.Join(words, " ")
}
