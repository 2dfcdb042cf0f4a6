// Package client is for those who have a lock of their own: lab doctor says whether a machine and a client can take part, and lab grade what a mended
// lock survives.
//
// It owns these two screens. It must not know the checks and exercises themselves.
package client

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/locklab/locklab/cmd/lab/internal/cli"
	"github.com/locklab/locklab/cmd/lab/internal/naming"
	"github.com/locklab/locklab/internal/adapters"
	"github.com/locklab/locklab/internal/faults/network"
	"github.com/locklab/locklab/internal/faults/server/etcd"
	"github.com/locklab/locklab/internal/faults/server/postgres"
	"github.com/locklab/locklab/internal/faults/server/redis"
	"github.com/locklab/locklab/internal/faults/server/zookeeper"
	"github.com/locklab/locklab/internal/lab"
	"github.com/locklab/locklab/internal/report/format"
)

// Doctor is lab doctor.
func Doctor() *cobra.Command {
	flags := &doctorFlags{}
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Check what this machine has and what can run, or whether a client keeps to the protocol",
		Long: `Doctor says what this machine has, and what can run.

With --client it holds some thirty conversations with a client of yours: each
verb, cancel, broken links, two handles, errors of the server. Each failure
names the sentence of docs/tables/protocol.md that the client breaks. That is
about the adapter: what the lock is worth, lab run says.`,
		Example: "  lab doctor\n  lab doctor --client 'python3 mylock.py'",
		Args:    cli.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if cmd.Flags().Changed("client") {
				return flags.conform(cmd)
			}
			ctx, cancel := context.WithTimeout(cmd.Context(), 30*time.Second)
			defer cancel()
			return examine(ctx, cmd.OutOrStdout(), cli.Width(cmd.OutOrStdout()))
		},
	}
	own := cli.FlagSet()
	own.StringVar(&flags.client, "client", "", "check the client started by `COMMAND`; it speaks docs/protocol.md")
	own.StringVar(&flags.like, "like", "", "with --client: have it open the lock `LOCK`")
	flags.where.Bind(own)
	cmd.Flags().AddFlagSet(own)
	flags.where.Complete(cmd)
	cli.CompleteFlag(cmd, "like", naming.CompleteLocks)
	return cmd
}

// finding is one line of the doctor's report.
type finding struct {
	what    string
	version string // what was found
	err     error  // why it cannot be used
	use     string // what it is good for
	remedy  string // how to get it
	must    bool   // without it the lab does not work at all
	word    string // by which LOCKLAB_REQUIRE names it
}

// examine reports, and fails if something is missing that every run needs.
func examine(ctx context.Context, w io.Writer, width int) error {
	fmt.Fprintf(w, "lab %s, %s, %s/%s, %d cores\n\n", lab.Version(), runtime.Version(), runtime.GOOS, runtime.GOARCH, runtime.NumCPU())
	findings := []finding{embedded(), toxiproxy(ctx), processes(), redisServer(),
		startable("ZooKeeper", "zookeeper", "zookeeper", ", run by ", zookeeper.Find),
		startable("etcd", "etcd", "etcd --client", " at ", etcd.Find),
		startable("PostgreSQL", "postgres", "postgres --client", " at ", postgres.Find), python(ctx),
		library(adapters.NeedsKazoo, "adapters/python/kazoo_lock.py", "apt-get install python3-kazoo"),
		library(adapters.NeedsRedisRb, "adapters/ruby", "apt-get install ruby-redis"),
		browser(),
	}
	rows := append([][]string{{"STATE", "WHAT", "FOR", "FOUND"}}, cli.Map(findings, finding.row)...)
	if err := cli.WriteTable(w, width, "", rows); err != nil {
		return err
	}
	required := strings.FieldsFunc(os.Getenv("LOCKLAB_REQUIRE"), func(r rune) bool { return r == ',' })
	fmt.Fprint(w, "\nTests skip what a machine lacks, unless LOCKLAB_REQUIRE names it\n")
	if err := cli.WriteTable(w, width, "  ", requirements(findings, required)); err != nil {
		return err
	}
	if i := slices.IndexFunc(findings, func(f finding) bool { return f.must && f.err != nil }); i >= 0 {
		return fmt.Errorf("every run needs this: %s: %w", findings[i].what, findings[i].err)
	}
	return nil
}

func (f finding) row() []string {
	if f.err == nil {
		return []string{"ok", f.what, f.use, format.Clean(f.version)}
	}
	said := f.err.Error()
	if f.remedy != "" {
		said += "; " + f.remedy
	}
	return []string{"missing", f.what, f.use, format.Clean(said)}
}

// requirements says of each word that LOCKLAB_REQUIRE can have, or has, whether it is satisfied here.
func requirements(findings []finding, required []string) [][]string {
	var rows [][]string
	for _, f := range findings {
		if f.word == "" {
			continue
		}
		state := "ok"
		if f.err != nil {
			state = "missing"
		}
		if slices.Contains(required, f.word) {
			state += ", required"
		}
		rows = append(rows, []string{f.word, state})
	}
	for _, word := range required {
		if !slices.ContainsFunc(findings, func(f finding) bool { return f.word == word }) {
			rows = append(rows, []string{word, "required, but no test knows it"})
		}
	}
	return rows
}

func embedded() finding {
	f := finding{what: "embedded Redis", use: "every run", must: true}
	s, err := redis.StartEmbedded()
	if f.err = err; err == nil {
		f.version, f.err = strings.TrimPrefix(s.Describe(), "embedded "), s.Close()
	}
	return f
}

func toxiproxy(ctx context.Context) finding {
	f := finding{what: "embedded toxiproxy", use: "every run", must: true}
	n, err := network.Open(ctx, "")
	if f.err = err; err == nil {
		f.version, f.err = n.Version(), n.Close()
	}
	return f
}

func processes() finding {
	f := finding{what: "processes", version: "can be paused, resumed and killed", use: "every run", must: true}
	if runtime.GOOS == "windows" {
		f.err = errors.New("cannot be paused on Windows")
		f.remedy = "use lab check, or run the lab in WSL"
	}
	return f
}

// startable is a server that the lab starts if the machine has it.
func startable(what, word, use, from string, find func() (path, version string, err error)) finding {
	path, version, err := find()
	return finding{what: what, version: version + from + path, err: err, word: word, use: "lab run --server " + use}
}

func redisServer() finding {
	f := startable("redis-server", "redis", "redis-server", " at ", redis.Find)
	f.remedy = "get it, for example: apt-get install redis-server"
	return f
}

// library is one that an adapter needs.
func library(what adapters.Need, use, install string) finding {
	f := finding{what: string(what), use: use, word: what.Part(), version: "found", remedy: "get it, for example: " + install}
	if what.Missing() != nil {
		f.err = errors.New("not found")
	}
	return f
}

func browser() finding {
	path, err := exec.LookPath("chromium")
	if err != nil {
		path, err = exec.LookPath("chromium-headless-shell")
	}
	return finding{
		what: "Chromium", version: "found at " + path, err: err, word: "chromium",
		use: "tests of lab export", remedy: "get it, for example: apt-get install chromium",
	}
}

func python(ctx context.Context) finding {
	f := finding{
		what: "python3 with redis-py", use: "adapters/python", word: "python",
		remedy: "get it, for example: apt-get install python3-redis",
	}
	path, err := adapters.FindPython("redis")
	if err != nil {
		f.err = err
		return f
	}
	out, err := exec.CommandContext(ctx, path, "-c", "import sys, redis; print(sys.version.split()[0], 'with redis-py', redis.__version__)").Output()
	f.version, f.err = strings.TrimSpace(string(out))+" as "+path, err
	return f
}
