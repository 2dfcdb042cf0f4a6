package main

import (
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/locklab/locklab/impls"
	"github.com/locklab/locklab/internal/lab"
	"github.com/locklab/locklab/internal/report/format"
)

// doctorFlags are the flags of lab doctor as given.
type doctorFlags struct {
	settingFlags
	client, like string
}

// conform checks the client of --client.
func (f *doctorFlags) conform(cmd *cobra.Command) error {
	run := runFlags{settingFlags: f.settingFlags, programs: []string{f.client}, judged: judgedFlags{like: f.like}}
	run.World, run.Timeout, run.Alone, run.NoStateProbes = lab.Live, defaultTimeout, true, !f.stateProbes
	if err := run.checkGiven(cmd); err != nil {
		return err
	}
	if err := run.settingFlags.check(); err != nil {
		return err
	}
	subjects, err := run.foreign()
	if err != nil {
		return err
	}
	checked, err := lab.Conform(cmd.Context(), run.Setting, subjects[0])
	if err != nil {
		return err
	}
	if err := writeConformance(cmd.OutOrStdout(), checked, f.client); err != nil {
		return err
	}
	if checked.Broken() > 0 {
		return exitWith(codeSurprise)
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
		b.WriteString(head + strings.Join(wrapWords(text, terminalWidth(w)-len(head)), "\n"+strings.Repeat(" ", len(head))) + "\n")
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
		b.WriteString(format.Next(invocation(os.Args[0]), terminalWidth(w), []string{"scenarios", "run", "--client", command}))
	}
	_, err := io.WriteString(w, b.String())
	return err
}
