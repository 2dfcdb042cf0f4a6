package option

import (
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/locklab/locklab/cmd/lab/internal/cli"
	"github.com/locklab/locklab/cmd/lab/internal/naming"
	"github.com/locklab/locklab/impls"
	"github.com/locklab/locklab/internal/lab"
	"github.com/locklab/locklab/internal/scenarios/live"
)

// Replay says where a script that was found is played.
type Replay struct{ World, Server string }

// Bind binds --world and --server with their texts.
func (f *Replay) Bind(flags *pflag.FlagSet, world, server string) {
	flags.StringVar(&f.World, "world", lab.Live, world)
	flags.StringVar(&f.Server, "server", live.Embedded, server+": embedded, redis-server, replicated or zookeeper (default: embedded; zookeeper for a lock on one)")
}

// Complete completes these flags.
func (f *Replay) Complete(cmd *cobra.Command) {
	cli.CompleteFlag(cmd, "server", cli.Fixed(replayServers()...))
	cli.CompleteFlag(cmd, "world", naming.CompleteWorlds)
}

// replayServers are the servers that such scripts are played on.
func replayServers() []string { return append(live.RedisServers(), live.ZooKeeper) }

// Check finds what is wrong with the values.
func (f *Replay) Check() error {
	if err := cli.OneOf("server", f.Server, replayServers(), "--server takes "+cli.Enumerate(replayServers(), "or")); err != nil {
		return err
	}
	return naming.World(f.World)
}

// For chooses a ZooKeeper for a lock on one, unless the flag names a server. The error is of a lock that does not run there.
func (f *Replay) For(cmd *cobra.Command, lock impls.Spec) error {
	on := lock.Needs == impls.OneZooKeeper
	if on && !cmd.Flags().Changed("server") {
		f.Server = live.ZooKeeper
	}
	if on != (f.Server == live.ZooKeeper) {
		return cli.Usagef("%s does not run on --server %s", lock.Name, f.Server)
	}
	return nil
}

// Setting is where the lab plays it.
func (f *Replay) Setting() lab.Setting {
	return lab.Setting{World: f.World, Server: f.Server, Alone: true}
}
