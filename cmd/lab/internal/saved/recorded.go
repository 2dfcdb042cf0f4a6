package saved

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/locklab/locklab/checker"
	"github.com/locklab/locklab/cmd/lab/internal/cli"
	"github.com/locklab/locklab/internal/recorded"
	"github.com/locklab/locklab/internal/report/format"
)

// maxFound is how many findings are shown.
const maxFound = 20

// recordedFlags say how a recording of others is judged.
type recordedFlags struct {
	format string
	locks  []string
}

func (f *recordedFlags) bind(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.format, "format", "", "judge a recording of others; the `FORMAT`: "+cli.Enumerate(recordedNames(), "or"))
	flags.StringArrayVar(&f.locks, "lock", nil, "with --format monitor: `KEY` is a lock, although no command sets it with NX; may be repeated")
	cli.CompleteFlag(cmd, "format", cli.Complete(recorded.Formats(), func(format recorded.Format) (string, string) { return format.Name, format.Idea }))
}

func recordedNames() []string {
	return cli.Map(recorded.Formats(), func(format recorded.Format) string { return format.Name })
}

// check judges a recording.
func (f *recordedFlags) check(cmd *cobra.Command, path string, asJSON, twice bool) error {
	if err := cli.OneOf("format", f.format, recordedNames(), "there are "+cli.Enumerate(recordedNames(), "and")); err != nil {
		return err
	}
	if f.format != "monitor" && len(f.locks) > 0 {
		return cli.Usagef("--lock is for --format monitor; a log names its locks")
	}
	in, err := openRecording(cmd, path)
	if err != nil {
		return err
	}
	defer in.Close()
	name := path
	if path == "-" {
		name = "stdin"
	}
	j, err := recorded.Formats()[slices.Index(recordedNames(), f.format)].Read(in, name, recorded.Options{Locks: f.locks, Twice: twice})
	var wrong *recorded.InputError
	switch {
	case errors.As(err, &wrong):
		return cli.Usagef("%v", wrong)
	case err != nil:
		return err
	}
	show := showJudgement
	if asJSON {
		show = func(w io.Writer, j *recorded.Judgement) error { return cli.WriteJSON(w, j) }
	}
	if err := show(cmd.OutOrStdout(), j); err != nil {
		return err
	}
	return cli.Exit(map[recorded.Result]int{recorded.Broken: cli.CodeSurprise, recorded.Unknown: cli.CodeUnknown, recorded.Failed: cli.CodeFailed}[j.Result])
}

// openRecording opens a file; "-" is stdin.
func openRecording(cmd *cobra.Command, path string) (io.ReadCloser, error) {
	if path == "-" {
		return io.NopCloser(cmd.InOrStdin()), nil
	}
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return nil, cli.Usagef("%v", cli.Plainly(err))
	case info.IsDir():
		return nil, cli.Usagef("%s: a directory; --format takes a file, and a run is checked without it", path)
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, cli.Usagef("%v", cli.Plainly(err))
	}
	return file, nil
}

// showJudgement writes a judgement for people: the result, the findings with the lines that show them, and what the recording cannot tell.
func showJudgement(w io.Writer, j *recorded.Judgement) error {
	width := cli.Width(w)
	var b strings.Builder
	say := func(indent, text string) { b.WriteString(cli.Hang(indent, indent+"  ", format.Clean(text), width)) }
	say("", headline(j))
	say("  ", fmt.Sprintf("%s: %s, %s, %s, %s", j.File, format.Plural(j.Lines, "line", "lines"), j.Lasted, format.Plural(len(j.Clients), "client", "clients"), format.Plural(len(j.Locks), "lock", "locks")))
	for i, f := range j.Found {
		if i == maxFound {
			fmt.Fprintf(&b, "\nand %d more; --json has them all\n", len(j.Found)-i)
			break
		}
		fmt.Fprintln(&b)
		say("", fmt.Sprintf("%s of %s at %.3fs", f.Name, f.Lock, f.At.Seconds()))
		say("  ", f.Why)
		if f.If != "" {
			say("  ", "This holds if "+f.If+".")
		}
		for _, line := range f.Lines {
			say("  ", fmt.Sprintf("%s:%d: %s", j.File, line.Number, line.Text))
		}
	}
	if len(j.Unjudged) > 0 {
		fmt.Fprintln(&b, "\nNot judged")
		for _, text := range j.Unjudged {
			say("  ", text)
		}
	}
	fmt.Fprintln(&b)
	say("", "Looked for: "+cli.List(j.LookedFor)+".")
	say("", "Cannot be told, because "+j.Because+": "+cli.List(j.CannotTell)+".")
	fmt.Fprintln(&b, "Assumed")
	for _, text := range j.Assumed {
		say("  ", text)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func headline(j *recorded.Judgement) string {
	switch j.Result {
	case recorded.Broken:
		counts := map[checker.Name]int{}
		for _, f := range j.Found {
			counts[f.Name]++
		}
		var words []string
		for _, name := range j.LookedFor {
			if counts[name] > 0 {
				words = append(words, fmt.Sprintf("%s (%d)", name, counts[name]))
			}
		}
		return "BROKEN: " + strings.Join(words, ", ")
	case recorded.Nothing:
		return "nothing found, which does not mean safe: see below what such a recording cannot tell"
	case recorded.Failed:
		return "FAILED: the lab's two judges disagree: " + j.Why
	}
	return "UNKNOWN: " + j.Why
}
