// Package kits has the files of an adapter to begin with, for each language: the client protocol, and a small lock to replace.
//
// It owns those files. It must not know what the lab does with a client.
package kits

import (
	"bytes"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/locklab/locklab/worker/client"
)

//go:embed go java node python shell
var files embed.FS

// Kit is a kit for a language.
type Kit struct {
	Name    string
	Prepare string // the command to be called in the directory first; empty: none
	Command string // that starts the client in the directory; %s stands for it
	Lock    string // the file that has the lock
}

// All lists the kits.
func All() []Kit {
	return []Kit{
		{"go", "go build -mod=mod -o client .", "%s/client", "main.go"},
		// A JVM that is killed leaves its performance data below /tmp.
		{"java", "javac -d classes *.java", "java -XX:-UsePerfData -cp %s/classes Client", "Client.java"},
		{"node", "npm install", "node %s/client.js", "client.js"},
		// Beside the client, where Python looks first: the Python of a distribution refuses to have anything installed.
		{"python", "python3 -m pip install --target . redis", "python3 %s/client.py", "client.py"},
		{"shell", "", "python3 %s/client.py", "lock.sh"},
	}
}

// Find is the kit of the name.
func Find(name string) (Kit, bool) {
	for _, kit := range All() {
		if kit.Name == name {
			return kit, true
		}
	}
	return Kit{}, false
}

// ErrThere says that a file is there already. Nothing is overwritten.
var ErrThere = errors.New("is there already")

// Write writes the kit's files into a directory, which it makes if there is none, with files of the caller's, by their names, beside them or in their
// place. It returns the names of the kit's.
func (k Kit) Write(dir string, own map[string][]byte) (names []string, err error) {
	contents := map[string][]byte{}
	read := func(from fs.FS, begin, into string) error {
		return fs.WalkDir(from, begin, func(name string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() {
				return err
			}
			text, err := fs.ReadFile(from, name)
			name = path.Join(into, strings.TrimSuffix(path.Base(name), ".txt")) // Go files of another module
			contents[name], names = bytes.Replace(text, []byte("package client\n"), []byte("package locklab\n"), 1), append(names, name)
			return err
		})
	}
	kit, err := fs.Sub(files, k.Name)
	if err != nil {
		return nil, err
	}
	if err := read(kit, ".", "."); err != nil {
		return nil, err
	}
	switch k.Name {
	case "go":
		err = read(client.Sources, ".", "locklab")
	case "shell": // its client is in Python
		err = read(files, "python/locklab.py", ".")
	}
	if err != nil {
		return nil, err
	}
	for _, name := range slices.Sorted(maps.Keys(own)) {
		if _, there := contents[name]; !there {
			names = append(names, name)
		}
		contents[name] = bytes.Replace(own[name], []byte(`"github.com/locklab/locklab/worker/client"`), []byte(`client "mylock/locklab"`), 1)
	}
	for _, name := range names {
		if _, err := os.Lstat(filepath.Join(dir, name)); !errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("%s: %w", filepath.Join(dir, name), errors.Join(err, ErrThere))
		}
	}
	for _, name := range names {
		full := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(full), 0o755); err != nil {
			return nil, err
		}
		if err := os.WriteFile(full, contents[name], 0o644); err != nil {
			return nil, err
		}
	}
	return names, nil
}
