// Package option has the flags that several commands share, as a type for each subject: where cells run (Setting), what is tested (Subjects), which part
// (Shard), what is kept and shown of a run (Results, Screen), and where a counterexample is played (Replay).
//
// It owns their texts and what is wrong with their values. It must not know a command, nor run anything but to ask a client for its hello.
package option

import (
	"net"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/locklab/locklab/cmd/lab/internal/cli"
	"github.com/locklab/locklab/cmd/lab/internal/naming"
	"github.com/locklab/locklab/impls"
	"github.com/locklab/locklab/internal/faults/network"
	"github.com/locklab/locklab/internal/faults/server/address"
	"github.com/locklab/locklab/internal/faults/server/redis"
	"github.com/locklab/locklab/internal/lab"
	"github.com/locklab/locklab/internal/scenarios/live"
	"github.com/locklab/locklab/internal/waiting"
)

// DefaultTimeout is after how long a cell is given up.
const DefaultTimeout = time.Minute

// Setting says where cells run: the flags about servers and links. World, Timeout and Wait have flags where a command says so.
type Setting struct {
	lab.Setting
	stateProbes  bool
	passwordFile string
}

// Bind binds the flags about servers and links. A command that starts processes besides the run says that it is not Alone.
func (f *Setting) Bind(flags *pflag.FlagSet) {
	f.World, f.Timeout, f.Alone = lab.Live, DefaultTimeout, true
	flags.StringVar(&f.Server, "server", fromEnv(serverVar, live.Embedded), "`SERVER` is "+strings.Join(live.Servers(), ", ")+" (all started by the lab), host:port, redis://user@host:port/db, rediss:// with TLS, or zookeeper://host:port [LOCKLAB_SERVER]")
	flags.StringVar(&f.Restart, "restart-command", "", "scripts may restart a Redis at an address by `COMMAND`, which gets one more word: stop or start")
	f.Credentials.Password = redis.Secret(os.Getenv(passwordVar))
	flags.StringVar(&f.passwordFile, "password-file", fromEnv(passwordFileVar, ""), "the password of a server at an address is in `FILE` (or in LOCKLAB_PASSWORD) [LOCKLAB_PASSWORD_FILE]")
	flags.StringVar(&f.Credentials.CA, "tls-ca", fromEnv("LOCKLAB_TLS_CA", ""), "with rediss://: trust the authorities in `FILE` (default: the system's) [LOCKLAB_TLS_CA]")
	flags.StringVar(&f.Credentials.Cert, "tls-cert", fromEnv("LOCKLAB_TLS_CERT", ""), "with rediss://: show the client's certificate in `FILE` [LOCKLAB_TLS_CERT]")
	flags.StringVar(&f.Credentials.Key, "tls-key", fromEnv("LOCKLAB_TLS_KEY", ""), "with rediss://: the key of that certificate is in `FILE` [LOCKLAB_TLS_KEY]")
	flags.StringVar(&f.Toxiproxy, "toxiproxy", fromEnv("LOCKLAB_TOXIPROXY", ""), "use the toxiproxy at `URL` instead of the embedded one [LOCKLAB_TOXIPROXY]")
	flags.StringVar(&f.Listen, "listen", fromEnv("LOCKLAB_LISTEN", ""), "listen on `HOST` for connections from that toxiproxy (default 127.0.0.1) [LOCKLAB_LISTEN]")
	flags.StringVar(&f.Advertise, "advertise", fromEnv("LOCKLAB_ADVERTISE", ""), "toxiproxy reaches the lab at `HOST`, or auto (default: that of --listen) [LOCKLAB_ADVERTISE]")
	flags.BoolVar(&f.stateProbes, "state-probes", true, "ask the server for the lock's state around each command; without it no verdict is safe")
	flags.BoolVar(&f.AnyCommand, "allow-any-command", false, "let clients send a server at an address commands that touch more than their own keys")
	flags.BoolVar(&f.stateProbes, "questions", true, "the former name of --state-probes")
	if err := flags.MarkHidden("questions"); err != nil {
		panic(err) // only for a flag that does not exist
	}
}

func fromEnv(name, otherwise string) string {
	if value := os.Getenv(name); value != "" {
		return value
	}
	return otherwise
}

// Complete completes the flags about servers.
func (f *Setting) Complete(cmd *cobra.Command) {
	cli.CompleteFlag(cmd, "server", cli.Fixed(live.Servers()...))
}

// Settle looks at --world, and settles the flags that make no sense there.
func (f *Setting) Settle(cmd *cobra.Command) error {
	f.NoStateProbes = !f.stateProbes
	atAddress := !f.OwnServer() && !live.OnZooKeeper(f.Server)
	for _, flag := range addressFlags {
		if cmd.Flags().Changed(flag) && f.World != lab.Sim && !atAddress {
			return cli.Usagef("--%s is for a Redis at an address, and --server is %s", flag, address.Redact(f.Server))
		}
	}
	if !atAddress {
		f.Credentials, f.passwordFile = live.Credentials{}, "" // whatever the environment says
	}
	if err := naming.World(f.World); err != nil || f.World == lab.Live {
		return err
	}
	for _, none := range []struct{ flag, why string }{
		{"client", "the model runs no programs"},
		{"server", "the model has servers of its own"},
		{"toxiproxy", "the model has no network"},
		{"listen", "the model has no network"},
		{"advertise", "the model has no network"},
		{"password-file", "the model has servers of its own"},
		{"restart-command", "the model has servers of its own"},
		{"tls-ca", "the model has no network"},
		{"tls-cert", "the model has no network"},
		{"tls-key", "the model has no network"},
		{"state-probes", "the model always knows the state"},
		{"allow-any-command", "the model has servers of its own"},
		{"questions", "the model always knows the state"},
		{"update", "expectations are reviewed in the live world"},
	} {
		if cmd.Flags().Changed(none.flag) {
			return cli.Usagef("--world sim and --%s do not go together: %s", none.flag, none.why)
		}
	}
	f.UseModel() // whatever the environment says
	return nil
}

// UseModel leaves nothing but what the model has.
func (f *Setting) UseModel() {
	f.Setting = lab.Setting{World: lab.Sim, Timeout: f.Timeout, Wait: f.Wait, Alone: f.Alone}
}

// Check finds what is wrong with the values of flags by themselves.
func (f *Setting) Check() error {
	if f.Timeout <= 0 {
		return cli.Usagef("--timeout must be more than zero, not %v", f.Timeout)
	}
	if err := waiting.Check(f.Wait); err != nil {
		return cli.Usagef("--wait: %v", err)
	}
	if f.World == lab.Sim {
		return nil
	}
	if err := f.checkServer(); err != nil {
		return err
	}
	if f.Toxiproxy != "" {
		if err := network.CheckURL(f.Toxiproxy); err != nil {
			return cli.Usagef("--toxiproxy: %v", err)
		}
	}
	return f.checkListen()
}

func (f *Setting) checkServer() error {
	names := live.Servers()
	if f.OwnServer() || live.OnZooKeeper(f.Server) {
		return nil
	}
	if f.Server == "sentinel" {
		return cli.Usagef("--server: the lab starts no Sentinels: take replicated, where the lab itself promotes replicas; the verdicts are the same")
	}
	if !redis.IsURL(f.Server) && address.Check(f.Server) != nil {
		return cli.UnknownName("server", address.Redact(f.Server), names, "--server takes "+
			cli.Enumerate(append(names, "an address like 127.0.0.1:6379, rediss://user@127.0.0.1:6379/0 or zookeeper://127.0.0.1:2181"), "or"))
	}
	if f.passwordFile != "" {
		if f.Credentials.Password != "" {
			return cli.Usagef("there are two passwords: leave out %s, --password-file or the one in --server", passwordVar)
		}
		var err error
		if f.Credentials.Password, err = readPassword(f.passwordFile); err != nil {
			return err
		}
		f.passwordFile = ""
	}
	if _, err := redis.ParseEndpoint(f.Server, f.Credentials); err != nil {
		return cli.Usagef("--server: %v", cli.Plainly(err))
	}
	return nil
}

// addressFlags are the flags about a Redis at an address.
var addressFlags = []string{"password-file", "tls-ca", "tls-cert", "tls-key", "restart-command"}

// OwnServer says whether the lab starts the servers.
func (f *Setting) OwnServer() bool {
	return slices.Contains(live.Servers(), f.Server)
}

// checkListen listens for a moment where the taps of the cells are going to.
func (f *Setting) checkListen() error {
	if f.Listen == "" {
		return nil
	}
	if _, _, err := net.SplitHostPort(f.Listen); err == nil {
		return cli.Usagef("--listen takes a host without a port, not %q; the lab chooses free ports", f.Listen)
	}
	listener, err := net.Listen("tcp", net.JoinHostPort(f.Listen, "0"))
	if err != nil {
		return cli.Usagef("--listen: the lab cannot listen at %q: %v", f.Listen, cli.Plainly(err))
	}
	return listener.Close()
}

// Locks are those whose service is the server.
func (f *Setting) Locks() []impls.Spec {
	switch {
	case f.World == lab.Sim:
		return impls.Every()
	case live.OnZooKeeper(f.Server):
		return impls.OnZooKeeper()
	case f.Server == live.Replicated:
		return slices.Concat(impls.All(), impls.OnReplicas())
	case f.Server == live.Cluster:
		return slices.Concat(impls.All(), impls.OnCluster())
	}
	return impls.All()
}

// ForPrograms says whether only programs of one's own have locks on the server.
func (f *Setting) ForPrograms() bool {
	return f.World != lab.Sim && slices.Contains(live.ProgramServers(), f.Server)
}

// CheckLocks refuses a server on which no lock of the lab runs.
func (f *Setting) CheckLocks() error {
	if !f.ForPrograms() {
		return nil
	}
	return cli.Usagef("--server %s needs --client: no lock of the lab runs there; adapters/%s has a client", f.Server, f.Server)
}
