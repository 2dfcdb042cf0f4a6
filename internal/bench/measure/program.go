package measure

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/locklab/locklab/impls"
	"github.com/locklab/locklab/internal/faults/process"
)

// The arguments by which a measurement runs a program that has locks of its own.
const (
	asMember = "bench"
	asked    = "locks"
	asWindow = "window"
)

// card is what a measurement must know of a program's lock.
type card struct {
	Name   string     `json:"name"`
	Needs  impls.Need `json:"needs"`
	Fences bool       `json:"fences"` // it issues fences
}

// ProgramMain carries out the arguments by which a measurement runs a program with locks of its own; any others are not its business (ours is
// false).
func ProgramMain(ctx context.Context, args []string, stdin io.Reader, stdout io.Writer, own []impls.Spec) (ours bool, err error) {
	switch {
	case len(args) == 0 || args[0] != asMember:
		return false, nil
	case len(args) == 1:
		return true, ClientMain(ctx, stdin, stdout, own)
	case len(args) == 2 && args[1] == asWindow:
		return true, windowMain(ctx, stdin, stdout, own)
	case len(args) > 2 || args[1] != asked:
		return true, fmt.Errorf("%s takes nothing, %s or %s; a measurement runs it", asMember, asked, asWindow)
	}
	var cards []card
	for _, spec := range own {
		_, fences := spec.New(nil, impls.Options{}).(impls.Fencer)
		cards = append(cards, card{spec.Name, spec.Needs, fences})
	}
	return true, json.NewEncoder(stdout).Encode(cards)
}

// programArgv is the command of a program's process.
func programArgv(program string, args ...string) []string {
	return []string{"/bin/sh", "-c", strings.Join(append([]string{program, asMember}, args...), " ")}
}

// ProgramLocks are the locks of a program that ProgramMain serves, by its own word. Only its processes can use them. guard is the command that
// runs the guard of processes.
func ProgramLocks(ctx context.Context, guard []string, program string) (_ []impls.Spec, err error) {
	g, err := process.StartGuard(guard)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, g.Close()) }()
	m, err := startMember(g, programArgv(program, asked))
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, m.close()) }()
	var answer json.RawMessage
	err = m.hear(ctx, memberPatience, &answer)
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	specs, ok := specsOf(answer)
	switch {
	case ok:
		return specs, nil
	case err != nil && !m.succeeded():
		return nil, fmt.Errorf("%s %s %s: %w", program, asMember, asked, err)
	}
	return nil, fmt.Errorf("%s %s %s does not say which locks it has: it must be made with measure.ProgramMain", program, asMember, asked)
}

// specsOf reads what a program says of its locks.
func specsOf(answer []byte) (specs []impls.Spec, ok bool) {
	var cards []card
	if err := json.Unmarshal(answer, &cards); err != nil {
		return nil, false
	}
	for _, c := range cards {
		spec := impls.Spec{Card: impls.Card{Name: c.Name, Needs: c.Needs}, New: func(impls.Env, impls.Options) impls.Lock { return elsewhere{} }}
		if c.Fences {
			spec.New = func(impls.Env, impls.Options) impls.Lock { return fencesElsewhere{} }
		}
		specs = append(specs, spec)
	}
	return specs, len(specs) > 0
}

// elsewhere is a lock that only its program can use.
type elsewhere struct{}

var errElsewhere = errors.New("only its program has this lock")

func (elsewhere) TryAcquire(context.Context) (bool, error) { return false, errElsewhere }
func (elsewhere) Release(context.Context) (bool, error)    { return false, errElsewhere }

// fencesElsewhere is one that issues fences.
type fencesElsewhere struct{ elsewhere }

func (fencesElsewhere) Fence() int64 { return 0 }
