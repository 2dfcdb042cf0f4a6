package explore

import (
	"strconv"
	"testing"

	"github.com/locklab/locklab/checker"
	"github.com/locklab/locklab/internal/needs"
)

// Of an even number of servers, half are not enough to have the lock, and keep others from having it.
func TestTheJudgesAgreeOnEvenNumbersOfServers(t *testing.T) {
	needs.Long(t, "searches that take much memory")
	t.Parallel()
	for _, servers := range []int{2, 4} {
		for _, name := range []string{"redlock", "redlock-no-second-look"} {
			t.Run(name+" on "+strconv.Itoa(servers), func(t *testing.T) {
				t.Parallel()
				walk(t, Config{Lock: lock(t, name), Servers: servers}, 30, func(n checker.Name) bool {
					return onTheWay(n) && n != checker.WrongfulRenew
				})
			})
		}
	}
}
