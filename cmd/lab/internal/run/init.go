package run

import (
	_ "embed"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/spf13/cobra"

	"github.com/locklab/locklab/cmd/lab/internal/cli"
	"github.com/locklab/locklab/internal/suite"
)

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
