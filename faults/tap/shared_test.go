package tap

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/locklab/locklab/faults/commands"
)

// Several taps that share their breakpoints count together, but for a breakpoint that names a server.
func TestTrapsOfSeveralTaps(t *testing.T) {
	shared := new(Traps)
	before := func(server string) option {
		return func(c *Config) { c.Server, c.Traps = server, shared }
	}
	one, two := setUp(t, startMini(t), before("S1")), setUp(t, startMini(t), before("S2"))
	third := shared.Arm(Breakpoint{Client: "C1", Match: commands.Match{Kind: commands.MatchWrite}, Nth: 3, Action: HoldReply})
	second := shared.Arm(Breakpoint{Client: "C1", Server: "S2", Match: commands.Match{Kind: commands.MatchWrite}, Nth: 2, Action: HoldReply})
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
