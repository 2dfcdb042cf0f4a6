// Package write is for files that a user begins with or lays out: lab new, lab clocks and lab fmt.
//
// It owns what is written where: lab new overwrites nothing, and lab fmt -w only what it has read. It must not know what a client or a script does.
package write

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/locklab/locklab/cmd/lab/internal/cli"
	"github.com/locklab/locklab/internal/kits"
	"github.com/locklab/locklab/internal/report/format"
)

// New is lab new.
func New() *cobra.Command {
	return &cobra.Command{
		Use:   "new LANGUAGE DIR",
		Short: "Write a client for a lock of yours, to edit",
		Long: `New writes a working client into DIR: a small lock in one file, which you
replace by yours, and the client protocol in the others. The languages are
` + cli.Enumerate(kitNames(), "and") + `. The one for shell scripts needs Python 3, too.
It overwrites nothing.`,
		Example:           "  lab new python mylock\n  lab doctor --client 'python3 mylock/client.py'",
		ValidArgsFunction: cobra.FixedCompletions(kitNames(), cobra.ShellCompDirectiveDefault),
		Args:              cli.Args(2, 2, "new takes a language and a directory, for example: lab new python mylock"),
		RunE: func(cmd *cobra.Command, args []string) error {
			kit, ok := kits.Find(args[0])
			if !ok {
				return cli.UnknownName("language", args[0], kitNames(), "there are "+cli.Enumerate(kitNames(), "and"))
			}
			out := cmd.OutOrStdout()
			command, err := Kit(out, kit, args[1], nil)
			if err != nil {
				return err
			}
			_, err = fmt.Fprint(out, cli.Next(out, []string{"adapter", "doctor", "--client", command}, []string{"lock", "run", "--client", command}))
			return err
		},
	}
}

// Kit writes a kit with files in place of some of its own, says what is to be prepared, and returns the command that starts the client.
func Kit(out io.Writer, kit kits.Kit, dir string, own map[string][]byte) (command string, err error) {
	names, err := kit.Write(dir, own)
	switch {
	case errors.Is(err, kits.ErrThere):
		return "", cli.Usagef("%s is there already, and nothing is overwritten", strings.SplitN(err.Error(), ":", 2)[0])
	case err != nil:
		return "", cli.Usagef("%v", cli.Plainly(err))
	}
	for _, name := range names {
		fmt.Fprintln(out, filepath.Join(dir, name))
	}
	quoted := format.ShellLine([]string{filepath.ToSlash(dir)})
	command = fmt.Sprintf(kit.Command, quoted)
	if !filepath.IsAbs(dir) && kit.Name == "go" {
		command = "./" + command
	}
	fmt.Fprint(out, "\n")
	if kit.Prepare != "" {
		fmt.Fprintf(out, "First\n  cd %s && %s && cd -\n\n", quoted, kit.Prepare)
	}
	return command, nil
}

func kitNames() []string {
	return cli.Map(kits.All(), func(kit kits.Kit) string { return kit.Name })
}
