// Command types checks the types of the packages of a module, with their tests, for systems other than this one, given as arguments:
//
//	go run ./.ci/types darwin windows
//
// Nothing is compiled, so that takes a tenth of the time of go vet, which compiles every dependency for each system.
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

func main() {
	failed := false
	for _, system := range os.Args[1:] {
		if err := check(system); err != nil {
			fmt.Fprintf(os.Stderr, "types for %s: %v\n", system, err)
			failed = true
		}
	}
	if failed {
		os.Exit(1)
	}
}

// listed is a package as go list has it.
type listed struct {
	ImportPath, Dir string
	GoFiles         []string
	ImportMap       map[string]string
	DepOnly         bool
	Error           *struct{ Err string }
}

// check checks all packages, each after those that it imports.
func check(system string) error {
	list := exec.Command("go", "list", "-deps", "-test", "-json=ImportPath,Dir,GoFiles,ImportMap,DepOnly,Error", "./...")
	list.Env = append(os.Environ(), "GOOS="+system, "CGO_ENABLED=0")
	list.Stderr = os.Stderr
	out, err := list.StdoutPipe()
	if err != nil {
		return err
	}
	if err := list.Start(); err != nil {
		return err
	}
	known := checked{"unsafe": types.Unsafe}
	files, count := token.NewFileSet(), 0
	for packages := json.NewDecoder(out); ; count++ {
		var p listed
		err := packages.Decode(&p)
		if errors.Is(err, io.EOF) {
			break
		}
		switch {
		case err != nil:
		case p.Error != nil:
			err = errors.New(p.Error.Err)
		default:
			err = known.add(files, p)
		}
		if err != nil {
			_ = list.Process.Kill()
			_ = list.Wait() // it was killed
			return err
		}
	}
	fmt.Printf("types for %s: %d packages\n", system, count)
	return list.Wait()
}

// checked are packages by their import paths.
type checked map[string]*types.Package

func (c checked) add(files *token.FileSet, p listed) error {
	if p.ImportPath == "unsafe" || strings.HasSuffix(p.ImportPath, ".test") { // the latter is made by go test
		return nil
	}
	var parsed []*ast.File
	for _, name := range p.GoFiles {
		file, err := parser.ParseFile(files, filepath.Join(p.Dir, name), nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		parsed = append(parsed, file)
	}
	var wrong []error
	config := types.Config{
		Importer: importer{c, p.ImportMap}, IgnoreFuncBodies: p.DepOnly, FakeImportC: true, Sizes: types.SizesFor("gc", "amd64"),
		Error: func(err error) { wrong = append(wrong, err) },
	}
	path, _, _ := strings.Cut(p.ImportPath, " ") // of a package with its tests: itself
	made, _ := config.Check(path, files, parsed, nil)
	c[p.ImportPath] = made
	return errors.Join(wrong...)
}

type importer struct {
	known checked
	paths map[string]string // where they are not what is written
}

func (i importer) Import(path string) (*types.Package, error) {
	if other, mapped := i.paths[path]; mapped {
		path = other
	}
	if p := i.known[path]; p != nil {
		return p, nil
	}
	return nil, fmt.Errorf("%s has not been listed before", path)
}
