package deploytest

import (
	"encoding/json"
	"fmt"
	"go/version"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// resultsDir is where the image keeps its results: ./runs, seen from its working directory.
const resultsDir = "/lab/runs"

func TestDockerfile(t *testing.T) {
	assert.Empty(t, dockerProblems(read(t, "Dockerfile"), read(t, "go.mod")))
}

func TestDockerProblemsAreSeen(t *testing.T) {
	good, goMod := read(t, "Dockerfile"), read(t, "go.mod")
	tests := map[string]struct{ old, new, want string }{
		"unknown instruction":  {"WORKDIR /lab", "WORKDIRE /lab", "unknown instruction WORKDIRE"},
		"floating base":        {"FROM golang:1.26.8-bookworm", "FROM golang:latest", "is not pinned"},
		"no digest":            {"-bookworm@sha256:", "-bookworm@sha512:", "is not pinned"},
		"old Go":               {"FROM golang:1.26.8", "FROM golang:1.25.9", "older than the module's"},
		"no version":           {"export GOFLAGS=-buildvcs=false", "true", "a hash where there is no repository"},
		"version never":        {"go build -trimpath", "go build -trimpath -buildvcs=false", "has no version from the repository"},
		"label of no argument": {"ARG REVISION", "ARG REVISON", "no argument REVISION"},
		"unknown stage":        {"--from=build", "--from=builder", "no stage builder"},
		"needs a C library":    {"CGO_ENABLED=0", "CGO_ENABLED=1", "not a static binary"},
		"builds elsewhere":     {"-o /root-fs/usr/local/bin/lab", "-o /root-fs/lab", "entrypoint is not what was built"},
		"entrypoint by shell":  {`ENTRYPOINT ["/usr/local/bin/lab"]`, "ENTRYPOINT lab", "ENTRYPOINT is not a list"},
		"root":                 {"USER 65532:65532", "USER root", "runs as root"},
		"nowhere to write":     {"/root-fs/lab/runs", "/root-fs/results", "nowhere to write its results"},
		"no temporary files":   {"-m 1777 /root-fs/tmp", "-m 1777 /root-fs/scratch", "no /tmp"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			bad := strings.Replace(good, test.old, test.new, 1)
			require.NotEqual(t, good, bad, "the file has changed: mend this test")
			assert.Contains(t, strings.Join(dockerProblems(bad, goMod), "\n"), test.want)
		})
	}
}

type instruction struct{ name, args string }

// instructions splits a Dockerfile: comments dropped, continued lines joined.
func instructions(text string) []instruction {
	text = regexp.MustCompile(`(?m)^\s*#.*\n`).ReplaceAllString(text, "")
	text = strings.ReplaceAll(text, "\\\n", " ")
	var list []instruction
	for line := range strings.Lines(text) {
		if name, args, _ := strings.Cut(strings.TrimSpace(line), " "); name != "" {
			list = append(list, instruction{name, strings.TrimSpace(args)})
		}
	}
	return list
}

func dockerProblems(text, goMod string) []string {
	image := image{goMod: goMod, stages: map[string]bool{}, user: "root"}
	for _, in := range instructions(text) {
		image.apply(in)
	}
	return append(image.problems, image.atTheEnd()...)
}

// image is what is known about the image after some instructions.
type image struct {
	goMod      string
	stages     map[string]bool
	run        string // all commands of the build
	user       string
	workdir    string
	entrypoint []string
	args       []string
	problems   []string
}

func (i *image) apply(in instruction) {
	switch in.name {
	case "FROM":
		i.from(strings.Fields(in.args))
	case "COPY":
		if stage := regexp.MustCompile(`--from=(\S+)`).FindStringSubmatch(in.args); stage != nil && !i.stages[stage[1]] {
			i.complain("no stage %s", stage[1])
		}
	case "RUN":
		i.run += in.args + "\n"
	case "USER":
		i.user = in.args
	case "WORKDIR":
		i.workdir = in.args
	case "ENTRYPOINT":
		i.entrypoint = i.list(in)
	case "CMD":
		i.list(in)
	case "ARG":
		i.args = append(i.args, in.args)
	case "LABEL":
		for _, used := range regexp.MustCompile(`\$(\w+)`).FindAllStringSubmatch(in.args, -1) {
			if !slices.Contains(i.args, used[1]) {
				i.complain("no argument %s", used[1])
			}
		}
	default:
		i.complain("unknown instruction %s", in.name)
	}
}

// from begins a stage. What a stage sets for its processes does not pass to the next one.
func (i *image) from(words []string) {
	i.user, i.workdir, i.entrypoint, i.args = "root", "/", nil, nil
	if len(words) == 3 && words[1] == "AS" {
		i.stages[words[2]] = true
	}
	base := words[0]
	if base != "scratch" && !pinned(base) {
		i.complain("%s is not pinned", base)
	}
	tag, ok := strings.CutPrefix(base, "golang:")
	if !ok {
		return
	}
	have, _, _ := strings.Cut(tag, "-")
	need := regexp.MustCompile(`(?m)^go (\S+)$`).FindStringSubmatch(i.goMod)
	if need == nil || version.Compare("go"+have, "go"+need[1]) < 0 {
		i.complain("Go %s is older than the module's", have)
	}
}

func (i *image) list(in instruction) []string {
	var words []string
	if err := json.Unmarshal([]byte(in.args), &words); err != nil {
		i.complain("%s is not a list: signals would go to a shell", in.name)
	}
	return words
}

// atTheEnd checks the last stage, which is a bare file system made of what the build put into /root-fs.
func (i *image) atTheEnd() []string {
	var problems []string
	expect := func(ok bool, problem string) {
		if !ok {
			problems = append(problems, problem)
		}
	}
	expect(strings.Contains(i.run, "CGO_ENABLED=0 go build"), "not a static binary")
	expect(!regexp.MustCompile(`go build [^&]*-buildvcs=false`).MatchString(i.run), "has no version from the repository")
	expect(regexp.MustCompile(`git status [^;]*\|\| export GOFLAGS=-buildvcs=false;`).MatchString(i.run), "fails in place of having a hash where there is no repository")
	expect(len(i.entrypoint) == 1 && strings.Contains(i.run, "-o /root-fs"+i.entrypoint[0]+" ./cmd/lab"),
		"the entrypoint is not what was built")
	expect(regexp.MustCompile(`^[1-9]\d*:[1-9]\d*$`).MatchString(i.user), "runs as root, or as somebody it has no name for")
	owner, _, _ := strings.Cut(i.user, ":")
	expect(i.workdir+"/runs" == resultsDir && strings.Contains(i.run, "-o "+owner+" -g "+owner+" /root-fs"+resultsDir+"\n"),
		"has nowhere to write its results")
	expect(strings.Contains(i.run, "-m 1777 /root-fs/tmp "), "has no /tmp")
	return problems
}

func (i *image) complain(format string, args ...any) {
	i.problems = append(i.problems, fmt.Sprintf(format, args...))
}
