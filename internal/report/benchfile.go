package report

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"

	"github.com/locklab/locklab/internal/bench"
)

// Names of files within the directory of a measurement.
const (
	BenchFile = "bench.json"
	BenchPage = "bench.html"
)

// CreateBench writes dir/bench.json if there is none yet; else the error is fs.ErrExist. Of several programs that do so at once, one succeeds.
func CreateBench(dir string, record *bench.Record) error {
	return CreateJSON(filepath.Join(dir, BenchFile), record)
}

// WriteBench writes dir/bench.json and dir/bench.html.
func WriteBench(dir string, record *bench.Record) error {
	if err := WriteJSON(filepath.Join(dir, BenchFile), record); err != nil {
		return err
	}
	var page bytes.Buffer
	if err := BenchHTML(&page, record); err != nil {
		return err
	}
	path := filepath.Join(dir, BenchPage)
	if err := putFile(path, page.Bytes(), os.Rename); err != nil {
		return plainPathError(path, err)
	}
	return nil
}

// ReadBench reads dir/bench.json.
func ReadBench(dir string) (*bench.Record, error) {
	path := filepath.Join(dir, BenchFile)
	var record bench.Record
	if err := ReadJSON(path, "a measurement", &record); err != nil {
		return nil, err
	}
	if record.Version != bench.Version {
		return nil, fmt.Errorf("%s: version %d of %s; this lab reads version %d", path, record.Version, BenchFile, bench.Version)
	}
	return &record, nil
}
