// Command build writes the playground: one page that has all that it needs.
//
// It owns how the page is put together. It must not know what the playground does.
//
//	go run ./web/build -o web/dist
package main

import (
	"bytes"
	"compress/flate"
	"encoding/base64"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"text/template"

	"github.com/locklab/locklab/internal/report/web"
	"github.com/locklab/locklab/web/internal/course"
)

func main() {
	out := flag.String("o", filepath.Join("web", "dist"), "directory that the page is written to")
	flag.Parse()
	size, err := build(*out)
	if err != nil {
		fmt.Fprintln(os.Stderr, "build:", err)
		os.Exit(1)
	}
	fmt.Printf("%s: %.1f MB\n", filepath.Join(*out, pageFile), float64(size)/1e6)
}

const pageFile = "index.html"

// parts are what the page is made of.
type parts struct{ Style, Script, Worker, Sources, Course, Wasm string }

// build writes the page, and returns its size.
func build(out string) (int, error) {
	root, err := output("go", "list", "-m", "-f", "{{.Dir}}", "github.com/locklab/locklab")
	if err != nil {
		return 0, err
	}
	var p parts
	for _, make := range []func(*parts, string) error{assets, worker, sources, chapters, wasm} {
		if err := make(&p, root); err != nil {
			return 0, err
		}
	}
	page, err := template.ParseFiles(filepath.Join(root, "web", "page", "page.html"))
	if err != nil {
		return 0, err
	}
	var text bytes.Buffer
	if err := page.Execute(&text, p); err != nil {
		return 0, err
	}
	if err := os.MkdirAll(out, 0o755); err != nil {
		return 0, err
	}
	return text.Len(), os.WriteFile(filepath.Join(out, pageFile), text.Bytes(), 0o644)
}

// output is what a command writes, without the end of its line.
func output(name string, args ...string) (string, error) {
	cmd := exec.Command(name, args...)
	cmd.Stderr = os.Stderr
	text, err := cmd.Output()
	return strings.TrimSpace(string(text)), err
}

// assets are the viewer's style and scripts, and the playground's.
func assets(p *parts, root string) (err error) {
	if p.Style, p.Script, err = web.Viewer(); err != nil {
		return err
	}
	style, err := os.ReadFile(filepath.Join(root, "web", "page", "page.css"))
	if err != nil {
		return err
	}
	p.Style += string(style)
	names, err := filepath.Glob(filepath.Join(root, "web", "page", "[0-9]*.js"))
	for _, name := range names {
		text, failed := os.ReadFile(name)
		err = errors.Join(err, failed)
		p.Script += string(text)
	}
	return err
}

// worker is what runs the lab in the page: Go's own support for WebAssembly, and how it begins.
func worker(p *parts, root string) error {
	goRoot, err := output("go", "env", "GOROOT")
	if err != nil {
		return err
	}
	for _, name := range []string{filepath.Join(goRoot, "lib", "wasm", "wasm_exec.js"), filepath.Join(root, "web", "page", "worker.js")} {
		text, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		p.Worker += string(text)
	}
	return nil
}

// sources are those of the locks, by their names.
func sources(p *parts, root string) error {
	names, err := filepath.Glob(filepath.Join(root, "impls", "*.go"))
	if err != nil {
		return err
	}
	all := map[string]string{}
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		text, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		all[filepath.Base(name)] = string(text)
	}
	text, err := json.Marshal(all)
	if err == nil {
		p.Sources, err = packed(text)
	}
	return err
}

// chapters are those of the course.
func chapters(p *parts, root string) error {
	all, err := course.Read(os.DirFS(filepath.Join(root, "docs", "course")))
	if err != nil {
		return err
	}
	text, err := json.Marshal(all)
	if err == nil {
		p.Course, err = packed(text)
	}
	return err
}

// inlined are the packages in which functions are inlined. Compressed, the lab is an eighth smaller if there are no others, and a search takes three times as
// long if there are none.
var inlined = []string{"github.com/locklab/locklab/internal/sim/...", "hash/maphash", "internal/runtime/maps", "runtime"}

// wasm is the lab itself.
func wasm(p *parts, root string) error {
	dir, err := os.MkdirTemp("", "playground-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	file := filepath.Join(dir, "lab.wasm")
	args := []string{"build", "-trimpath", "-ldflags=-s -w", "-gcflags=all=-l"}
	for _, pattern := range inlined {
		args = append(args, "-gcflags="+pattern+"=")
	}
	cmd := exec.Command("go", append(args, "-o", file, "./web/wasm")...)
	cmd.Dir, cmd.Env, cmd.Stderr = root, append(os.Environ(), "GOOS=js", "GOARCH=wasm", "GOFLAGS="), os.Stderr
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("go build: %w", err)
	}
	code, err := os.ReadFile(file)
	if err == nil {
		p.Wasm, err = packed(code)
	}
	return err
}

// packed compresses data for the page, as letters and digits.
func packed(data []byte) (string, error) {
	var text bytes.Buffer
	letters := base64.NewEncoder(base64.StdEncoding, &text)
	deflate, err := flate.NewWriter(letters, flate.BestCompression)
	if err != nil {
		return "", err
	}
	_, err = deflate.Write(data)
	err = errors.Join(err, deflate.Close(), letters.Close())
	return text.String(), err
}
