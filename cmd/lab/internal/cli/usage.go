package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/locklab/locklab/internal/spelling"
)

// UsageError is a mistake of the user: a wrong word, a bad script, an unreadable file.
type UsageError struct{ what string }

func (e *UsageError) Error() string { return e.what }

// Usagef is the error for a mistake of the user.
func Usagef(format string, args ...any) error { return &UsageError{fmt.Sprintf(format, args...)} }

// UnknownName is the error for a name that does not exist, with the nearest one that does, else with what helps to find it.
func UnknownName(kind, name string, names []string, help string) error {
	if near := spelling.Nearest(name, names); near != "" {
		return Usagef("unknown %s %q; did you mean %q?", kind, name, near)
	}
	return Usagef("unknown %s %q; %s", kind, name, help)
}

// OneOf refuses a name that is none of those that there are.
func OneOf(kind, name string, names []string, help string) error {
	if slices.Contains(names, name) {
		return nil
	}
	return UnknownName(kind, name, names, help)
}

// See points to a command.
func See(command string) string { return fmt.Sprintf("see %q", command) }

// CheckScriptOut says why no script can be written to a path, if one is given.
func CheckScriptOut(path string) error {
	if path != "" && !strings.HasSuffix(path, ".lab") {
		return Usagef("--out: a script's name ends in .lab, %q does not", path)
	}
	return CheckOut("--out", path)
}

// WriteScript writes a script to the path of --out.
func WriteScript(path string, text []byte) error {
	if err := os.WriteFile(path, text, 0o644); err != nil {
		return Usagef("--out: %v", Plainly(err))
	}
	return nil
}

// CheckOut refuses a path at which there is a pipe or a device: to open it may take for ever. The error about a directory comes when it is opened.
func CheckOut(flag, path string) error {
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() && !info.IsDir() {
		return Usagef("%s: %s: not a regular file", flag, path)
	}
	return nil
}

// Args is for commands that take from least to most words; %d in the mistake is how many were given.
func Args(least, most int, mistake string) cobra.PositionalArgs {
	return func(_ *cobra.Command, args []string) error {
		if n := len(args); n < least || n > most {
			return Usagef("%s", strings.ReplaceAll(mistake, "%d", strconv.Itoa(n)))
		}
		return nil
	}
}

// NoArgs is for commands that take none.
func NoArgs(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return Usagef("%s takes no arguments, but got %q; %s", cmd.Name(), args[0], See(cmd.CommandPath()+" --help"))
	}
	return nil
}

// NoSubcommand says which command below cmd a word was probably meant to be.
func NoSubcommand(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	var names []string
	for _, sub := range cmd.Commands() {
		if !sub.Hidden {
			names = append(names, sub.Name())
		}
	}
	return UnknownName("command", args[0], names, See(cmd.CommandPath()+" --help"))
}

// FlagError words a mistake in the flags of a command.
func FlagError(cmd *cobra.Command, err error) error {
	help := See(cmd.CommandPath() + " --help")
	var (
		missing *pflag.NotExistError
		invalid *pflag.InvalidValueError
	)
	switch {
	case errors.As(err, &missing) && missing.GetSpecifiedShortnames() == "":
		var names []string
		cmd.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, "--"+f.Name) })
		return UnknownName("flag", "--"+missing.GetSpecifiedName(), names, help)
	case errors.As(err, &invalid):
		flag := invalid.GetFlag()
		return Usagef("--%s takes %s, not %q", flag.Name, ValueOf(flag.Value.Type()), invalid.GetValue())
	}
	return Usagef("%v; %s", err, help)
}

// ValueOf says in words what a flag of that type takes.
func ValueOf(kind string) string {
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

// Plainly takes the operation off an error of the file system, and the address, too, off one of the network.
func Plainly(err error) error {
	var (
		path *fs.PathError
		op   *net.OpError
	)
	switch {
	case errors.As(err, &path):
		return fmt.Errorf("%s: %w", path.Path, path.Err)
	case errors.As(err, &op):
		return op.Err
	}
	return err
}
