package option

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/locklab/locklab/cmd/lab/internal/cli"
	"github.com/locklab/locklab/cmd/lab/internal/naming"
	"github.com/locklab/locklab/impls"
	"github.com/locklab/locklab/internal/scenarios/play"
)

// Subjects say what is tested: locks of the lab, or programs with locks of their own and what is expected of those.
type Subjects struct {
	Locks    []string
	Programs []string // of --client
	Like     string
	promises []string
}

// Bind binds what names the subjects, and what says how programs are judged; like is the text of --like.
func (f *Subjects) Bind(what, judged *pflag.FlagSet, like string) {
	what.StringSliceVar(&f.Locks, "lock", nil, "test the locks `NAMES` (default: all)")
	what.StringArrayVar(&f.Programs, "client", nil, "test your own client, started by `COMMAND`; it speaks docs/protocol.md; may be repeated")
	judged.StringVar(&f.Like, "like", "", like)
	judged.StringSliceVar(&f.promises, "promises", nil, "with --client: judge it by these `PROMISES` (docs/tables/protocol.md), whatever its hello says")
}

// Check looks at flags that mean something else when they are left out. An unset variable of a shell makes an empty value.
func (f *Subjects) Check(cmd *cobra.Command) error {
	given := cmd.Flags().Changed
	switch {
	case slices.ContainsFunc(f.Programs, func(command string) bool { return strings.TrimSpace(command) == "" }):
		return cli.Usagef("--client needs a command, for example 'python3 mylock.py'")
	case len(f.Programs) > 0 && given("lock"):
		return cli.Usagef("--client is the lock under test; for the expectations of one of the lab's locks use --like, not --lock")
	case len(f.Programs) == 0 && f.Like != "":
		return cli.Usagef("--like is for --client: it names the lock that the client is compared with")
	case len(f.Programs) == 0 && len(f.promises) > 0:
		return cli.Usagef("--promises is for --client: a lock of the lab has its promises on its card")
	case given("lock") && len(f.Locks) == 0:
		return cli.Usagef("--lock needs a name; %s", cli.See("lab list locks"))
	}
	return nil
}

// Chosen says whether somebody has named any.
func (f *Subjects) Chosen() bool { return len(f.Locks) > 0 || len(f.Programs) > 0 }

// In are the subjects in a setting. Programs have not said hello yet.
func (f *Subjects) In(where *Setting) ([]play.Subject, error) {
	if len(f.Programs) > 0 {
		return f.ProgramSubjects()
	}
	if err := where.CheckLocks(); err != nil {
		return nil, err
	}
	if len(f.Locks) == 0 {
		return naming.Subjects(naming.LockNames(where.Locks()))
	}
	return naming.Subjects(f.Locks)
}

// ProgramSubjects are those of --client, before they have said hello.
func (f *Subjects) ProgramSubjects() ([]play.Subject, error) {
	var subjects []play.Subject
	promises, err := impls.ParsePromises(f.promises)
	if err != nil {
		return nil, cli.Usagef("--promises: %v", err)
	}
	for _, command := range f.Programs {
		subject := play.Subject{Name: "client", Argv: []string{"/bin/sh", "-c", command}, Like: f.Like, Told: promises}
		if f.Like != "" {
			like, err := naming.Subjects([]string{f.Like})
			if err != nil {
				return nil, err
			}
			subject.Spec = like[0].Spec
		}
		subjects = append(subjects, subject)
	}
	return subjects, nil
}

// Meet has each program say hello by meet, which knows what they will play, and says aloud by what it is judged if it does not say so itself. Locks of the lab
// need no introduction.
func (f *Subjects) Meet(meet func(play.Subject) (play.Subject, error), subjects []play.Subject, stderr io.Writer) ([]play.Subject, error) {
	if len(f.Programs) == 0 {
		return subjects, nil
	}
	var met []play.Subject
	for _, subject := range subjects {
		subject, err := meet(subject)
		if err != nil {
			return nil, err
		}
		if slices.ContainsFunc(met, func(other play.Subject) bool { return other.Name == subject.Name }) {
			return nil, cli.Usagef("--client: two clients say in hello that their lock is called %s, and cells are called after it", subject.Name)
		}
		if subject.Guessed {
			fmt.Fprintf(stderr, "lab: hello of %s names no promises; it is judged by those of any such lock: %s (else --like LOCK)\n",
				subject.Name, strings.Join(impls.PromiseWordsOf(subject.Spec.Promises), ", "))
		}
		met = append(met, subject)
	}
	return met, nil
}
