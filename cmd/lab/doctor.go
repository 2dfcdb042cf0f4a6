package main

import (
	"context"
	"fmt"
	"io"
	"os/exec"
	"runtime"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/locklab/locklab/faults/network"
	"github.com/locklab/locklab/faults/server"
)

func newDoctor() *cobra.Command {
	return &cobra.Command{
		Use:   "doctor",
		Short: "Say what is on this machine, what can run, and what is missing",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx, cancel := context.WithTimeout(cmd.Context(), 30*time.Second)
			defer cancel()
			return examine(ctx, cmd.OutOrStdout())
		},
	}
}

// finding is one line of the doctor's report.
type finding struct {
	what    string
	version string // what was found
	err     error  // why it cannot be used
	use     string // what it is good for
	remedy  string // how to get it
	must    bool   // without it the lab does not work at all
}

// examine reports, and fails if something is missing that every run needs.
func examine(ctx context.Context, w io.Writer) error {
	fmt.Fprintf(w, "lab %s, %s, %s/%s, %d cores\n\n", version(), runtime.Version(), runtime.GOOS, runtime.GOARCH, runtime.NumCPU())
	broken := 0
	for _, f := range []finding{embedded(), toxiproxy(ctx), processes(), redis(), python(ctx)} {
		state, detail := "ok", f.version
		if f.err != nil {
			state, detail = "missing", f.err.Error()
			if f.must {
				broken++
			}
		}
		fmt.Fprintf(w, "%-8s %-22s %s\n", state, f.what, detail)
		fmt.Fprintf(w, "%31s %s\n", "", "for "+f.use)
		if f.err != nil && f.remedy != "" {
			fmt.Fprintf(w, "%31s %s\n", "", f.remedy)
		}
	}
	if broken > 0 {
		return fmt.Errorf("%d of the things that every run needs do not work", broken)
	}
	return nil
}

func embedded() finding {
	f := finding{what: "embedded server", use: "lab run", must: true}
	s, err := server.StartEmbedded()
	if err != nil {
		f.err = err
		return f
	}
	f.version, f.err = s.Describe(), s.Close()
	return f
}

func toxiproxy(ctx context.Context) finding {
	f := finding{what: "embedded toxiproxy", use: "lab run", must: true}
	n, err := network.Open(ctx, "")
	if err != nil {
		f.err = err
		return f
	}
	f.version, f.err = "toxiproxy "+n.Version(), n.Close()
	return f
}

func processes() finding {
	f := finding{what: "processes", version: "pause, resume and kill", use: "lab run", must: true}
	if runtime.GOOS == "windows" {
		f.version, f.err = "", fmt.Errorf("processes cannot be paused on Windows")
		f.remedy = "on Windows, use lab check, or run the lab in WSL"
	}
	return f
}

func redis() finding {
	path, version, err := server.FindRedis()
	return finding{
		what: "redis-server", version: version + " at " + path, err: err,
		use:    "lab run --server redis-server, and go test",
		remedy: "install Redis, for example: apt-get install redis-server",
	}
}

func python(ctx context.Context) finding {
	f := finding{what: "python3 with redis-py", use: "adapters/python, and go test", remedy: "for example: apt-get install python3-redis"}
	for _, python := range []string{"python3", "/usr/bin/python3"} {
		out, err := exec.CommandContext(ctx, python, "-c", "import sys, redis; print(sys.version.split()[0], 'with redis-py', redis.__version__)").CombinedOutput()
		if err == nil {
			f.version, f.err = strings.TrimSpace(string(out))+" as "+python, nil
			return f
		}
		lines := strings.Split(strings.TrimSpace(string(out)), "\n")
		if f.err = err; lines[len(lines)-1] != "" {
			f.err = fmt.Errorf("%s", lines[len(lines)-1])
		}
	}
	return f
}
