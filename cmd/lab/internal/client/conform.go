package client

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/locklab/locklab/cmd/lab/internal/cli"
	"github.com/locklab/locklab/cmd/lab/internal/option"
	"github.com/locklab/locklab/impls"
	"github.com/locklab/locklab/internal/lab"
	"github.com/locklab/locklab/internal/report/format"
)

// doctorFlags are the flags of lab doctor as given.
type doctorFlags struct {
	where        option.Setting
	client, like string
}

// conform checks the client of --client.
func (f *doctorFlags) conform(cmd *cobra.Command) error {
	subjects := option.Subjects{Programs: []string{f.client}, Like: f.like}
	if err := f.where.Settle(cmd); err != nil {
		return err
	}
	if err := subjects.Check(cmd); err != nil {
		return err
	}
	if err := f.where.Check(); err != nil {
		return err
	}
	programs, err := subjects.ProgramSubjects()
	if err != nil {
		return err
	}
	checked, err := lab.Conform(cmd.Context(), f.where.Setting, programs[0])
	if err != nil {
		return err
	}
	if err := writeConformance(cmd.OutOrStdout(), checked, f.client); err != nil {
		return err
	}
	if checked.Broken() > 0 {
		return cli.Exit(cli.CodeSurprise)
	}
	return nil
}

// writeConformance is the screen of lab doctor --client.
func writeConformance(w io.Writer, checked lab.Conformance, command string) error {
	var b strings.Builder
	subject := checked.Subject
	about := ""
	if idea := subject.Spec.Idea; idea != subject.Name { // hello says something about it
		about = " (" + format.Clean(idea) + ")"
	}
	byLock := ""
	if n := checked.ByLock(); n > 0 {
		byLock = fmt.Sprintf("; %d met a bug of the lock, which its adapter cannot help", n)
	}
	fmt.Fprintf(&b, "%s%s: %d of %d checks failed%s\n\n", subject.Name, about, checked.Broken(), len(checked.Results), byLock)
	fmt.Fprintf(&b, "  protocol  %d\n", subject.Protocol)
	promises := strings.Join(impls.PromiseWordsOf(subject.Spec.Promises), ", ")
	if subject.Guessed {
		promises += " (assumed: hello names none)"
	}
	line := func(head, text string) {
		b.WriteString(cli.Hang(head, strings.Repeat(" ", len(head)), text, cli.Width(w)))
	}
	check := func(word, name, text string) { line(fmt.Sprintf("%-8s %-28s ", word, name), text) }
	line("  promises  ", promises)
	b.WriteString("\n")
	for _, r := range checked.Results {
		switch {
		case r.Breach != nil:
			check("FAILED", r.Name, r.About)
			line("         ", format.Clean(r.Breach.What))
			line("         ", "docs/tables/protocol.md: "+r.Breach.Rule)
		case r.Lock != "":
			check("LOCK", r.Name, format.Clean(r.Lock))
		case r.Skipped != "":
			check("skipped", r.Name, format.Clean(r.Skipped))
		default:
			check("ok", r.Name, r.About)
		}
	}
	b.WriteString("\n")
	if checked.Broken() == 0 {
		b.WriteString(cli.Next(w, []string{"scenarios", "run", "--client", command}))
	}
	_, err := io.WriteString(w, b.String())
	return err
}
