package saved

import (
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/require"

	"github.com/locklab/locklab/checker"
	"github.com/locklab/locklab/cmd/lab/internal/cli"
	"github.com/locklab/locklab/cmd/lab/internal/option"
	"github.com/locklab/locklab/internal/lab"
	"github.com/locklab/locklab/internal/record"
	"github.com/locklab/locklab/internal/scenarios/live"
	"github.com/locklab/locklab/scenarios"
)

// TestShrinkScreen: what came of shrinking comes first, then what it rests on, then the next commands.
func TestShrinkScreen(t *testing.T) {
	commands := `
Next
  script   lab shrink runs/r --out race.lab
  run      lab run race.lab --lock local --server redis-server
  explain  lab explain runs/r local/storm --round 2
  show     lab show local
`
	for _, test := range []struct {
		name string
		show func(*shrinkScreen) error
		want string
		code int
	}{
		{"the smallest schedule", func(s *shrinkScreen) error {
			s.result(&lab.Shrunk{
				Script: &scenarios.Script{Steps: make([]scenarios.Step, 2)}, Smallest: true, Played: 9, InModel: 3, OnServer: 3,
				Anomaly: checker.Anomaly{Name: checker.DoubleHolder, Why: "C1 acquired the lock."},
			})
			return nil
		}, `
shown   double-holder, in the model 3 of 3 times, on redis-server 3 of 3
order   the smallest schedule that the explorer finds; the storm's own could not
        be forced
found   C1 acquired the lock.
effort  9 scripts played in TIME
` + commands, cli.CodeExpected},
		{"nothing", func(s *shrinkScreen) error {
			return s.nothing(&lab.Shrunk{Played: 9, Tried: []string{"a", "b", "c", "d", "e"}})
		}, `lab: no script shows the anomaly again: 5 candidates were rejected, 9 scripts played
lab: tried a
lab: tried b
lab: tried c
lab: and 2 more; -v lists them

Next
  explain  lab explain runs/r local/storm --round 2
  show     lab show local
`, cli.CodeUnknown},
		{"interrupted", func(s *shrinkScreen) error {
			s.attempt(lab.ShrinkState{Candidate: "double-holder", Rejected: "it showed nothing", Played: 4})
			return s.interrupted()
		}, "lab: not complete: no script so far; 4 scripts played\n", cli.CodeUnknown},
	} {
		t.Run(test.name, func(t *testing.T) {
			var err strings.Builder
			cmd := &cobra.Command{}
			cmd.SetErr(&err)
			s := newShrinkScreen(cmd, &shrinkFlags{played: option.Replay{World: lab.Live, Server: live.RedisServer}}, []string{"runs/r"}, record.Cell{Lock: "local", Scenario: "storm", Round: 2})
			s.stop()
			if shown := test.show(s); test.code == cli.CodeExpected {
				require.NoError(t, shown)
			} else {
				require.Equal(t, cli.Exit(test.code), shown)
			}
			text := regexp.MustCompile(`played in \S+`).ReplaceAllString(err.String(), "played in TIME")
			require.Equal(t, test.want, strings.ReplaceAll(text, cli.Program(), "lab"))
		})
	}
}
