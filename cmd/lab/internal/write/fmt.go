package write

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/rogpeppe/go-internal/diff"
	"github.com/spf13/cobra"

	"github.com/locklab/locklab/cmd/lab/internal/cli"
	"github.com/locklab/locklab/scenarios"
)

// fmtFlags are the flags of lab fmt as given.
type fmtFlags struct{ list, diff, write bool }

// Fmt is lab fmt.
func Fmt() *cobra.Command {
	flags := &fmtFlags{}
	cmd := &cobra.Command{
		Use:   "fmt [FILE.lab | DIR]...",
		Short: "Lay out scripts in their canonical form",
		Long: `Fmt lays scripts out as gofmt does Go: words and blanks are made canonical, and
comments, blank lines and the order of lines stay. Without files it reads stdin;
of a directory it takes every .lab file below. Without a flag it prints the
result.`,
		Example: "  lab fmt -l .\n  lab fmt -d race.lab\n  lab fmt -w races",
		RunE:    flags.run,
	}
	cmd.Flags().BoolVarP(&flags.list, "list", "l", false, "list the files whose layout is another")
	cmd.Flags().BoolVarP(&flags.diff, "diff", "d", false, "show what would change")
	cmd.Flags().BoolVarP(&flags.write, "write", "w", false, "write the files")
	return cmd
}

func (f *fmtFlags) run(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		if f.write {
			return cli.Usagef("-w writes files; name some")
		}
		src, err := io.ReadAll(cmd.InOrStdin())
		if err != nil {
			return err
		}
		return f.format(cmd.OutOrStdout(), "<stdin>", src, 0)
	}
	var wrong []error
	for _, arg := range args {
		paths, err := scriptsIn(arg)
		if err != nil {
			wrong = append(wrong, cli.Usagef("%v", cli.Plainly(err)))
		}
		for _, path := range paths {
			wrong = append(wrong, f.file(cmd.OutOrStdout(), path))
		}
	}
	return errors.Join(wrong...)
}

// scriptsIn are the scripts below a directory; of a file it is that.
func scriptsIn(arg string) (paths []string, err error) {
	info, err := os.Stat(arg)
	if err != nil || !info.IsDir() {
		return []string{arg}, err
	}
	err = filepath.WalkDir(arg, func(path string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() && strings.HasSuffix(path, ".lab") {
			paths = append(paths, path)
		}
		return err
	})
	return paths, err
}

func (f *fmtFlags) file(out io.Writer, path string) error {
	info, err := os.Stat(path)
	if err != nil {
		return nil // said already
	}
	src, err := scenarios.ReadFile(path)
	if err != nil {
		return cli.Usagef("%v", cli.Plainly(err))
	}
	return f.format(out, path, src, info.Mode().Perm())
}

// format formats a script, and does with it what the flags say.
func (f *fmtFlags) format(out io.Writer, path string, src []byte, mode fs.FileMode) error {
	formatted, err := scenarios.Reformat(path, src)
	if err != nil {
		return err
	}
	same := bytes.Equal(src, formatted)
	if f.list && !same {
		fmt.Fprintln(out, path)
	}
	if f.diff && !same {
		_, err = out.Write(diff.Diff(path+".orig", src, path, formatted))
	}
	if f.write && !same {
		err = errors.Join(err, os.WriteFile(path, formatted, mode))
	}
	if !f.list && !f.diff && !f.write {
		_, err = out.Write(formatted)
	}
	return err
}
