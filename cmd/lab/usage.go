package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/locklab/locklab/internal/spelling"
)

// usageError is a mistake of the user: a wrong word, a bad script, an unreadable file.
type usageError struct{ what string }

func (e *usageError) Error() string { return e.what }

func usagef(format string, args ...any) error { return &usageError{fmt.Sprintf(format, args...)} }

// unknown is the error for a name that does not exist, with the nearest one that does, else with what helps to find it.
func unknown(kind, name string, names []string, help string) error {
	if near := spelling.Nearest(name, names); near != "" {
		return usagef("unknown %s %q; did you mean %q?", kind, name, near)
	}
	return usagef("unknown %s %q; %s", kind, name, help)
}

func see(command string) string { return fmt.Sprintf("see %q", command) }

// checkScriptOut says why no script can be written to a path, if one is given.
func checkScriptOut(path string) error {
	if path != "" && !strings.HasSuffix(path, ".lab") {
		return usagef("--out: a script's name ends in .lab, %q does not", path)
	}
	return checkOut("--out", path)
}

// checkOut refuses a path at which there is a pipe or a device: to open it may take for ever. The error about a directory comes when it is opened.
func checkOut(flag, path string) error {
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() && !info.IsDir() {
		return usagef("%s: %s: not a regular file", flag, path)
	}
	return nil
}

// noArgs is for commands that take none.
func noArgs(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return usagef("%s takes no arguments, but got %q; %s", cmd.Name(), args[0], see(cmd.CommandPath()+" --help"))
	}
	return nil
}

// noSubcommand says which command below cmd a word was probably meant to be.
func noSubcommand(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	var names []string
	for _, sub := range cmd.Commands() {
		if !sub.Hidden {
			names = append(names, sub.Name())
		}
	}
	return unknown("command", args[0], names, see(cmd.CommandPath()+" --help"))
}

// flagError words a mistake in the flags of a command.
func flagError(cmd *cobra.Command, err error) error {
	help := see(cmd.CommandPath() + " --help")
	var (
		missing *pflag.NotExistError
		invalid *pflag.InvalidValueError
	)
	switch {
	case errors.As(err, &missing) && missing.GetSpecifiedShortnames() == "":
		var names []string
		cmd.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, "--"+f.Name) })
		return unknown("flag", "--"+missing.GetSpecifiedName(), names, help)
	case errors.As(err, &invalid):
		flag := invalid.GetFlag()
		return usagef("--%s takes %s, not %q", flag.Name, valueOf(flag.Value.Type()), invalid.GetValue())
	}
	return usagef("%v; %s", err, help)
}

// valueOf says in words what a flag of that type takes.
func valueOf(kind string) string {
	switch kind {
	case "int", "int64", "uint8":
		return "a whole number"
	case "duration":
		return "a duration such as 30s"
	case "bool":
		return "true or false"
	}
	return "a " + kind
}

// plainly takes the name of the operation off an error of the file system.
func plainly(err error) error {
	var path *fs.PathError
	if errors.As(err, &path) {
		return fmt.Errorf("%s: %w", path.Path, path.Err)
	}
	return err
}

// enumerate joins names for people: "a, b or c".
func enumerate(names []string, last string) string {
	if len(names) < 2 {
		return strings.Join(names, "")
	}
	return strings.Join(names[:len(names)-1], ", ") + " " + last + " " + names[len(names)-1]
}
