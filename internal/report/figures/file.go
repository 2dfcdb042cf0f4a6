package figures

import (
	"bytes"
	"fmt"
	"path/filepath"

	"github.com/locklab/locklab/internal/bench"
	"github.com/locklab/locklab/internal/report/rundir"
)

// Names of files within the directory of a measurement.
const (
	File = "bench.json"
	Page = "bench.html"
)

// Create writes dir/bench.json if there is none yet; else the error is fs.ErrExist. Of several programs that do so at once, one succeeds.
func Create(dir string, record *bench.Record) error {
	return rundir.CreateJSON(filepath.Join(dir, File), record)
}

// Write writes dir/bench.json and dir/bench.html.
func Write(dir string, record *bench.Record) error {
	if err := rundir.WriteJSON(filepath.Join(dir, File), record); err != nil {
		return err
	}
	var page bytes.Buffer
	if err := HTML(&page, record); err != nil {
		return err
	}
	return rundir.WriteFile(filepath.Join(dir, Page), page.Bytes())
}

// Read reads dir/bench.json.
func Read(dir string) (*bench.Record, error) {
	path := filepath.Join(dir, File)
	var record bench.Record
	if err := rundir.ReadJSON(path, "a measurement", &record); err != nil {
		return nil, err
	}
	if record.Version != bench.Version {
		return nil, fmt.Errorf("%s: version %d of %s; this lab reads version %d", path, record.Version, File, bench.Version)
	}
	return &record, nil
}
