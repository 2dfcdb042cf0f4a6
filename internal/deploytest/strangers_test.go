package deploytest

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/locklab/locklab/internal/needs"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"
)

// action is the part of GitHub's format that action.yml uses. Decoding is strict.
type action struct {
	Name        string `yaml:"name"`
	Description string `yaml:"description"`
	Inputs      map[string]struct {
		Description string  `yaml:"description"`
		Default     *string `yaml:"default"`
	} `yaml:"inputs"`
	Outputs map[string]struct {
		Description string `yaml:"description"`
		Value       string `yaml:"value"`
	} `yaml:"outputs"`
	Runs struct {
		Using string `yaml:"using"`
		Steps []step `yaml:"steps"`
	} `yaml:"runs"`
}

type step struct {
	ID    string            `yaml:"id"`
	Name  string            `yaml:"name"`
	If    string            `yaml:"if"`
	Uses  string            `yaml:"uses"`
	With  map[string]string `yaml:"with"`
	Shell string            `yaml:"shell"`
	Dir   string            `yaml:"working-directory"`
	Env   map[string]string `yaml:"env"`
	Run   string            `yaml:"run"`
}

func readAction(t *testing.T) action {
	t.Helper()
	var a action
	decodeStrictly(t, read(t, "action.yml"), &a)
	return a
}

func decodeStrictly(t *testing.T, text string, into any) {
	t.Helper()
	decoder := yaml.NewDecoder(bytes.NewReader([]byte(text)))
	decoder.KnownFields(true)
	require.NoError(t, decoder.Decode(into))
}

// GitHub itself is not here. What can be wrong without it: a step that is none, an input that is not declared or not used, a script that does
// not do what it should; TestActionSteps runs the scripts.
func TestAction(t *testing.T) {
	a, text := readAction(t), read(t, "action.yml")
	assert.Equal(t, "composite", a.Runs.Using)
	for _, s := range a.Runs.Steps {
		if s.Uses != "" {
			assert.Regexp(t, `^actions/[a-z-]+@[0-9a-f]{40}$`, s.Uses)
			assert.Empty(t, s.Run)
			continue
		}
		assert.Equal(t, "bash", s.Shell, "a composite action names the shell of every step: %s", s.Name)
		assert.NotContains(t, s.Run, "${{", "an input within a script would be run as one: %s", s.Name)
	}
	for _, used := range regexp.MustCompile(`inputs\.([a-z-]+)`).FindAllStringSubmatch(text, -1) {
		assert.Contains(t, a.Inputs, used[1])
	}
	for name, input := range a.Inputs {
		assert.NotNil(t, input.Default, "%s has no default, so it would have to be required", name)
		assert.Contains(t, text, "inputs."+name, "nothing uses it")
	}
	assert.Equal(t, "${{ steps.lab.outputs.exit-code }}", a.Outputs["exit-code"].Value)
}

// machine is where steps are run: a directory to work in, and one with the lab.
type machine struct {
	t         *testing.T
	work, bin string
}

// built is where the lab is, once a test has built it.
var built string

func TestMain(m *testing.M) {
	code := m.Run()
	_ = os.RemoveAll(built)
	os.Exit(code)
}

// newMachine builds the lab by the action's own step, but for -trimpath, once for all tests.
func newMachine(t *testing.T) *machine {
	t.Helper()
	for _, shell := range []string{"bash", "sh"} {
		if _, err := exec.LookPath(shell); err != nil {
			t.Skipf("no %s here", shell)
		}
	}
	m := &machine{t: t, work: t.TempDir(), bin: built}
	if built != "" {
		return m
	}
	var err error
	m.bin, err = os.MkdirTemp("", "locklab-deploytest-")
	require.NoError(t, err)
	t.Cleanup(func() {
		if built == "" {
			_ = os.RemoveAll(m.bin)
		}
	})
	sources, err := filepath.Abs(root)
	require.NoError(t, err)
	for _, s := range readAction(t).Runs.Steps {
		if s.Name == "Build the lab" {
			// With this flag Go compiles everything once more, its own library too. That says nothing about the steps.
			const trim = " -trimpath "
			require.Contains(t, s.Run, trim)
			code, out := m.shell("bash", strings.Replace(s.Run, trim, " ", 1), "GITHUB_ACTION_PATH="+sources, "RUNNER_TEMP="+m.bin)
			require.Equal(t, 0, code, out)
		}
	}
	require.FileExists(t, filepath.Join(m.bin, "lab"))
	built = m.bin
	return m
}

// shell runs a script as the runners do, and returns its exit code and what it wrote.
func (m *machine) shell(shell, script string, env ...string) (code int, out string) {
	m.t.Helper()
	args := []string{"-e", "-c", script}
	if shell == "bash" {
		args = []string{"--noprofile", "--norc", "-eo", "pipefail", "-c", script}
	}
	return m.exec(exec.Command(shell, args...), env)
}

// lab runs the lab without a shell, as a container does.
func (m *machine) lab(args []string, env ...string) (code int, out string) {
	m.t.Helper()
	return m.exec(exec.Command(filepath.Join(m.bin, "lab"), args...), env)
}

func (m *machine) exec(cmd *exec.Cmd, env []string) (code int, out string) {
	m.t.Helper()
	cmd.Dir = m.work
	cmd.Env = append(append(os.Environ(), "PATH="+m.bin+string(os.PathListSeparator)+os.Getenv("PATH")), env...)
	text, err := cmd.CombinedOutput()
	if exit := new(exec.ExitError); errors.As(err, &exit) {
		return exit.ExitCode(), string(text)
	}
	require.NoError(m.t, err, "%s", text)
	return 0, string(text)
}

// cells is a small suite, of which every part of four has something.
const cells = "run take-turns pause-past-lease --lock getset,setpx-lua,setpx-del --world sim"

func TestActionSteps(t *testing.T) {
	needs.Long(t, "every step of the action, with a lab that it builds")
	m := newMachine(t)
	summary, output := filepath.Join(m.work, "summary.md"), filepath.Join(m.work, "output")
	run := func(command, client, out string) (int, string) {
		for _, s := range readAction(t).Runs.Steps {
			if s.ID == "lab" {
				return m.shell("bash", s.Run, "RUNNER_TEMP="+m.bin, "GITHUB_STEP_SUMMARY="+summary, "GITHUB_OUTPUT="+output,
					"LAB_COMMAND="+command, "LAB_CLIENT="+client, "LAB_OUT="+out)
			}
		}
		t.Fatal("no step has the id lab")
		return 0, ""
	}
	for i := 1; i <= 2; i++ {
		code, out := run(fmt.Sprintf("%s --shard %d/2", cells, i), "", fmt.Sprintf("parts/%d", i))
		require.Equal(t, 0, code, out)
	}
	code, out := run("merge parts/*", "", "whole")
	require.Equal(t, 0, code, out)
	assert.FileExists(t, filepath.Join(m.work, "whole", "report.html"))
	text, err := os.ReadFile(summary)
	require.NoError(t, err)
	assert.Equal(t, 3, strings.Count(string(text), "### Lock Lab: "), "a summary of each step")
	assert.Contains(t, string(text), "### Lock Lab: 6 cells: ")

	code, out = run("run take-turns --lock setpx-lua", "exit 1", "broken") // a client with blanks in its command, that does not start
	assert.NotEqual(t, 0, code, out)
	written, err := os.ReadFile(output)
	require.NoError(t, err)
	assert.Equal(t, fmt.Sprintf("exit-code=0\nexit-code=0\nexit-code=0\nexit-code=%d\n", code), string(written))

	code, out = run("explore --all local", "", "points") // which has no summary
	assert.Equal(t, 0, code, out)
	assert.FileExists(t, filepath.Join(m.work, "points", "points.json"))

	for _, command := range []string{"check whole", "explain whole setpx-lua/take-turns", "list locks", "show take-turns", "explore local --clients 2 --rounds 1", "doctor --help"} {
		code, out = run(command, "", "unused") // which have no flags for that
		assert.Equal(t, 0, code, "%s: %s", command, out)
	}
	assert.NoFileExists(t, filepath.Join(m.work, "unused"))
	code, out = run("list locks", "python3 mine.py", "unused")
	assert.Equal(t, 64, code, out)
	assert.Contains(t, out, "unknown flag", "what the user asked for is not dropped")
}

// gitlab is the part of GitLab's format that the template uses.
type gitlab map[string]struct {
	Extends   string            `yaml:"extends"`
	Image     string            `yaml:"image"`
	Stage     string            `yaml:"stage"`
	Needs     []string          `yaml:"needs"`
	Parallel  int               `yaml:"parallel"`
	Variables map[string]string `yaml:"variables"`
	Before    []string          `yaml:"before_script"`
	Script    []string          `yaml:"script"`
	Artifacts struct {
		When    string            `yaml:"when"`
		Paths   []string          `yaml:"paths"`
		Expire  string            `yaml:"expire_in"`
		Reports map[string]string `yaml:"reports"`
	} `yaml:"artifacts"`
}

func TestGitLabTemplate(t *testing.T) {
	needs.Long(t, "the template's script, with a lab that it builds")
	var file gitlab
	decodeStrictly(t, read(t, "deploy/gitlab.yml"), &file)
	for name, job := range file {
		if job.Extends != "" {
			assert.Contains(t, file, job.Extends, name)
		}
		for _, need := range job.Needs {
			assert.Contains(t, file, need, name)
		}
	}
	assert.True(t, pinned(file[".lab-build"].Image), file[".lab-build"].Image)
	m := newMachine(t)
	n := file["lab"].Parallel
	for i := 1; i <= n; i++ {
		code, out := m.shell("sh", strings.Join(file["lab"].Script, "\n"),
			fmt.Sprintf("CI_NODE_INDEX=%d", i), fmt.Sprintf("CI_NODE_TOTAL=%d", n), "LAB_COMMAND="+cells, "LAB_CLIENT=")
		require.Equal(t, 0, code, out)
	}
	code, out := m.shell("sh", strings.Join(file["lab-merge"].Script, "\n"))
	require.Equal(t, 0, code, out)
	assert.FileExists(t, filepath.Join(m.work, file["lab-merge"].Artifacts.Reports["junit"]))
	code, out = m.shell("sh", strings.Join(file["lab"].Script, "\n"), "LAB_COMMAND=run nonsense", "LAB_CLIENT=")
	assert.Equal(t, 64, code, out)
}

// manifest is the part of Kubernetes' format that the manifest uses.
type manifest struct {
	APIVersion string `yaml:"apiVersion"`
	Kind       string `yaml:"kind"`
	Metadata   struct {
		Name   string            `yaml:"name"`
		Labels map[string]string `yaml:"labels"`
	} `yaml:"metadata"`
	Spec struct {
		AccessModes []string                     `yaml:"accessModes"`
		Resources   map[string]map[string]string `yaml:"resources"`

		Completions          int    `yaml:"completions"`
		Parallelism          int    `yaml:"parallelism"`
		CompletionMode       string `yaml:"completionMode"`
		BackoffLimit         *int   `yaml:"backoffLimit"`
		BackoffLimitPerIndex *int   `yaml:"backoffLimitPerIndex"`
		Template             struct {
			Metadata struct {
				Labels map[string]string `yaml:"labels"`
			} `yaml:"metadata"`
			Spec pod `yaml:"spec"`
		} `yaml:"template"`
	} `yaml:"spec"`
}

type pod struct {
	RestartPolicy   string         `yaml:"restartPolicy"`
	SecurityContext map[string]any `yaml:"securityContext"`
	Containers      []struct {
		Name            string                       `yaml:"name"`
		Image           string                       `yaml:"image"`
		ImagePullPolicy string                       `yaml:"imagePullPolicy"`
		Args            []string                     `yaml:"args"`
		Resources       map[string]map[string]string `yaml:"resources"`
		VolumeMounts    []struct {
			Name      string `yaml:"name"`
			MountPath string `yaml:"mountPath"`
		} `yaml:"volumeMounts"`
	} `yaml:"containers"`
	Volumes []struct {
		Name  string `yaml:"name"`
		Claim struct {
			Name string `yaml:"claimName"`
		} `yaml:"persistentVolumeClaim"`
	} `yaml:"volumes"`
}

// No cluster is here: the pods' commands are run one after the other, in a directory for the volume, with what Kubernetes puts in.
func TestKubernetesManifest(t *testing.T) {
	var docs []manifest
	decoder := yaml.NewDecoder(strings.NewReader(read(t, "deploy/kubernetes.yaml")))
	decoder.KnownFields(true)
	for {
		var doc manifest
		err := decoder.Decode(&doc)
		if errors.Is(err, io.EOF) {
			break
		}
		require.NoError(t, err)
		docs = append(docs, doc)
	}
	require.Len(t, docs, 3)
	claim, parts, merge := docs[0], docs[1], docs[2]
	assert.Equal(t, "Indexed", parts.Spec.CompletionMode)
	assert.Equal(t, 0, *parts.Spec.BackoffLimitPerIndex)
	assert.Equal(t, 0, *merge.Spec.BackoffLimit)
	for _, job := range docs[1:] {
		pod := job.Spec.Template.Spec
		assert.Equal(t, "Never", pod.RestartPolicy, "a part is not run again")
		assert.Equal(t, claim.Metadata.Name, pod.Volumes[0].Claim.Name)
		assert.Equal(t, pod.Volumes[0].Name, pod.Containers[0].VolumeMounts[0].Name)
		assert.Equal(t, resultsDir, pod.Containers[0].VolumeMounts[0].MountPath)
	}
	needs.Long(t, "carries the manifest out, with a lab that it builds")
	m := newMachine(t)
	small := func(args []string) []string {
		line := strings.Replace(strings.Join(args, "\n"), "run\n--all", strings.ReplaceAll(cells, " ", "\n"), 1)
		return strings.Split(line, "\n")
	}
	for i := range parts.Spec.Completions {
		args := strings.ReplaceAll(strings.Join(small(parts.Spec.Template.Spec.Containers[0].Args), "\n"), "$(JOB_COMPLETION_INDEX)", fmt.Sprint(i))
		code, out := m.lab(strings.Split(args, "\n"), fmt.Sprintf("JOB_COMPLETION_INDEX=%d", i))
		require.Equal(t, 0, code, out)
	}
	code, out := m.lab(merge.Spec.Template.Spec.Containers[0].Args)
	require.Equal(t, 0, code, out)
	assert.Contains(t, out, "6 cells: ")
	code, out = m.lab([]string{"run", "--all", "--shard", "job/4"})
	assert.Equal(t, 64, code)
	assert.Contains(t, out, "JOB_COMPLETION_INDEX, which Kubernetes sets")
}

// The workflow in the documentation uses the action as it is.
func TestDocumentedWorkflow(t *testing.T) {
	_, text, found := strings.Cut(read(t, "docs/ci.md"), "```yaml\n")
	require.True(t, found)
	text, _, _ = strings.Cut(text, "```")
	var workflow struct {
		Jobs map[string]struct {
			If       string `yaml:"if"`
			Needs    string `yaml:"needs"`
			RunsOn   string `yaml:"runs-on"`
			Strategy struct {
				FailFast bool             `yaml:"fail-fast"`
				Matrix   map[string][]int `yaml:"matrix"`
			} `yaml:"strategy"`
			Steps []step `yaml:"steps"`
		} `yaml:"jobs"`
	}
	decodeStrictly(t, text, &workflow)
	inputs, used := readAction(t).Inputs, 0
	for name, job := range workflow.Jobs {
		if job.Needs != "" {
			assert.Contains(t, workflow.Jobs, job.Needs)
		}
		for _, s := range job.Steps {
			if s.Uses != "./locklab" {
				assert.Regexp(t, `^actions/[a-z-]+@[0-9a-f]{40}$`, s.Uses, "nothing else is published")
				continue
			}
			used++
			for input := range s.With {
				assert.Contains(t, inputs, input, name)
			}
		}
	}
	assert.Equal(t, 2, used)
}
