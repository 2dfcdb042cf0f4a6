package main

import (
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/locklab/locklab/history"
	"github.com/locklab/locklab/internal/lab"
	"github.com/locklab/locklab/internal/record"
	"github.com/locklab/locklab/internal/report/screen"
	"github.com/locklab/locklab/internal/scenarios/live"
)

// tours says whether the user has chosen nothing: then lab run is a tour.
func (f *runFlags) tours(args []string) bool {
	chosen := f.all || len(args) > 0 || len(f.locks) > 0 || len(f.programs) > 0 || f.shard != "" || f.count != 1 || f.update || f.expect != "" || f.workload != string(history.Counter)
	return !chosen
}

// tour runs what a newcomer should see, and shows it on one screen.
func (f *runFlags) tour(cmd *cobra.Command) error {
	if err := f.checkValues(); err != nil {
		return err
	}
	if f.forPrograms() {
		return f.needsProgram()
	}
	if live.OnZooKeeper(f.Server) {
		return usagef("the tour shows locks on Redis; for those on a ZooKeeper write lab run --all --server zookeeper")
	}
	cases, situations, err := lab.Tour()
	if err != nil {
		return err
	}
	dir, setting := filepath.ToSlash(filepath.Join(f.kept.in, "latest")), "real processes and faults"
	if f.out != "" {
		dir = f.out
	}
	if f.World == lab.Sim {
		setting = "in the model"
	}
	screen := f.screenOf(cmd, &screen.Tour{
		Setting: setting, Dir: dir, Situations: situations, Race: lab.TourRace,
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
	return conclude(run)
}
