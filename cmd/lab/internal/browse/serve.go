// Package browse is what is shown in a browser: lab open and lab serve.
//
// It owns how a page is opened, and turns what a browser asks for into plans of package run. It must not know what is on a page.
package browse

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/locklab/locklab/cmd/lab/internal/cli"
	"github.com/locklab/locklab/cmd/lab/internal/naming"
	"github.com/locklab/locklab/cmd/lab/internal/option"
	"github.com/locklab/locklab/cmd/lab/internal/run"
	"github.com/locklab/locklab/cmd/lab/internal/saved"
	"github.com/locklab/locklab/impls"
	"github.com/locklab/locklab/internal/lab"
	"github.com/locklab/locklab/internal/report"
	"github.com/locklab/locklab/internal/report/web"
	"github.com/locklab/locklab/internal/serve"
	"github.com/locklab/locklab/scenarios"
)

// serveFlags are the flags of lab serve as given.
type serveFlags struct {
	where   option.Setting
	results option.Results
	port    int
	noOpen  bool
}

// Serve is lab serve.
func Serve() *cobra.Command {
	flags := &serveFlags{}
	cmd := &cobra.Command{
		Use:   "serve [RUN]...",
		Short: "Show runs in a browser, and run scenarios and storms from there",
		Long: `Serve shows runs in a browser: those in runs/, or those that are named. A button
starts a scenario or a storm and shows it while it runs. The results are kept
like those of any other run.

It prints its address and opens it. Only programs on this machine reach it, and
only with the token in the address. Ctrl-C ends it, and what it runs.`,
		Example: `  lab serve
  lab serve runs/latest
  lab serve --server redis-server
  lab serve --no-open --port 8080`,
		ValidArgsFunction: naming.CompleteRuns,
		RunE:              flags.run,
	}
	where, shown := cli.FlagSet(), cli.FlagSet()
	flags.where.Bind(where)
	flags.where.Alone = false // it starts a browser
	flags.results.BindRuns(shown)
	shown.IntVar(&flags.port, "port", 0, "listen on port `N` of 127.0.0.1 (default: a free one)")
	bindNoOpen(shown, &flags.noOpen)
	cli.UseGroups(cmd, []cli.FlagGroup{{Title: "Where to run", Flags: where}, {Title: "What to show", Flags: shown}})
	flags.where.Complete(cmd)
	return cmd
}

func (f *serveFlags) run(cmd *cobra.Command, args []string) error {
	if f.port < 0 || f.port > 1<<16-1 {
		return cli.Usagef("--port must be from 0 to 65535, not %d", f.port)
	}
	var named []string
	for _, path := range args {
		saved, err := saved.Read(path)
		if err != nil {
			return err
		}
		named = append(named, saved.Dir)
	}
	if err := f.where.Settle(cmd); err != nil {
		return err
	}
	if err := f.where.CheckLocks(); err != nil {
		return err
	}
	if err := f.results.Check(); err != nil {
		return err
	}
	if err := f.where.Check(); err != nil {
		return err
	}
	builtin, err := scenarios.Builtin()
	if err != nil {
		return err
	}
	server, err := serve.Listen(serve.Config{
		Dir: f.results.Runs, Named: named, Lengths: []string{"10s", "30s", "1m", "5m"}, Plan: f.plan,
		Scenarios: cli.Map(builtin, func(script *scenarios.Script) web.Choice { return web.Choice{Name: script.Name, Title: script.Title} }),
		Locks:     cli.Map(impls.Every(), func(spec impls.Spec) web.Choice { return web.Choice{Name: spec.Name, Title: spec.Idea} }),
	}, f.port)
	if err != nil {
		return cli.Usagef("--port: the lab cannot listen at 127.0.0.1:%d: %v", f.port, cli.Plainly(err))
	}
	if err := announce(cmd, server.URL(), server.Once(), f.noOpen); err != nil {
		return err
	}
	fmt.Fprintln(cmd.ErrOrStderr(), "Ctrl-C ends it, and what it runs.")
	return server.Serve(cmd.Context())
}

// plan turns what was ordered into what lab run or lab storm would do.
func (f *serveFlags) plan(order serve.Order) (*serve.Job, error) {
	of := run.Request{Where: f.where, Results: f.results, Lock: order.Lock}
	switch order.Kind {
	case serve.Scenario:
		plan, err := of.Scenario(order.Scenario, order.World)
		if err != nil {
			return nil, err
		}
		return &serve.Job{Dir: plan.Results.Dir, Run: func(ctx context.Context, sink report.Sink) error {
			plan.Sink = sink
			_, err := lab.Run(ctx, plan)
			return err
		}}, nil
	case serve.Storm:
		plan, err := of.Storm(order.For)
		if err != nil {
			return nil, err
		}
		return &serve.Job{Dir: plan.Results.Dir, For: plan.Params.For, Run: func(ctx context.Context, sink report.Sink) error {
			plan.Sink = sink
			_, err := lab.Storm(ctx, plan)
			return err
		}}, nil
	}
	return nil, cli.OneOf("order", order.Kind, []string{serve.Scenario, serve.Storm}, "there are scenario and storm")
}
