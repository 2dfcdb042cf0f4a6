package scenarios

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const repeating = `lease    1s
clients  C1
servers  3

C1  acquire => ok
repeat 3
C1  check
    wait for 1 lease
end
on whichever server  saves
repeat 2
C1  renew
end
`

// A repeated step is there once for each round, on its own line, and the formatter writes it once.
func TestRepeat(t *testing.T) {
	script, err := Parse("x.lab", []byte(repeating))
	require.NoError(t, err)
	var lines []int
	var rounds []int
	for _, step := range script.Steps {
		round, _ := step.Round()
		lines, rounds = append(lines, step.Line), append(rounds, round)
	}
	assert.Equal(t, []int{5, 7, 8, 7, 8, 7, 8, 10, 12, 12}, lines)
	assert.Equal(t, []int{0, 1, 1, 2, 2, 3, 3, 0, 1, 2}, rounds)
	assert.Equal(t, 3*time.Second, script.Waits())
	formatted := string(Format(script))
	assert.Equal(t, `lease    1s
clients  C1
servers  3

C1  acquire => ok
repeat 3
C1  check
    wait for 1 lease
end
    on whichever server saves
repeat 2
C1  renew
end
`, formatted)
	again, err := Parse("x.lab", []byte(formatted))
	require.NoError(t, err)
	assert.Equal(t, substance(script), substance(again))
	assert.Equal(t, 2*time.Second, script.Slower(2).Lease)
	assert.Contains(t, string(Format(script.Slower(2))), "repeat 3\nC1  check\n")
}

// Rounds that no longer are alike are written out: a shorter script must not become a longer one again.
func TestFormatWritesOutUnlikeRounds(t *testing.T) {
	script, err := Parse("x.lab", []byte(repeating))
	require.NoError(t, err)
	script.Steps = append(script.Steps[:3:3], script.Steps[4:]...) // without a check of the second round
	formatted := string(Format(script))
	assert.Equal(t, 2, strings.Count(formatted, "check"))
	assert.NotContains(t, formatted, "repeat 3")
	assert.Contains(t, formatted, "repeat 2\nC1  renew\nend")
	again, err := Parse("x.lab", []byte(formatted))
	require.NoError(t, err)
	assert.Len(t, again.Steps, len(script.Steps))
}

func TestRepeatErrors(t *testing.T) {
	head := "lease 1s\nclients C1 C2\nservers 3\n"
	for text, want := range map[string]string{
		"repeat\nC1 acquire\nend":                          "x.lab:4: say how often, as in 'repeat 3'",
		"repeat often\nC1 acquire\nend":                    `x.lab:4: "often" is no number`,
		"repeat 1\nC1 acquire\nend":                        "x.lab:4: steps can be repeated 2 to 100 times, not 1",
		"repeat 101\nC1 acquire\nend":                      "x.lab:4: steps can be repeated 2 to 100 times, not 101",
		"repeat 2\nend":                                    "x.lab:5: no step stands between here and 'repeat' on line 4",
		"C1 acquire\nend":                                  "x.lab:5: no 'repeat' is open here",
		"repeat 2\nC1 acquire":                             "x.lab:4: this 'repeat' has no 'end'",
		"repeat 2\nC1 acquire\nend 2":                      `x.lab:6: "2" is not understood after 'end'`,
		"repeat 2\nrepeat 2\nC1 acquire\nend":              "x.lab:5: a 'repeat' within that of line 4",
		"repeat 100\n" + sixChecks + "end":                 "x.lab:11: 100 rounds of 6 steps are more than the 500 steps",
		"repeat 2\nC1 crash\nend":                          "x.lab:5: C1 crashed on line 5 and does nothing any more (in round 2 of the repeat)",
		"repeet 2\nC1 acquire\nend":                        `did you mean "repeat"`,
		"on whichever server":                              "'on whichever server' does nothing",
		"on whatever server goes down":                     `unknown step "on whatever server goes down"`,
		"on whichever server vanishes":                     `unknown fault of a server "vanishes"`,
		"on whichever server restarts as saved":            "nothing is saved here; 'on whichever server saves' comes first",
		"on whichever server goes down":                    "the server that has the lock is still down at the end; add 'on whichever server comes back'",
		"on whichever server comes back":                   "the server that has the lock is not down",
		"on whichever server goes down\nS2 restarts empty": "the server that has the lock has been down since line 4; 'on whichever server comes back' comes first",
		"S2 goes down\non whichever server saves":          "S2 has been down since line 4; 'S2 comes back' comes first",
		"on whichever server saves\nS1 restarts empty\non whichever server restarts as saved": "nothing is saved here",
		"C1 refuse S3\non whichever server goes down":                                         "C1's link has had a fault since line 4",
		"wait": `unknown step "wait"`,
	} {
		_, err := Parse("x.lab", []byte(head+text))
		assert.ErrorContains(t, err, want, text)
	}
	for _, name := range []string{"repeat", "end", "on"} {
		_, err := Parse("x.lab", []byte("lease 1s\nclients "+name+"\n"))
		assert.ErrorContains(t, err, "because scripts use that word")
	}
}

const sixChecks = "C1 check\nC1 check\nC1 check\nC1 check\nC1 check\nC1 check\n"
