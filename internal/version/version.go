// Package version owns what a build of the lab says that it is: the release, and what tells its source from any other.
//
// It must not know who shows it.
package version

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"os"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
)

// Number is the release that this source is, or comes before.
const Number = "0.1.0"

const module = "github.com/locklab/locklab"

// String is the version of this build in the form of semver.org. Two builds whose sources differ have different ones:
//
//	0.1.0+20261129.bf216ed6b0a3                          the tag v0.1.0
//	0.1.0-dev+20261129.bf216ed6b0a3                      another commit
//	0.1.0-dev+20261129.bf216ed6b0a3.dirty.5f3a9c21ab04   a commit and changes
//	0.1.0-dev+build.5f3a9c21ab04                         go run, or no repository
//
// The last part is then a hash of the executable, since nothing else that Go knows of such a build depends on its source.
func String() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		info = &debug.BuildInfo{}
	}
	return of(info, executable)
}

// of is the version of a build. The hash is asked for only where Go does not vouch for the source.
func of(info *debug.BuildInfo, hash func() string) string {
	lab := info.Main
	for _, dep := range info.Deps {
		if dep.Path == module {
			lab = *dep
		}
	}
	if lab.Sum != "" && lab.Replace == nil { // from the module cache, where a version has one source
		return strings.TrimPrefix(lab.Version, "v")
	}
	if lab.Path != module || info.Main.Path != module {
		return Number + "-dev+build." + hash() // the repository is the program's, not the lab's
	}
	set := map[string]string{}
	for _, s := range info.Settings {
		set[s.Key] = s.Value
	}
	revision := set["vcs.revision"]
	if revision == "" {
		return Number + "-dev+build." + hash()
	}
	revision = revision[:min(12, len(revision))]
	commit := revision
	if day, _, ok := strings.Cut(set["vcs.time"], "T"); ok {
		commit = strings.ReplaceAll(day, "-", "") + "." + revision
	}
	replaced := func(dep *debug.Module) bool { return dep.Sum == "" } // by a directory, as in a workspace
	switch {
	case set["vcs.modified"] != "false" || slices.ContainsFunc(info.Deps, replaced):
		return Number + "-dev+" + commit + ".dirty." + hash()
	case lab.Version == "" || lab.Version == "(devel)" || strings.HasSuffix(lab.Version, revision): // no tag, or a pseudo-version
		return Number + "-dev+" + commit
	}
	return strings.TrimPrefix(lab.Version, "v") + "+" + commit
}

// executable is a hash of this program.
var executable = sync.OnceValue(func() string {
	path, err := os.Executable()
	if err != nil {
		return "unknown"
	}
	file, err := os.Open(path)
	if err != nil {
		return "unknown"
	}
	defer file.Close()
	sum := sha256.New()
	head := make([]byte, 64<<10)
	n, _ := io.ReadFull(file, head)
	if id := buildID(head[:n]); id != nil {
		sum.Write(id)
	} else if _, err := io.Copy(sum, io.MultiReader(bytes.NewReader(head[:n]), file)); err != nil {
		return "unknown"
	}
	return hex.EncodeToString(sum.Sum(nil))[:12]
})

// buildID is what the go command writes into the beginning of a program, a note where programs are in ELF. In it are hashes of what went in and of what
// came out, so that 50 MB need not be read, which takes longer than many a run. What somebody else has written there (-ldflags=-buildid=…) is passed over.
func buildID(head []byte) []byte {
	const long = 20 // of each of four hashes
	for _, before := range []string{"\x04\x00\x00\x00Go\x00\x00", `Go build ID: "`} {
		if _, id, ok := bytes.Cut(head, []byte(before)); ok && len(id) >= 4*long+3 {
			id = id[:4*long+3]
			if !slices.ContainsFunc(bytes.Split(id, []byte("/")), func(hash []byte) bool { return len(hash) != long }) {
				return id
			}
		}
	}
	return nil
}
