package tap

import (
	"testing"

	"github.com/locklab/locklab/faults"
	"github.com/stretchr/testify/assert"
)

// Several taps that share their breakpoints count together, but for a breakpoint that names a server.
func TestBreakpointsOfSeveralTaps(t *testing.T) {
	shared := new(Breakpoints)
	before := func(server string) option {
		return func(c *Config) { c.Server, c.Breakpoints = server, shared }
	}
	one, two := setUp(t, startMini(t), before("S1")), setUp(t, startMini(t), before("S2"))
	third := shared.Arm(Breakpoint{Client: "C1", Breakpoint: faults.Breakpoint{Match: faults.Match{Kind: faults.MatchWrite}, Nth: 3, Action: faults.ActHoldReply}})
	second := shared.Arm(Breakpoint{Client: "C1", Breakpoint: faults.Breakpoint{Server: "S2", Match: faults.Match{Kind: faults.MatchWrite}, Nth: 2, Action: faults.ActHoldReply}})
	first, other := one.dial("C1"), two.dial("C1")

	first.do("SET", "lock", "a")
	other.do("SET", "lock", "b")
	pending(t, "the third write", third.Reached())
	first.send("SET", "lock", "c")
	await(t, "the third write", third.Reached())
	assert.Equal(t, []string{"SET", "lock", "c"}, third.Args())
	pending(t, "the second write on S2", second.Reached())
	other.send("SET", "lock", "d")
	await(t, "the second write on S2", second.Reached())
	assert.Equal(t, []string{"SET", "lock", "d"}, second.Args())
}
