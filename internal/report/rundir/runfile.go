// Package rundir reads and writes the files in a run's directory.
//
// It owns their names, and that a reader sees an old file or a new one, never a part. It must not know what is in a report.
package rundir

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/locklab/locklab/internal/record"
)

// RunVersion is the schema version of run.json. ReadRun refuses any other.
const RunVersion = 1

// Names of files within a run's directory.
const (
	RunFile   = "run.json"
	JUnitFile = "junit.xml"
	PageFile  = "report.html"
)

// maxRunFile is how many bytes of it are read.
const maxRunFile = 256 << 20

// ReadRun reads a run, of which it is given the directory or the file within it, and sets Run.Dir to the directory. Errors are
// "path: what".
func ReadRun(path string) (*record.Run, error) {
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		path = filepath.Join(path, RunFile)
	}
	data, err := readBounded(path)
	if err != nil {
		return nil, plainPathError(path, err)
	}
	run, err := ParseRun(path, data)
	if err != nil {
		return nil, err
	}
	run.Dir = filepath.Dir(path)
	return run, nil
}

// ParseRun reads the text of the file at path, which errors name.
func ParseRun(path string, data []byte) (*record.Run, error) {
	var run record.Run
	if err := json.Unmarshal(data, &run); err != nil {
		if filepath.Base(path) != RunFile {
			return nil, fmt.Errorf("%s: not a run; name a run's directory, for example runs/latest", path)
		}
		return nil, fmt.Errorf("%s: not the %s of a run: %w", path, RunFile, err)
	}
	if run.Version != RunVersion {
		return nil, fmt.Errorf("%s: version %d of %s; this lab reads version %d", path, run.Version, RunFile, RunVersion)
	}
	for _, cell := range run.Cells {
		if cell.Dir != "" && !filepath.IsLocal(cell.Dir) {
			return nil, fmt.Errorf("%s: the results of %s/%s would lie in %q, outside the run; restore the file, or run again",
				path, cell.Lock, cell.Scenario, cell.Dir)
		}
	}
	return &run, nil
}

// readBounded reads a regular file of at most maxRunFile bytes. Others may have no end.
func readBounded(path string) ([]byte, error) {
	info, err := os.Stat(path) // before it is opened: to open a pipe may take for ever
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, errors.New("not a regular file")
	}
	if info.Size() > maxRunFile {
		return nil, fmt.Errorf("%d bytes are too many; at most %d are read", info.Size(), maxRunFile)
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return io.ReadAll(io.LimitReader(file, maxRunFile))
}

// CreateRun writes dir/run.json if there is none yet; else the error is fs.ErrExist. Of several programs that do so at once, one succeeds.
func CreateRun(dir string, run *record.Run) error {
	run.Version = RunVersion
	return CreateJSON(filepath.Join(dir, RunFile), run)
}

// WriteRun writes dir/run.json so that a reader sees the old file or the new one, never a part. It sets run.Version.
func WriteRun(dir string, run *record.Run) error {
	run.Version = RunVersion
	return WriteJSON(filepath.Join(dir, RunFile), run)
}

// WriteFile writes a file so that a reader sees the old one or the new one, never a part.
func WriteFile(path string, data []byte) error { return place(path, data, os.Rename) }

// CreateJSON writes a value into a file that is not there yet; else the error is fs.ErrExist. Of several programs that do so at once, one succeeds.
func CreateJSON(path string, value any) error { return putJSON(path, value, os.Link) }

// WriteJSON writes a value so that a reader sees the old file or the new one, never a part.
func WriteJSON(path string, value any) error { return putJSON(path, value, os.Rename) }

// ReadJSON reads a value that CreateJSON or WriteJSON wrote; what says of what it is.
func ReadJSON(path, what string, value any) error {
	data, err := readBounded(path)
	if err != nil {
		return plainPathError(path, err)
	}
	if err := json.Unmarshal(data, value); err != nil {
		return fmt.Errorf("%s: not the %s of %s: %w", path, filepath.Base(path), what, err)
	}
	return nil
}

// putJSON writes a value beside its place and moves it there.
func putJSON(path string, value any, move func(from, to string) error) error {
	data, err := json.MarshalIndent(value, "", "") // a value a line, without indentation, which was two fifths of a run's file
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return place(path, append(data, '\n'), move)
}

// place is putFile with errors that name the path once.
func place(path string, data []byte, move func(from, to string) error) error {
	if err := putFile(path, data, move); err != nil {
		return plainPathError(path, err)
	}
	return nil
}

// putFile writes a temporary file beside path, moves it there, and leaves no other.
func putFile(path string, data []byte, move func(from, to string) error) (err error) {
	tmp, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*")
	if err != nil {
		return err
	}
	defer func() {
		if gone := os.Remove(tmp.Name()); !errors.Is(gone, fs.ErrNotExist) {
			err = errors.Join(err, gone)
		}
	}()
	if _, err := tmp.Write(data); err != nil {
		return errors.Join(err, tmp.Close())
	}
	if err := tmp.Chmod(0o644); err != nil {
		return errors.Join(err, tmp.Close())
	}
	if err := tmp.Close(); err != nil {
		return err
	}
	return move(tmp.Name(), path)
}

// plainPathError names the path once, however the operating system words its error.
func plainPathError(path string, err error) error {
	var pathErr *fs.PathError
	var linkErr *os.LinkError
	switch {
	case errors.As(err, &pathErr):
		err = pathErr.Err
	case errors.As(err, &linkErr):
		err = linkErr.Err
	}
	return fmt.Errorf("%s: %w", path, err)
}
