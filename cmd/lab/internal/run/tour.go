package run

import (
	"github.com/spf13/cobra"

	"github.com/locklab/locklab/cmd/lab/internal/cli"
	"github.com/locklab/locklab/history"
	"github.com/locklab/locklab/internal/lab"
	"github.com/locklab/locklab/internal/record"
	"github.com/locklab/locklab/internal/report/screen"
	"github.com/locklab/locklab/internal/scenarios/live"
)

// tours says whether the user has chosen nothing: then lab run is a tour.
func (f *runFlags) tours(args []string) bool {
	c := &f.campaign
	chosen := f.all || len(args) > 0 || c.subjects.Chosen() || c.shard != "" || c.count != 1 || f.expected.update || f.expected.expect != "" || c.workload != string(history.Counter)
	return !chosen
}

// tour runs what a newcomer should see, and shows it on one screen.
func (f *runFlags) tour(cmd *cobra.Command) error {
	c := &f.campaign
	if err := c.check(); err != nil {
		return err
	}
	if c.where.ForPrograms() {
		return c.where.NeedsProgram()
	}
	if live.OnZooKeeper(c.where.Server) {
		return cli.Usagef("the tour shows locks on Redis; for those on a ZooKeeper write lab run --all --server zookeeper")
	}
	cases, situations, err := lab.Tour()
	if err != nil {
		return err
	}
	setting := "real processes and faults"
	if c.where.World == lab.Sim {
		setting = "in the model"
	}
	screen := c.screen.Sink(cmd, &screen.Tour{
		Setting: setting, Dir: c.results.Shown(), Situations: situations, Race: lab.TourRace,
		Read: func(run *record.Run, cell record.Cell) ([]history.Event, error) {
			return lab.HistoriesOf(run).Read(cell)
		},
		More: [][2]string{
			{"your lock", "run --client 'python3 mylock.py'"},
			{"everything", "run --all"},
			{"explore", "explore setpx-lua --clients 2 --pauses 1"},
		},
	})
	options, err := f.options(cmd, screen)
	if err != nil {
		return err
	}
	run, err := lab.Run(cmd.Context(), lab.Plan{Cases: cases, Options: options})
	if err != nil {
		return err
	}
	return cli.Conclude(run)
}
