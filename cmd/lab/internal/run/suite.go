package run

import (
	"cmp"
	_ "embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/locklab/locklab/cmd/lab/internal/cli"
	"github.com/locklab/locklab/internal/faults/server/address"
	"github.com/locklab/locklab/internal/suite"
	"github.com/locklab/locklab/scenarios"
)

// The keys of a suite that are no flags.
const (
	keyScenarios = "scenarios" // the arguments of lab run
	keyShards    = "shards"    // n of --shard i/n
)

// noKeys are flags that make no sense in a file.
func noKeys() []string { return []string{"config", "help", "out", "update"} }

// pathKeys are flags that name files. In a suite, their relative paths begin at its file.
func pathKeys() []string {
	return []string{"baseline", "expect", "runs", "junit", "summary", "password-file", "tls-ca", "tls-cert", "tls-key"}
}

// subjectKeys say what is tested: flags replace all of them together.
func subjectKeys() []string { return []string{"client", "lock", "like", "promises"} }

// withSuite has a command take from a suite what its flags do not say. It returns the flags for that.
func withSuite(cmd *cobra.Command) cli.FlagGroup {
	flags := cli.FlagSet()
	config := flags.String("config", "", "take what no flag says from `FILE`, or from none (default: locklab.toml here or in a parent, up to the repository's root)")
	run := cmd.RunE
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		file, err := readSuite(*config)
		if err != nil {
			return err
		}
		if file == nil {
			return run(cmd, args)
		}
		s := &suiteRun{file: file, cmd: cmd, lines: map[string]int{}}
		if args, err = s.apply(args); err != nil {
			return err
		}
		fmt.Fprintf(cmd.ErrOrStderr(), "lab: with %s\n", file.Path)
		return s.located(run(cmd, args))
	}
	return cli.FlagGroup{Title: "Suite", Flags: flags}
}

// readSuite reads the file of --config, or the one that lies here; nil: there is none.
func readSuite(path string) (*suite.File, error) {
	if path == "none" {
		return nil, nil
	}
	if path == "" {
		dir, err := os.Getwd()
		if err != nil {
			return nil, err
		}
		if path, err = suite.Find(dir); err != nil {
			return nil, cli.Usagef("%v", cli.Plainly(err))
		}
		if path == "" {
			return nil, nil
		}
	}
	src, err := scenarios.ReadFile(path)
	if err != nil {
		return nil, cli.Usagef("--config: %v", cli.Plainly(err))
	}
	file, err := suite.Parse(filepath.ToSlash(path), src)
	if err != nil {
		return nil, cli.Usagef("%v", err)
	}
	return file, nil
}

// suiteRun is a command that a suite is for.
type suiteRun struct {
	file  *suite.File
	cmd   *cobra.Command
	lines map[string]int // of the keys that were taken
}

// suiteCommands are the commands that a suite is for. Keys before the first table are for each that has such a flag.
func suiteCommands() []*cobra.Command { return []*cobra.Command{Run(), Storm()} }

// keysOf are the keys for a command.
func keysOf(cmd *cobra.Command) []string {
	keys := []string{keyShards}
	if cmd.Name() == "run" {
		keys = append(keys, keyScenarios)
	}
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if !f.Hidden && !slices.Contains(noKeys(), f.Name) {
			keys = append(keys, f.Name)
		}
	})
	return keys
}

// apply checks the whole file, gives the command's flags what they do not have from the user, and returns its arguments.
func (s *suiteRun) apply(args []string) ([]string, error) {
	if err := checkSuite(s.file); err != nil {
		return nil, err
	}
	given := s.given()
	listed := slices.Clone(args)
	shards := suite.Key{}
	for _, table := range []string{"", s.cmd.Name()} {
		for _, key := range s.file.Keys {
			if key.Table != table || !slices.Contains(keysOf(s.cmd), key.Name) {
				continue
			}
			switch key.Name {
			case keyScenarios:
				if len(args) == 0 && !given["all"] {
					var err error
					if listed, err = s.scenarios(key); err != nil {
						return nil, err
					}
					s.lines[key.Name] = key.Line
				}
			case keyShards:
				shards = key
			default:
				if !given[key.Name] {
					if err := s.set(s.cmd.Flags(), key); err != nil {
						return nil, err
					}
					s.lines[key.Name] = key.Line
				}
			}
		}
	}
	if s.cmd.Name() == "run" && len(listed) == 0 {
		_ = s.cmd.Flags().Set("all", "true") // a suite is no tour
	}
	return listed, s.shard(shards)
}

// checkSuite says what is wrong with each key of a file by itself, for whichever command it is.
func checkSuite(file *suite.File) error {
	var wrong []error
	for _, key := range file.Keys {
		wrong = append(wrong, (&suiteRun{file: file}).check(key))
	}
	return errors.Join(wrong...)
}

// given are the flags that the user has given by themselves, by the environment, or by others that replace them.
func (s *suiteRun) given() map[string]bool {
	given := map[string]bool{}
	variable := regexp.MustCompile(`\[(LOCKLAB_\w+)\]$`)
	s.cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if m := variable.FindStringSubmatch(f.Usage); f.Changed || m != nil && os.Getenv(m[1]) != "" {
			given[f.Name] = true
		}
	})
	if given["client"] || given["lock"] {
		for _, key := range subjectKeys() {
			given[key] = true
		}
	}
	return given
}

// check says what is wrong with a key by itself, for whichever command it is.
func (s *suiteRun) check(key suite.Key) error {
	commands := suiteCommands()
	if key.Table != "" {
		names := cli.Map(commands, (*cobra.Command).Name)
		if err := cli.OneOf("table", key.Table, names, "there are "+cli.Enumerate(names, "and")); err != nil {
			return s.wrong(key, "%v", err)
		}
		if key.Name == "" {
			return nil
		}
		commands = slices.DeleteFunc(commands, func(cmd *cobra.Command) bool { return cmd.Name() != key.Table })
	}
	var known []string
	for _, cmd := range commands {
		keys := keysOf(cmd)
		if slices.Contains(keys, key.Name) {
			return s.set(cmd.Flags(), key)
		}
		known = append(known, keys...)
	}
	if key.Name == "out" {
		return s.wrong(key, "out is for one run, and this file is for many; runs = %s keeps each in a directory of its own", tomlText(key.Value))
	}
	return s.wrong(key, "%v", cli.UnknownName("key", key.Name, known, "docs/tables/configuration.md lists the keys"))
}

// set gives a flag the value of a key.
func (s *suiteRun) set(flags *pflag.FlagSet, key suite.Key) error {
	switch key.Name {
	case keyScenarios:
		_, err := s.list(key, "a list of names and of .lab files")
		return err
	case keyShards:
		if n, ok := key.Value.(int64); !ok || n < 1 {
			return s.wrong(key, "%s takes a whole number from 1, not %s", key.Name, tomlText(key.Value))
		}
		return nil
	}
	flag := flags.Lookup(key.Name)
	if many, ok := flag.Value.(pflag.SliceValue); ok {
		list, err := s.list(key, "a list of strings")
		if err != nil {
			return err
		}
		for i, value := range list {
			list[i] = s.placed(key.Name, value)
		}
		flag.Changed = true
		return many.Replace(list)
	}
	text, ok := "", false
	switch kind := flag.Value.Type(); kind {
	case "bool":
		_, ok = key.Value.(bool)
	case "int", "int64":
		_, ok = key.Value.(int64)
	case "float64":
		_, ok = key.Value.(float64)
	default:
		text, ok = key.Value.(string)
	}
	if text == "" {
		text = fmt.Sprint(key.Value)
	}
	if !ok || flags.Set(key.Name, s.placed(key.Name, text)) != nil {
		return s.wrong(key, "%s takes %s, not %s", key.Name, cli.ValueOf(flag.Value.Type()), tomlText(key.Value))
	}
	return nil
}

// list is a value that is a list of strings.
func (s *suiteRun) list(key suite.Key, takes string) ([]string, error) {
	all, ok := key.Value.([]any)
	var texts []string
	for _, one := range all {
		text, isText := one.(string)
		ok = ok && isText
		texts = append(texts, text)
	}
	if !ok {
		return nil, s.wrong(key, "%s takes %s, not %s", key.Name, takes, tomlText(key.Value))
	}
	return texts, nil
}

// placed has a relative path, or a command, begin at the file.
func (s *suiteRun) placed(name, value string) string {
	dir := filepath.Dir(filepath.FromSlash(s.file.Path))
	switch {
	case dir == ".":
	case slices.Contains(pathKeys(), name) && value != "" && !filepath.IsAbs(value):
		return filepath.Join(dir, value)
	case name == "client":
		return "cd '" + strings.ReplaceAll(dir, "'", `'\''`) + "' && " + value
	}
	return value
}

// scenarios are the names and scripts of the key; patterns stand for the scripts that they match.
func (s *suiteRun) scenarios(key suite.Key) ([]string, error) {
	list, err := s.list(key, "a list of names and of .lab files")
	if err != nil {
		return nil, err
	}
	var args []string
	dir := filepath.Dir(filepath.FromSlash(s.file.Path))
	for _, arg := range list {
		if !strings.HasSuffix(arg, ".lab") {
			args = append(args, arg)
			continue
		}
		if !filepath.IsAbs(arg) {
			arg = filepath.Join(dir, arg)
		}
		found, err := filepath.Glob(arg)
		if err != nil || len(found) == 0 {
			return nil, s.wrong(key, "there is no script %s", arg)
		}
		args = append(args, found...)
	}
	return args, nil
}

// shard completes --shard i by the number of shards of the suite.
func (s *suiteRun) shard(shards suite.Key) error {
	flag := s.cmd.Flags().Lookup("shard")
	if shards.Value == nil || flag.Value.String() == "" {
		return nil
	}
	n := fmt.Sprint(shards.Value)
	switch i, of, both := strings.Cut(flag.Value.String(), "/"); {
	case !both:
		return flag.Value.Set(i + "/" + n)
	case of != n:
		return cli.Usagef("--shard %s: %s:%d says that there are %s shards", flag.Value, s.file.Path, shards.Line, n)
	}
	return nil
}

func (s *suiteRun) wrong(key suite.Key, format string, args ...any) error {
	return cli.Usagef("%v", s.file.Wrong(key.Line, format, args...))
}

// located puts the line before each error about a value of the file.
func (s *suiteRun) located(err error) error {
	switch err := err.(type) {
	case interface{ Unwrap() []error }:
		var all []error
		for _, one := range err.Unwrap() {
			all = append(all, s.located(one))
		}
		return errors.Join(all...)
	case *cli.UsageError:
		if m := regexp.MustCompile(`^(?:--([a-z-]+)|unknown ([a-z]+) ")`).FindStringSubmatch(err.Error()); m != nil {
			name := cmp.Or(m[1], m[2])
			if line := cmp.Or(s.lines[name], s.lines[name+"s"]); line > 0 {
				return cli.Usagef("%v", s.file.Wrong(line, "%s", err.Error()))
			}
		}
	}
	return err
}

// tomlText is a value as the file has it, or nearly: without the password of an address.
func tomlText(value any) string {
	switch v := value.(type) {
	case string:
		return strconv.Quote(address.Redact(v))
	case []any:
		var texts []string
		for _, one := range v {
			texts = append(texts, tomlText(one))
		}
		return "[" + strings.Join(texts, ", ") + "]"
	}
	return fmt.Sprint(value)
}

//go:embed locklab.toml
var suiteExample string

// Init is lab init.
func Init() *cobra.Command {
	return &cobra.Command{
		Use:   "init",
		Short: "Write a locklab.toml to edit: the suite of this repository",
		Long: `Init writes a commented ` + suite.Name + ` into the working directory. From then on
"lab run" without arguments runs the suite that it describes, here and in the
directories below. It overwrites nothing.`,
		Args: cli.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			file, err := os.OpenFile(suite.Name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
			switch {
			case errors.Is(err, fs.ErrExist):
				return cli.Usagef("%s is there already, and nothing is overwritten", suite.Name)
			case err != nil:
				return cli.Usagef("%v", cli.Plainly(err))
			}
			_, err = file.WriteString(suiteExample)
			fmt.Fprintln(cmd.OutOrStdout(), suite.Name)
			return errors.Join(err, file.Close())
		},
	}
}
