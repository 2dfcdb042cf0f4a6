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
		Args:              cli.Args(0, 1, "adapters takes one name, not %d"),
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
			out := cmd.OutOrStdout()
			if err := l.write(out, cli.Width(out)); err != nil {
				return err
			}
			_, err := fmt.Fprintf(out, "\n%s", cli.Next(out, []string{"how", "adapters", "NAME"}))
			return err
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

// describeAdapter says how to run one.
func describeAdapter(cmd *cobra.Command, name string) error {
	a, ok := adapters.Find(name)
	if !ok {
		return cli.UnknownName("adapter", name, adapterNames(), "lab adapters lists them")
	}
	about := a.Library
	if a.Options != "" {
		about += " (" + a.Options + ")"
	}
	if why := adapterLacks(a); why != "" {
		about += ": " + why
	}
	out := cmd.OutOrStdout()
	fmt.Fprintf(out, "%s: %s\n\n", a.Name, about)
	if a.Prepare != "" {
		fmt.Fprintf(out, "First\n  %s\n\n", a.Prepare)
	}
	on := cmp.Or(a.Server, live.RedisServer)
	_, err := fmt.Fprint(out, cli.Next(out, []string{"adapter", "doctor", "--server", on, "--client", a.Here()}, []string{"lock", "run", "--server", on, "--client", a.Here()}))
	return err
}

func adapterNames() []string {
	return cli.Map(adapters.All(), func(a adapters.Adapter) string { return a.Name })
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
