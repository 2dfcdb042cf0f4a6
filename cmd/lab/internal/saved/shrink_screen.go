package saved

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/locklab/locklab/cmd/lab/internal/cli"
	"github.com/locklab/locklab/internal/lab"
	"github.com/locklab/locklab/internal/record"
	"github.com/locklab/locklab/internal/report/format"
	"github.com/locklab/locklab/internal/report/terminal"
	"github.com/locklab/locklab/internal/scenarios/live"
)

// shrinkScreen shows on stderr how far shrinking has come, what came of it, and what to do next.
type shrinkScreen struct {
	err     io.Writer
	flags   *shrinkFlags
	dir     string
	again   []string // arguments and flags as given
	cell    record.Cell
	began   time.Time
	done    chan struct{}
	stopped sync.WaitGroup

	mu    sync.Mutex // the meter is drawn while a search or a play goes on
	meter *terminal.Meter
	state lab.ShrinkState
}

func newShrinkScreen(cmd *cobra.Command, flags *shrinkFlags, args []string, cell record.Cell) *shrinkScreen {
	dir, _ := lab.RunOf(args[0])
	s := &shrinkScreen{
		err: cmd.ErrOrStderr(), flags: flags, dir: dir, cell: cell, began: time.Now(), done: make(chan struct{}),
		meter: cli.Meter(cmd, false),
	}
	s.again = slices.Clone(args)
	cmd.Flags().Visit(func(f *pflag.Flag) {
		if f.Name != "verbose" && f.Name != "out" {
			s.again = append(s.again, "--"+f.Name, f.Value.String())
		}
	})
	s.stopped.Go(s.draw)
	return s
}

// draw keeps the line of progress current until the screen is stopped.
func (s *shrinkScreen) draw() {
	often := time.NewTicker(200 * time.Millisecond)
	defer often.Stop()
	for {
		select {
		case <-s.done:
			return
		case <-often.C:
			s.mu.Lock()
			took := time.Since(s.began)
			s.meter.Show(took, format.Clean(fmt.Sprintf("%d scripts played, %v elapsed; %s", s.state.Played, took.Round(time.Second), s.state.Candidate)))
			s.mu.Unlock()
		}
	}
}

func (s *shrinkScreen) stop() {
	close(s.done)
	s.stopped.Wait()
	s.meter.Clear()
}

// attempt takes in how far shrinking has come.
func (s *shrinkScreen) attempt(now lab.ShrinkState) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.flags.verbose {
		if now.Candidate != s.state.Candidate {
			s.line("try      %s", now.Candidate)
		}
		if now.Rejected != "" {
			s.line("rejected %s", now.Rejected)
		}
	}
	s.state = now
}

func (s *shrinkScreen) line(text string, args ...any) {
	s.meter.Clear()
	fmt.Fprintln(s.err, format.Clean(fmt.Sprintf(text, args...)))
}

// result says what the script shows and how often, where its order is from, and what to do next.
func (s *shrinkScreen) result(shrunk *lab.Shrunk) {
	a := shrunk.Anomaly
	order := fmt.Sprintf("the storm's own, forced; %d of %d steps are needed", len(shrunk.Script.Steps), shrunk.From)
	switch {
	case shrunk.Smallest:
		order = "the smallest schedule that the explorer finds; the storm's own could not be forced"
	case shrunk.Cut:
		order = fmt.Sprintf("the storm's own, forced; %d of %d steps are left after %v, maybe not all are needed (--within)", len(shrunk.Script.Steps), shrunk.From, s.flags.within)
	}
	fmt.Fprintln(s.err)
	rows := [][]string{
		{"shown", s.shown(shrunk)}, {"order", order}, {"found", format.Clean(a.Why)},
		{"effort", fmt.Sprintf("%d scripts played in %v", shrunk.Played, time.Since(s.began).Round(100*time.Millisecond))},
	}
	cli.WriteTable(s.err, cli.Width(s.err), "", rows)
	script, next := s.flags.out, [][]string{}
	if script == "" {
		script = "race.lab"
		next = append(next, slices.Concat([]string{"script", "shrink"}, s.again, []string{"--out", script}))
	}
	s.next(append(next, slices.Concat([]string{"run", "run", script}, s.subject(), s.played()))...)
}

// shown says what the script showed, where, and how often.
func (s *shrinkScreen) shown(shrunk *lab.Shrunk) string {
	shown := string(shrunk.Anomaly.Name)
	if shrunk.InModel > 0 {
		shown += fmt.Sprintf(", in the model %d of %d times", shrunk.InModel, shrunk.InModel)
	}
	if shrunk.OnServer > 0 {
		shown += fmt.Sprintf(", on %s %d of %d", s.flags.played.Server, shrunk.OnServer, shrunk.OnServer)
	}
	return shown
}

// subject are the flags of lab run for the lock.
func (s *shrinkScreen) subject() []string {
	switch {
	case s.flags.client == "":
		return []string{"--lock", s.cell.Lock}
	case s.flags.like != "":
		return []string{"--client", s.flags.client, "--like", s.flags.like}
	}
	return []string{"--client", s.flags.client}
}

// next lists commands, and those that show the cell and its lock.
func (s *shrinkScreen) next(commands ...[]string) {
	explain := []string{"explain", "explain", s.dir, s.cell.Lock + "/" + s.cell.Scenario}
	if s.cell.Round > 1 {
		explain = append(explain, "--round", strconv.Itoa(s.cell.Round))
	}
	commands = append(commands, explain)
	if s.flags.client == "" {
		commands = append(commands, []string{"show", "show", s.cell.Lock})
	}
	fmt.Fprintf(s.err, "\n%s", cli.Next(s.err, commands...))
}

// played are the flags that say where the script was played, unless that is the default.
func (s *shrinkScreen) played() []string {
	switch {
	case s.flags.played.World == lab.Sim:
		return []string{"--world", lab.Sim}
	case s.flags.played.Server != live.Embedded:
		return []string{"--server", s.flags.played.Server}
	}
	return nil
}

// nothing says what was tried in vain. The full list is printed on demand: it is often long.
func (s *shrinkScreen) nothing(shrunk *lab.Shrunk) error {
	within := ""
	if shrunk.Cut {
		within = fmt.Sprintf(" within %v (--within)", s.flags.within)
	}
	s.line("lab: no script shows the anomaly again%s: %d candidates were rejected, %d scripts played", within, len(shrunk.Tried), shrunk.Played)
	for i, tried := range shrunk.Tried {
		if i == 3 && !s.flags.verbose {
			s.line("lab: and %d more; -v lists them", len(shrunk.Tried)-i)
			break
		}
		s.line("lab: tried %s", tried)
	}
	s.next()
	return cli.Exit(cli.CodeUnknown)
}

// interrupted says how far shrinking had come.
func (s *shrinkScreen) interrupted() error {
	s.line("lab: not complete: no script so far; %d scripts played", s.state.Played)
	return cli.Exit(cli.CodeUnknown) // the signal's code comes before it
}
