package process

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// readyLine is what the guard process writes when it is ready.
const readyLine = "guarding"

// guardLine is the length in bytes of the longest line that the guard reads; paths are shorter everywhere, and what is to be undone is mostly.
const guardLine = 2 << 20

// GuardMain is the main function of the guard process. It reads lines until its input ends:
//
//	group PGID        forget group PGID
//	dir PATH          forget dir PATH
//	undo KIND WHAT    forget undo KIND
//
// Then it kills the remaining groups and every process with its lab's mark, removes the directories, runs the undo of each kind, and
// returns. It ignores the signals that a terminal sends.
func GuardMain(stdin io.Reader, stdout io.Writer, undos map[string]Undo) error {
	if err := supported(); err != nil {
		return err
	}
	ignoreSignals()
	if _, err := fmt.Fprintln(stdout, readyLine); err != nil {
		return fmt.Errorf("guard: %w", err)
	}
	w := wards{mark: os.Getenv(markVar), undos: undos}
	readErr := w.read(stdin)
	return errors.Join(readErr, w.end())
}

// wards are what a guard has to end.
type wards struct {
	mark   string // value of markVar; empty: nothing is marked
	undos  map[string]Undo
	groups []int
	dirs   []string
	tasks  []task
}

// read follows the lines until the input ends. It reports a bad line at the end, and guards what the others name.
func (w *wards) read(in io.Reader) error {
	var errs []error
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, guardLine)
	for lines.Scan() {
		if err := w.follow(lines.Text()); err != nil && len(errs) < 10 {
			errs = append(errs, err)
		}
	}
	if err := lines.Err(); err != nil {
		errs = append(errs, fmt.Errorf("guard: %w", err))
	}
	return errors.Join(errs...)
}

func (w *wards) follow(line string) error {
	rest, forget := strings.CutPrefix(line, "forget ")
	kind, what, _ := strings.Cut(rest, " ")
	switch kind {
	case "group":
		// kill(2) takes 0 for the guard's own group, and -1 for every process.
		pgid, err := strconv.Atoi(what)
		if err != nil || pgid <= 1 {
			return fmt.Errorf("guard: %q: no process group", line)
		}
		w.groups = toggle(w.groups, pgid, forget)
	case "dir":
		if !filepath.IsAbs(what) || filepath.Clean(what) != what || filepath.Dir(what) == what {
			return fmt.Errorf("guard: %q: no clean absolute path below the root", line)
		}
		w.dirs = toggle(w.dirs, what, forget)
	case "undo":
		kind, what, _ := strings.Cut(what, " ")
		if err := w.toUndo(kind, what, forget); err != nil {
			return fmt.Errorf("guard: undo %s: %w", kind, err) // what is to be undone may hold a secret
		}
	default:
		return fmt.Errorf("guard: %q: unknown", line)
	}
	return nil
}

// toggle returns the list with the item, once, or without it.
func toggle[T comparable](list []T, item T, forget bool) []T {
	list = slices.DeleteFunc(list, func(other T) bool { return other == item })
	if forget {
		return list
	}
	return append(list, item)
}

// end kills the groups, waits until they are gone, and then removes the directories, into which a living process could write again.
// Undos come last: they may wait for a foreign server.
func (w *wards) end() error {
	for _, pgid := range w.groups {
		_ = signalGroup(pgid, sigKill)
	}
	errs := []error{endGroups(w.groups, patience), w.endMarked(patience)}
	for _, dir := range w.dirs {
		errs = append(errs, os.RemoveAll(dir))
	}
	for _, t := range slices.Backward(w.tasks) { // what was done last may be in the way of what was done before
		errs = append(errs, w.undo(t))
	}
	return errors.Join(errs...)
}

// endMarked kills processes that were started but not registered, because the lab was killed between the two, and those that have left
// their group.
func (w *wards) endMarked(bound time.Duration) error {
	if w.mark == "" {
		return nil
	}
	deadline := time.Now().Add(bound)
	for wait := pollFirst; ; wait = nextPoll(wait) {
		left, err := marked(w.mark)
		if err != nil || len(left) == 0 {
			return err
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("%d processes of the lab cannot be killed", len(left))
		}
		for _, pid := range left {
			_ = kill(pid)
		}
		time.Sleep(wait)
	}
}

// endGroups kills groups until only zombies are left in them. It looks all of them up at once: a lab has dozens of groups, and listing the
// processes of a system takes milliseconds.
func endGroups(pgids []int, bound time.Duration) error {
	deadline := time.Now().Add(bound)
	for wait := pollFirst; ; wait = nextPoll(wait) {
		alive, err := livingByGroup(pgids)
		if err != nil {
			return err
		}
		pgids = slices.DeleteFunc(slices.Clone(pgids), func(pgid int) bool { return alive[pgid] == 0 })
		if len(pgids) == 0 {
			return nil
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("process group %d cannot be killed: %d processes are left", pgids[0], alive[pgids[0]])
		}
		for _, pgid := range pgids {
			_ = signalGroup(pgid, sigKill)
		}
		time.Sleep(wait)
	}
}
