package look

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/spf13/cobra"

	"github.com/locklab/locklab/cmd/lab/internal/cli"
	"github.com/locklab/locklab/internal/adapters"
	"github.com/locklab/locklab/internal/scenarios/live"
)

// Adapters is lab adapters.
func Adapters() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "adapters [NAME]",
		Short: "List the clients for published lock libraries, and what each needs here",
		Long: `Adapters lists the clients for published lock libraries that come with the
sources: the library with its version, the options, and whether the client can
run on this machine or what is missing. With a name it says how to run that one.

docs/tables/scorecard.md has their verdicts.`,
		Example:           "  lab adapters\n  lab adapters redsync",
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: cli.Fixed(adapterNames()...),
		RunE: func(cmd *cobra.Command, args []string) error {
			if _, err := os.Stat("adapters"); errors.Is(err, fs.ErrNotExist) {
				return cli.Usagef("there is no directory adapters here; run it in the root of the sources")
			}
			if len(args) > 0 {
				return describeAdapter(cmd, args[0])
			}
			l := list{heads: []string{"NAME", "LIBRARY", "STATE", "OPTIONS"}}
			var entries []adapterEntry
			for _, a := range adapters.All() {
				e := adapterEntry{a.Name, a.Library, a.Options, cmp.Or(adapterLacks(a), "ok"), a.Prepare, a.Here(), cmp.Or(a.Server, live.RedisServer)}
				entries = append(entries, e)
				l.rows = append(l.rows, []string{e.Name, e.Library, e.State, e.Options})
			}
			l.entries = entries
			if asJSON {
				return cli.WriteIndented(cmd.OutOrStdout(), l.known())
			}
			return errors.Join(
				l.write(cmd.OutOrStdout(), cli.Width(cmd.OutOrStdout())),
				say(cmd, "\n%s", cli.Next(cmd.OutOrStdout(), []string{"how", "adapters", "NAME"})),
			)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print a JSON array")
	return cmd
}

// adapterEntry is an adapter in JSON.
type adapterEntry struct {
	Name    string `json:"name"`
	Library string `json:"library"`
	Options string `json:"options,omitempty"`
	State   string `json:"state"`
	Prepare string `json:"prepare,omitempty"`
	Command string `json:"command"`
	Server  string `json:"server"`
}

func say(cmd *cobra.Command, format string, args ...any) error {
	_, err := fmt.Fprintf(cmd.OutOrStdout(), format, args...)
	return err
}

// describeAdapter says how to run one.
func describeAdapter(cmd *cobra.Command, name string) error {
	a, ok := adapters.Find(name)
	if !ok {
		return cli.Unknown("adapter", name, adapterNames(), "lab adapters lists them")
	}
	about := a.Library
	if a.Options != "" {
		about += " (" + a.Options + ")"
	}
	if why := adapterLacks(a); why != "" {
		about += ": " + why
	}
	if err := say(cmd, "%s: %s\n\n", a.Name, about); err != nil {
		return err
	}
	if a.Prepare != "" {
		if err := say(cmd, "First\n  %s\n\n", a.Prepare); err != nil {
			return err
		}
	}
	on := cmp.Or(a.Server, live.RedisServer)
	return say(cmd, "%s", cli.Next(cmd.OutOrStdout(), []string{"adapter", "doctor", "--server", on, "--client", a.Here()}, []string{"lock", "run", "--server", on, "--client", a.Here()}))
}

func adapterNames() []string {
	return cli.Names(adapters.All(), func(a adapters.Adapter) string { return a.Name })
}

// adapterLacks says what an adapter lacks here and how to get it, or "".
func adapterLacks(a adapters.Adapter) string {
	if need := a.Lacks(); need != "" {
		return "no " + string(need)
	}
	if a.Made != "" {
		if _, err := os.Stat(a.Made); err != nil {
			return "not prepared"
		}
	}
	return ""
}
