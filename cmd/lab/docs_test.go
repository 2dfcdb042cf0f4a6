package main

import (
	"bytes"
	"cmp"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/locklab/locklab/cmd/lab/internal/cli"
	"github.com/locklab/locklab/impls"
	chromium "github.com/locklab/locklab/internal/browser"
	"github.com/locklab/locklab/internal/faults/server/redis"
	"github.com/locklab/locklab/internal/faults/server/zookeeper"
	"github.com/locklab/locklab/internal/needs"
	"github.com/locklab/locklab/scenarios"
)

const (
	top  = "../.."
	rest = "…\n"
)

// pagesOf are the pages for users: the README in its languages, and docs with what is below it.
func pagesOf(t *testing.T) []string {
	t.Helper()
	pages, err := filepath.Glob(filepath.Join(top, "README*.md"))
	require.NoError(t, err)
	require.NoError(t, filepath.WalkDir(filepath.Join(top, "docs"), func(path string, d fs.DirEntry, err error) error {
		if strings.HasSuffix(path, ".md") {
			pages = append(pages, path)
		}
		return err
	}))
	return pages
}

// TestCommandsInDocs asserts that each command line in a page is one that the lab knows, with flags, locks and scenarios that it has.
func TestCommandsInDocs(t *testing.T) {
	line := regexp.MustCompile("(?m)(?:^|`|\\$ |&& |compose run --rm )(?:lab|go run ./cmd/lab) ([a-z]+)([^`#|&\n]*)")
	flag := regexp.MustCompile(`\s--([a-z-]+)`)
	locks := regexp.MustCompile(`--lock ([\w,/+-]+)`)
	builtin, err := scenarios.Builtin()
	require.NoError(t, err)
	seen, root := 0, newRoot()
	for _, page := range append(pagesOf(t), filepath.Join(top, "ARCHITECTURE.md"), filepath.Join(top, "CONTRIBUTING.md")) {
		text, err := os.ReadFile(page)
		require.NoError(t, err)
		for _, m := range line.FindAllStringSubmatch(string(text), -1) {
			seen++
			cmd, _, err := root.Find(append([]string{m[1]}, strings.Fields(m[2])...))
			if !assert.NoError(t, err, "%s: %s", page, m[0]) || !assert.Contains(t, cmd.CommandPath()+" ", " "+m[1]+" ", "%s: %s", page, m[0]) {
				continue
			}
			for _, f := range flag.FindAllStringSubmatch(m[2], -1) {
				assert.NotNil(t, cmd.Flags().Lookup(f[1]), "%s: --%s in %s", page, f[1], strings.TrimSpace(m[0]))
			}
			var names []string
			if m[1] == "run" || m[1] == "explore" || m[1] == "show" {
				words, _, _ := strings.Cut(m[2], " -")
				names = strings.Fields(words)
			}
			for _, found := range locks.FindAllStringSubmatch(m[2], -1) {
				names = append(names, strings.Split(found[1], ",")...)
			}
			for _, name := range names {
				_, isLock := impls.Find(name)
				_, isScenario := scenarios.Find(builtin, name)
				assert.True(t, isLock || isScenario || strings.ContainsAny(name, "./<") || name == strings.ToUpper(name), "%s: %s in %s", page, name, strings.TrimSpace(m[0]))
			}
		}
	}
	assert.Greater(t, seen, 50)
}

// A transcript is a command of a page, in a fenced block behind "$ ", and the output that follows it there. A command without output is only run.
type transcript struct{ page, command, output string }

var (
	fenced     = regexp.MustCompile("(?ms)^```[a-z]*\n(.*?)^```$")
	prompted   = regexp.MustCompile(`(?m)^\$ (.*)\n((?:[^$` + "`" + `\n].*\n|\n|\$[^ ].*\n)*)`)
	invoked    = regexp.MustCompile(`^(lab|go run \./cmd/lab) `)
	shellWords = regexp.MustCompile("[|&;<>'\"]")
)

// transcripts are those of a page, in the order in which a reader types them.
func transcripts(t *testing.T, page string) (all []transcript) {
	t.Helper()
	page, err := filepath.Abs(page)
	require.NoError(t, err)
	text, err := os.ReadFile(page)
	require.NoError(t, err)
	for _, block := range fenced.FindAllStringSubmatch(string(text), -1) {
		for _, found := range prompted.FindAllStringSubmatch(block[1], -1) {
			if invoked.MatchString(found[1]) {
				all = append(all, transcript{page, found[1], found[2]})
			}
		}
	}
	return all
}

// ours says whether this process can carry a command out: it needs no other one, and next to no time.
func (s transcript) ours() bool {
	word := strings.Fields(invoked.ReplaceAllString(s.command, ""))[0]
	switch {
	case shellWords.MatchString(s.command):
		return false
	case word == "run":
		return strings.Contains(s.command, " --world sim") && !strings.Contains(s.command, " --all")
	case word == "explore":
		return strings.Contains(s.command, " --anomaly ") && !strings.Contains(s.command, " --replay")
	}
	return slices.Contains([]string{"explain", "show", "list", "find", "check"}, word)
}

// quick says whether a command belongs to the quick run. What it prints must be compared with something.
func (s transcript) quick() bool { return s.output != "" && s.ours() }

// varies is what differs from run to run, in the model and, in the second list, in real time.
var (
	varies = [][2]string{
		{`runs/\d{8}-\d{6}-[0-9a-f]{4}`, "runs/RUN"},
		{`\\\n\s+`, ""}, // a command that is folded
		{`--seed \d+`, "--seed N"},
		{`,?\s+by lab \S+`, " by lab VERSION"},
		{`(?m)(  |took |in )[\d.]+(µs|ms|s)( \(\d+/s\))?(,.*| by lab VERSION)?$`, "${1}TIME$4"},
	}
	variesLive = [][2]string{
		{`(?m)^progress: .*\n`, ""},      // told of every ten seconds
		{`(?m)^   \d\.\d{3}s  .*\n`, ""}, // how many steps share a line depends on how far apart they are
		{`effort  \d+ scripts played in [\d.]+s`, "effort  N scripts played in TIME"},
	}
)

// asFar is what a command has printed as far as the page shows it: a last line "…" stands for the rest.
func (s transcript) asFar(printed string) string {
	if !strings.HasSuffix(s.output, rest) {
		return printed
	}
	lines := strings.SplitAfter(printed, "\n")
	return strings.Join(lines[:min(len(lines), strings.Count(s.output, "\n")-1)], "") + rest
}

// same says whether a command prints what the page shows, but for what differs from run to run.
func (s transcript) same(printed string) bool {
	patterns := varies
	if !s.quick() {
		patterns = slices.Concat(varies, variesLive)
	}
	shown, more := strings.CutSuffix(s.output, rest)
	for _, p := range patterns {
		pattern := regexp.MustCompile(p[0])
		shown, printed = pattern.ReplaceAllString(shown, p[1]), pattern.ReplaceAllString(printed, p[1])
	}
	want, got := strings.Fields(shown), strings.Fields(printed) // where a line is folded depends on what differs
	if more {
		got = got[:min(len(want), len(got))]
	}
	return slices.Equal(want, got)
}

// hold compares the page with what the command has printed, or rewrites it.
func (s transcript) hold(t *testing.T, printed string) {
	t.Helper()
	if s.output == "" || s.same(printed) {
		return
	}
	if !*update {
		assert.Equal(t, printed, s.output, "%s shows something else than %q prints; run: go test ./cmd/lab -run Transcripts -update", s.page, s.command)
		return
	}
	text, err := os.ReadFile(s.page)
	require.NoError(t, err)
	before, printed := "$ "+s.command+"\n", s.asFar(printed)
	require.Equal(t, 1, strings.Count(string(text), before+s.output), "%s shows %q twice", s.page, s.command)
	printed = regexp.MustCompile(`(by lab [^\s+]*)\S*`).ReplaceAllString(printed, "$1")
	require.NoError(t, os.WriteFile(s.page, []byte(strings.Replace(string(text), before+s.output, before+printed, 1)), 0o644))
}

// readerPlace goes to a directory from which the repository looks as it does to a reader, and which keeps what the commands write out of it.
func readerPlace(t *testing.T) {
	t.Helper()
	entries, err := os.ReadDir(top)
	require.NoError(t, err)
	from, err := filepath.Abs(top)
	require.NoError(t, err)
	t.Chdir(t.TempDir())
	for _, entry := range entries {
		if entry.Name() != "runs" {
			require.NoError(t, os.Symlink(filepath.Join(from, entry.Name()), entry.Name()))
		}
	}
	require.NoError(t, os.Mkdir("runs", 0o755)) // the newest run is that of a storm, until a command makes another
	require.NoError(t, os.Symlink(filepath.Join(from, "cmd", "lab", "testdata", "runs", "storm"), filepath.Join("runs", "latest")))
	t.Setenv("COLUMNS", "80")
}

// goRun is a program that the lab takes for what go run has built.
const goRun = "/go-build1/b001/exe/lab"

// inProcess carries out a command that is ours, and returns what it prints.
func inProcess(t *testing.T, s transcript) string {
	t.Helper()
	defer func(args []string) { os.Args = args }(os.Args)
	args := strings.Fields(invoked.ReplaceAllString(s.command, ""))
	os.Args = append([]string{"lab"}, args...)
	if !strings.HasPrefix(s.command, "lab ") {
		os.Args[0] = goRun
	}
	var printed bytes.Buffer
	code := carryOut(t.Context(), args, strings.NewReader(""), &printed, &printed)
	assert.Less(t, code, cli.CodeFailed, "%s: %s\n%s", s.page, s.command, &printed)
	return printed.String()
}

// holdAll runs the commands of each page, in their order and in a place of the page's own. A translation has the commands of its original, which run once.
func holdAll(t *testing.T, pages map[string][]transcript, run func(*testing.T, transcript) string) {
	t.Helper()
	printed := map[string][]string{}
	for page, commands := range pages {
		t.Run(page, func(t *testing.T) {
			var key strings.Builder
			for _, s := range commands {
				key.WriteString(s.command + "\n")
			}
			outputs, done := printed[key.String()]
			if !done {
				readerPlace(t)
				for _, s := range commands {
					outputs = append(outputs, run(t, s))
				}
				printed[key.String()] = outputs
			}
			for i, s := range commands {
				s.hold(t, outputs[i])
			}
		})
	}
}

// TestTranscripts runs the commands of each page that need no servers. They must print what the page shows.
func TestTranscripts(t *testing.T) {
	pages := split(t, transcript.quick)
	assert.Greater(t, len(pages), 10)
	holdAll(t, pages, inProcess)
}

// TestTranscriptsOfProcesses runs the other commands of each page, through a shell, as a reader does.
func TestTranscriptsOfProcesses(t *testing.T) {
	needs.Long(t, "runs the commands of the pages that start processes, or search for long")
	holdAll(t, split(t, func(s transcript) bool { return !s.quick() && !strings.HasPrefix(s.command, "lab grade") }), throughShell) // TestGradeInDocs has those
}

// throughShell carries a command out as a reader does, and returns what it prints.
func throughShell(t *testing.T, s transcript) string {
	t.Helper()
	if strings.Contains(s.command, "--server redis-server") {
		needs.Found(t, "redis", redis.Find)
	}
	if strings.Contains(s.command, "--server zookeeper") {
		needs.Found(t, "zookeeper", zookeeper.Find)
	}
	printed, err := exec.CommandContext(t.Context(), "sh", "-c", strings.ReplaceAll(s.command, "go run ./cmd/lab ", "lab ")).CombinedOutput()
	assert.NoError(t, err, "%s: %s\n%s", s.page, s.command, printed)
	itself := regexp.MustCompile(`(?m)^(  [a-z ]+  )lab `) // the commands to go on with
	return itself.ReplaceAllString(string(printed), "${1}"+invoked.FindString(s.command))
}

// split has the transcripts of a kind by the page that they are in.
func split(t *testing.T, kind func(transcript) bool) map[string][]transcript {
	t.Helper()
	pages := map[string][]transcript{}
	for _, page := range pagesOf(t) {
		for _, s := range transcripts(t, page) {
			if kind(s) {
				pages[strings.TrimPrefix(page, top+"/")] = append(pages[strings.TrimPrefix(page, top+"/")], s)
			}
		}
	}
	return pages
}

// TestPlacesOfTheCourse opens each place in the viewer to which a page sends its reader after its first run, and prints the handout.
func TestPlacesOfTheCourse(t *testing.T) {
	needs.Long(t, "opens the viewer wherever the course does, and prints the handout, in a Chromium")
	handout, err := filepath.Abs(filepath.Join(top, "docs", "course", "handout.html"))
	require.NoError(t, err)
	place := regexp.MustCompile("(?:(class)/)?report\\.html(#/[^`]+)")
	page, seen, visited := chromium.Open(t), map[string]bool{}, map[string]bool{} // a translation has the run, and mostly the places, of its original
	for name, commands := range split(t, transcript.ours) {
		if !strings.Contains(commands[0].command, " --world sim") {
			continue
		}
		text, err := os.ReadFile(commands[0].page)
		require.NoError(t, err)
		places := place.FindAllStringSubmatch(string(text), -1)
		if len(places) > 0 {
			seen[name] = true
		}
		places = slices.DeleteFunc(places, func(at []string) bool {
			key := commands[0].command + at[0]
			was := visited[key]
			visited[key] = true
			return was
		})
		if len(places) == 0 {
			continue
		}
		readerPlace(t)
		inProcess(t, commands[0])
		for _, at := range places {
			here, err := filepath.Abs(filepath.Join(cmp.Or(at[1], filepath.Join("runs", "latest")), "report.html"))
			require.NoError(t, err)
			page.Visit("about:blank")
			page.Visit("file://" + here + at[2])
			page.Wait("document.documentElement.dataset.ready")
			_, query, _ := strings.Cut(at[2], "?")
			assert.Equal(t, float64(1+strings.Count(query, "beside=")), page.Eval(`document.querySelectorAll('#heads > *').length`), "%s: %s", name, at[0])
			assert.NotNil(t, page.Eval(`document.querySelector('#stage').firstChild`), "%s: %s has no steps", name, at[0])
		}
	}
	assert.Len(t, seen, 2*13+1, "each chapter in two languages, and the teacher's page")
	page.Visit("file://" + handout)
	assert.Len(t, regexp.MustCompile(`/Type /Page\b`).FindAll(page.PDF(), -1), 1, "the handout is one page")
	assert.Empty(t, page.Errors())
}

// begun is how long a command of a list has to say that it cannot be carried out.
const begun = 400 * time.Millisecond

// notHere is in commands that name what only a reader has (a place to fill in, a program to build first, a server at an address), and in those that write
// what would change all others.
var notHere = regexp.MustCompile(`\b[A-Z]{4,}\b|adapters/|/tmp/|\./one|\d:\d{4}|example\.com|--shard 1( |$)|^lab (init|new)\b`)

// TestListedCommandsBegin starts each command of the lists in the pages, which are examples that may take long, and ends it when it has begun. None may
// be wrong in itself; a file of the reader's may be missing.
func TestListedCommandsBegin(t *testing.T) {
	needs.Long(t, "starts each command that a page lists")
	pages := pagesOf(t)
	for i, page := range pages {
		var err error
		pages[i], err = filepath.Abs(page)
		require.NoError(t, err)
	}
	readerPlace(t)
	require.NoError(t, exec.Command("lab", "new", "python", "mylock").Run())
	require.NoError(t, os.Symlink(filepath.Join("mylock", "client.py"), "mylock.py"))
	readme, err := os.ReadFile("README.md")
	require.NoError(t, err)
	_, script, _ := strings.Cut(string(readme), "```lab\n")
	script, _, _ = strings.Cut(script, "```")
	require.NoError(t, os.WriteFile("race.lab", []byte(script), 0o644))
	missing := regexp.MustCompile(`no such file|nothing to shrink|no run there|no run and no name|unknown cell|No module named|not found`)
	turns, seen := make(chan struct{}, 6), map[string]bool{} // translations, and pages that repeat each other, have the same commands
	var all sync.WaitGroup
	defer all.Wait()
	for _, page := range pages {
		text, err := os.ReadFile(page)
		require.NoError(t, err)
		for _, block := range fenced.FindAllStringSubmatch(string(text), -1) {
			for line := range strings.Lines(block[1]) {
				command := invoked.ReplaceAllString(strings.TrimRight(strings.Split(line, " #")[0], " \n"), "lab ")
				if !strings.HasPrefix(command, "lab ") || notHere.MatchString(command) || seen[command] {
					continue
				}
				seen[command] = true
				turns <- struct{}{}
				all.Go(func() {
					defer func() { <-turns }()
					cmd := exec.CommandContext(t.Context(), "sh", "-c", "exec "+command)
					var said bytes.Buffer
					cmd.Stdout, cmd.Stderr = &said, &said
					if assert.NoError(t, cmd.Start(), command) {
						end := time.AfterFunc(begun, func() { _ = cmd.Process.Signal(os.Interrupt) })
						_ = cmd.Wait()
						end.Stop()
						if code := cmd.ProcessState.ExitCode(); code == cli.CodeUsage || code == cli.CodeFailed {
							assert.Regexp(t, missing, said.String(), "%s: %s", page, command)
						}
					}
				})
			}
		}
	}
	assert.Greater(t, len(seen), 30)
}
