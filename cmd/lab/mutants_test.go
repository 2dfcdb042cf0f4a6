package main

import (
	"bytes"
	"flag"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

var (
	mutants    = flag.Int("mutants", 60, "how many damaged histories and run files are read by TestMutants")
	mutantSeed = flag.Uint64("mutant-seed", 1, "the first seed of TestMutants")
)

// TestMutants damages a saved run and reads it by the subcommands that do. None panics, none takes long, and each ends with an exit code
// that is documented for it.
func TestMutants(t *testing.T) {
	var codes [256]int
	source := filepath.Join("testdata", "runs", "storm")
	var files []string
	require.NoError(t, filepath.WalkDir(source, func(path string, d os.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			files = append(files, path)
		}
		return err
	}))
	dir := t.TempDir()
	require.NoError(t, os.CopyFS(dir, os.DirFS(source)))
	for n := range *mutants {
		seed := *mutantSeed + uint64(n)
		random := rand.New(rand.NewPCG(seed, 0))
		file := files[random.IntN(len(files))]
		whole, err := os.ReadFile(file)
		require.NoError(t, err)
		rel, err := filepath.Rel(source, file)
		require.NoError(t, err)
		damaged := filepath.Join(dir, rel)
		require.NoError(t, os.WriteFile(damaged, mutate(random, whole), 0o600))
		command := []string{"check", "explain"}[random.IntN(2)]
		codes[judgeMutant(t, seed, command, dir)]++
		require.NoError(t, os.WriteFile(damaged, whole, 0o600))
	}
	for code, n := range codes {
		if n > 0 {
			t.Logf("exit code %d: %d mutants", code, n)
		}
	}
}

// longestMutant is far longer than a mutant takes on a busy host.
const longestMutant = 2 * time.Minute

func judgeMutant(t *testing.T, seed uint64, command, dir string) int {
	t.Helper()
	began := time.Now()
	defer func() {
		if r := recover(); r != nil {
			t.Fatalf("seed %d: %s: panic: %v", seed, command, r)
		}
	}()
	var out, stderr bytes.Buffer
	code := run(t.Context(), []string{command, dir}, strings.NewReader(""), &out, &stderr)
	require.Less(t, time.Since(began), longestMutant, "seed %d: %s", seed, command)
	require.Contains(t, []int{codeExpected, codeSurprise, codeUnknown, codeFailed, codeNothing, codeUsage}, code, "seed %d: %s", seed, command)
	if code == codeUsage {
		require.NotEmpty(t, stderr.String(), "seed %d: %s", seed, command)
	}
	return code
}

// mutate damages a text as disks, editors and people do.
func mutate(random *rand.Rand, whole []byte) []byte {
	text := bytes.Clone(whole)
	for range 1 + random.IntN(3) {
		if len(text) == 0 {
			return text
		}
		at := random.IntN(len(text))
		switch random.IntN(6) {
		case 0:
			text[at] ^= 1 << random.IntN(8)
		case 1:
			text = text[:at]
		case 2:
			lines := bytes.SplitAfter(text, []byte("\n"))
			a, b := random.IntN(len(lines)), random.IntN(len(lines))
			lines[a], lines[b] = lines[b], lines[a]
			text = bytes.Join(lines, nil)
		case 3:
			lines := bytes.SplitAfter(text, []byte("\n"))
			lines[random.IntN(len(lines))] = nil
			text = bytes.Join(lines, nil)
		case 4:
			text = replaceNumber(random, text, at)
		case 5:
			text = renameField(text, at)
		}
	}
	return text
}

// replaceNumber puts an extreme number in place of the next one.
func replaceNumber(random *rand.Rand, text []byte, at int) []byte {
	from := at + max(0, bytes.IndexAny(text[at:], "0123456789"))
	to := from
	for to < len(text) && text[to] >= '0' && text[to] <= '9' {
		to++
	}
	all := []int64{0, -1, 1, 1 << 31, 1 << 62, -1 << 63, 1<<63 - 1, 1_000_000_000}
	return bytes.Join([][]byte{text[:from], strconv.AppendInt(nil, all[random.IntN(len(all))], 10), text[to:]}, nil)
}

// renameField makes the next field one that is not known, so that it is missing.
func renameField(text []byte, at int) []byte {
	i := bytes.Index(text[at:], []byte(`":`))
	if i > 0 {
		text[at+i-1] = '_'
	}
	return text
}
