package lab

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/locklab/locklab/internal/record"
	"github.com/locklab/locklab/internal/report/rundir"
)

// Results says what is kept of a run. The zero Results keep nothing.
type Results struct {
	// Dir is the directory: run.json, report.html, junit.xml, and the histories of the cells. It is made, and must not hold a run yet.
	Dir string
	// Latest has the name "latest" beside Dir point to it.
	Latest bool
	// Most is how many runs are kept beside one another, Dir among them: the oldest are removed. Only directories with names as
	// NewID makes them are. Zero: all are kept.
	Most int
}

// DirError says why a directory cannot have the results of a run.
type DirError struct {
	Dir string
	Err error
}

func (e *DirError) Error() string { return fmt.Sprintf("results in %s: %v", e.Dir, e.Err) }
func (e *DirError) Unwrap() error { return e.Err }

var errInUse = errors.New("it holds the results of another run; name another directory")

const latest = "latest"

// servers is the directory of the logs of redis-server.
const servers = "servers"

var (
	errOutside = errors.New("its results would lie outside the directory of the run")
	errTaken   = errors.New("the run has a file of that name")
	errStrange = errors.New("a name is of printable characters")
)

// CheckName says whether a scenario or a lock can have that name: results lie in directories that are called after them.
func CheckName(name string) error {
	switch {
	case name == "" || name == "." || !filepath.IsLocal(name) || strings.ContainsAny(name, `/\`):
		return errOutside
	case slices.ContainsFunc([]string{rundir.RunFile, rundir.PageFile, rundir.JUnitFile, PackFile, servers}, func(file string) bool {
		return strings.EqualFold(name, file)
	}):
		return errTaken
	case !printable(name):
		return errStrange
	}
	return nil
}

func printable(name string) bool {
	return utf8.ValidString(name) && !strings.ContainsFunc(name, func(r rune) bool { return !unicode.IsPrint(r) })
}

// checkNames finds cells whose results cannot lie where they should.
func (p Plan) checkNames() error {
	for _, c := range p.Cases {
		if err := CheckName(c.Script.Name); err != nil {
			return fmt.Errorf("scenario %q: %w", c.Script.Name, err)
		}
		// A lock with some of its bugs has a name like redlock/wall-clock, and one with none of them a name like redlock/.
		for part := range strings.SplitSeq(strings.TrimSuffix(c.Subject.Name, "/"), "/") {
			if err := CheckName(part); err != nil {
				return fmt.Errorf("lock %q: %w", c.Subject.Name, err)
			}
		}
	}
	return nil
}

// results is the directory of a run.
type results struct {
	Results
	made []string // directories that were not there before, the innermost first
}

// open makes the directory, and claims it for this run.
func (r Results) open(run *record.Run) (*results, error) {
	return r.claim(func(dir string) error { return rundir.CreateRun(dir, run) })
}

// claim makes the directory and has create claim it: of several that want it at the same time, one gets it.
func (r Results) claim(create func(dir string) error) (*results, error) {
	if r.Dir == "" {
		return &results{}, nil
	}
	if !printable(r.Dir) {
		return nil, &DirError{r.Dir, errStrange}
	}
	out := &results{Results: r}
	for up := filepath.Clean(r.Dir); ; up = filepath.Dir(up) {
		if _, err := os.Stat(up); !errors.Is(err, fs.ErrNotExist) {
			break
		}
		out.made = append(out.made, up)
	}
	if err := os.MkdirAll(r.Dir, 0o755); err != nil {
		return nil, &DirError{r.Dir, err}
	}
	err := create(r.Dir)
	if errors.Is(err, fs.ErrExist) {
		err = errInUse
	}
	if err != nil {
		return nil, &DirError{r.Dir, err}
	}
	return out, nil
}

// discard removes what a run that never began has left: its own directory with all that is in it, and those above it that were
// made for it, unless somebody else uses them by now. In a directory that was there before, only the file with which it was claimed is removed.
func (r *results) discard(claimed string) error {
	if r.Dir == "" {
		return nil
	}
	if len(r.made) == 0 {
		return os.Remove(filepath.Join(r.Dir, claimed))
	}
	err := os.RemoveAll(r.Dir)
	for _, dir := range r.made[1:] {
		_ = os.Remove(dir)
	}
	return err
}

// publish writes run.json, and has "latest" point to it.
func (r *results) publish(run *record.Run) error {
	if err := r.write(run); err != nil || !r.Latest || r.Dir == "" {
		return err
	}
	link := filepath.Join(filepath.Dir(r.Dir), latest)
	next := link + "." + run.ID // of its own, because another lab may be at it as well
	if err := os.Symlink(filepath.Base(r.Dir), next); err != nil {
		return err
	}
	return os.Rename(next, link)
}

func (r *results) write(run *record.Run) error {
	if r.Dir == "" {
		return nil
	}
	return rundir.WriteRun(r.Dir, run)
}

// idPattern is the form of NewID.
var idPattern = regexp.MustCompile(`^\d{8}-\d{6}-[0-9a-f]{4}$`)

// atWork is how long a run that has not finished is taken to be under way still.
const atWork = 24 * time.Hour

// prune removes the oldest of the runs beside this one.
func (r *results) prune() error { return r.pruneLike(idPattern, underWay) }

// pruneLike removes the oldest directories beside this one whose names match, unless they are busy.
func (r *results) pruneLike(names *regexp.Regexp, busy func(dir string) bool) error {
	if r.Dir == "" || r.Most <= 0 {
		return nil
	}
	beside := filepath.Dir(filepath.Clean(r.Dir))
	entries, err := os.ReadDir(beside)
	if err != nil {
		return err
	}
	var others []string // the oldest first, as their names begin with the time
	for _, entry := range entries {
		if entry.IsDir() && entry.Name() != filepath.Base(r.Dir) && names.MatchString(entry.Name()) {
			others = append(others, entry.Name())
		}
	}
	slices.Sort(others)
	var errs []error
	for _, name := range others[:max(0, len(others)-r.Most+1)] {
		if dir := filepath.Join(beside, name); !busy(dir) {
			errs = append(errs, os.RemoveAll(dir))
		}
	}
	return errors.Join(errs...)
}

// underWay says whether another lab may be at work on a run. What is no run at all is left alone, too.
func underWay(dir string) bool {
	run, err := rundir.ReadRun(dir)
	return err != nil || !run.Finished && time.Since(run.Started) < atWork
}
