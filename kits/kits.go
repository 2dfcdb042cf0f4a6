// Package kits has the files of an adapter to begin with, for each language: the client protocol, and a small lock to replace.
//
// It owns those files. It must not know what the lab does with a client.
package kits

import (
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/locklab/locklab/worker/client"
)

//go:embed go node python
var files embed.FS

// Kit is a kit for a language.
type Kit struct {
	Name    string
	Prepare string // the command to be called in the directory first; empty: none
	Command string // that starts the client in the directory; %s stands for it
}

// All lists the kits.
func All() []Kit {
	return []Kit{
		{"go", "go build -mod=mod -o client .", "%s/client"},
		{"node", "npm install", "node %s/client.js"},
		{"python", "", "python3 %s/client.py"},
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

// Write writes the kit's files into a directory, which it makes if there is none. It returns their names.
func (k Kit) Write(dir string) (names []string, err error) {
	contents := map[string][]byte{}
	entries, err := files.ReadDir(k.Name)
	if err != nil {
		return nil, err
	}
	for _, entry := range entries {
		text, err := files.ReadFile(path.Join(k.Name, entry.Name()))
		if err != nil {
			return nil, err
		}
		name := strings.TrimSuffix(entry.Name(), ".txt") // Go files of another module
		contents[name], names = text, append(names, name)
	}
	if k.Name == "go" {
		for name, text := range client.Sources() {
			name = path.Join("locklab", name)
			contents[name], names = []byte(strings.Replace(text, "package client", "package locklab", 1)), append(names, name)
		}
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
