// Package deploytest reads docker-compose.yml and the Dockerfile as an engine would, for machines that have none. It has
// tests only.
package deploytest

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"
)

var root = filepath.Join("..", "..")

// compose is the part of the Compose format that the lab uses. Decoding is strict: a misspelt key is an error.
type compose struct {
	Services map[string]service `yaml:"services"`
	Networks map[string]struct {
		Internal bool `yaml:"internal"`
	} `yaml:"networks"`
	Volumes map[string]struct{} `yaml:"volumes"`
}

type service struct {
	Image       string            `yaml:"image"`
	Build       string            `yaml:"build"`
	Command     []string          `yaml:"command"`
	Init        bool              `yaml:"init"`
	Profiles    []string          `yaml:"profiles"`
	Networks    []string          `yaml:"networks"`
	Environment map[string]string `yaml:"environment"`
	Volumes     []string          `yaml:"volumes"`
	Ports       []string          `yaml:"ports"`
	DependsOn   map[string]struct {
		Condition string `yaml:"condition"`
	} `yaml:"depends_on"`
	Healthcheck *struct {
		Test     []string `yaml:"test"`
		Interval string   `yaml:"interval"`
		Timeout  string   `yaml:"timeout"`
		Retries  int      `yaml:"retries"`
	} `yaml:"healthcheck"`
}

func TestComposeFile(t *testing.T) {
	assert.Empty(t, composeProblems(read(t, "docker-compose.yml")))
}

// TestComposeCommand asks the real thing, where there is one; it needs no engine to read a file.
func TestComposeCommand(t *testing.T) {
	command := []string{"docker", "compose"}
	if exec.Command("docker", "compose", "version").Run() != nil {
		command = []string{"docker-compose"}
	}
	if exec.Command(command[0], append(command[1:], "version")...).Run() != nil {
		t.Skip("neither docker compose nor docker-compose is installed")
	}
	config := exec.Command(command[0], append(command[1:], "--profile", "lab", "config", "--quiet")...)
	config.Dir = root
	out, err := config.CombinedOutput()
	assert.NoError(t, err, "%s", out)
}

func TestComposeProblemsAreSeen(t *testing.T) {
	good := read(t, "docker-compose.yml")
	tests := map[string]struct{ old, new, want string }{
		"misspelt key":         {"healthcheck:", "healthchek:", "healthchek not found"},
		"floating tag":         {"redis:7.0.15-alpine", "redis:latest", "redis: image redis:latest@sha256:"},
		"no tag":               {"toxiproxy:2.12.0", "toxiproxy", "toxiproxy: image ghcr.io/shopify/toxiproxy@sha256:"},
		"no digest":            {"redis:7.0.15-alpine@sha256:", "redis:7.0.15-alpine@sha512:", "is not pinned"},
		"published port":       {"    init: true", "    ports: ['6379:6379']", "lab: publishes ports"},
		"way out":              {"internal: true", "internal: false", "network lab has a way out"},
		"unknown network":      {"networks: [lab]", "networks: [lan]", "redis: network lan is not declared"},
		"unknown volume":       {"- runs:", "- results:", "lab: volume results is not declared"},
		"volume elsewhere":     {":/lab/runs", ":/results", "lab: volume runs is not where the image keeps its results"},
		"no health":            {`test: ["CMD", "redis-cli", "ping"]`, `test: []`, "redis: has no health check"},
		"does not wait":        {"condition: service_healthy", "condition: service_started", "lab: does not wait until redis is healthy"},
		"unknown server":       {"LOCKLAB_SERVER: redis:6379", "LOCKLAB_SERVER: valkey:6379", "LOCKLAB_SERVER names no service"},
		"taps out of reach":    {"LOCKLAB_LISTEN: 0.0.0.0", "LOCKLAB_LISTEN: 127.0.0.1", "LOCKLAB_LISTEN"},
		"taps have no address": {"LOCKLAB_ADVERTISE: auto", "LOCKLAB_ADVERTISE: lab", "LOCKLAB_ADVERTISE"},
		"starts by itself":     {"profiles: [lab]", "profiles: []", "lab: starts without being asked"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			bad := strings.Replace(good, test.old, test.new, 1)
			require.NotEqual(t, good, bad, "the file has changed: mend this test")
			assert.Contains(t, strings.Join(composeProblems(bad), "\n"), test.want)
		})
	}
}

func composeProblems(text string) []string {
	var file compose
	decoder := yaml.NewDecoder(bytes.NewReader([]byte(text)))
	decoder.KnownFields(true)
	if err := decoder.Decode(&file); err != nil {
		return []string{err.Error()}
	}
	names := slices.Sorted(maps.Keys(file.Services))
	if want := []string{"lab", "redis", "toxiproxy"}; !slices.Equal(want, names) {
		return []string{fmt.Sprintf("services are %v, want %v", names, want)}
	}
	var problems []string
	for _, name := range names {
		for _, problem := range serviceProblems(file, file.Services[name]) {
			problems = append(problems, name+": "+problem)
		}
	}
	for name, network := range file.Networks {
		if !network.Internal {
			problems = append(problems, fmt.Sprintf("network %s has a way out", name))
		}
	}
	return append(problems, labProblems(file)...)
}

func serviceProblems(file compose, s service) []string {
	var problems []string
	if s.Build == "" && !pinned(s.Image) {
		problems = append(problems, fmt.Sprintf("image %s is not pinned", s.Image))
	}
	if len(s.Ports) > 0 {
		problems = append(problems, "publishes ports")
	}
	for _, network := range s.Networks {
		if _, ok := file.Networks[network]; !ok {
			problems = append(problems, fmt.Sprintf("network %s is not declared", network))
		}
	}
	for _, volume := range s.Volumes {
		name, target, _ := strings.Cut(volume, ":")
		if _, ok := file.Volumes[name]; !ok {
			problems = append(problems, fmt.Sprintf("volume %s is not declared", name))
		}
		if target != resultsDir {
			problems = append(problems, fmt.Sprintf("volume %s is not where the image keeps its results", name))
		}
	}
	return problems
}

func labProblems(file compose) []string {
	lab := file.Services["lab"]
	var problems []string
	if len(lab.Profiles) == 0 {
		problems = append(problems, "lab: starts without being asked")
	}
	for _, name := range []string{"redis", "toxiproxy"} {
		if lab.DependsOn[name].Condition != "service_healthy" {
			problems = append(problems, fmt.Sprintf("lab: does not wait until %s is healthy", name))
		}
		if h := file.Services[name].Healthcheck; h == nil || len(h.Test) < 2 || h.Test[0] != "CMD" {
			problems = append(problems, name+": has no health check")
		}
	}
	env := lab.Environment
	for variable, want := range map[string]string{
		"LOCKLAB_SERVER":    "redis:6379",
		"LOCKLAB_TOXIPROXY": "http://toxiproxy:8474",
	} {
		if env[variable] != want {
			problems = append(problems, variable+" names no service")
		}
	}
	if env["LOCKLAB_LISTEN"] != "0.0.0.0" {
		problems = append(problems, "LOCKLAB_LISTEN: toxiproxy cannot reach the taps")
	}
	if env["LOCKLAB_ADVERTISE"] != "auto" {
		problems = append(problems, "LOCKLAB_ADVERTISE: a container that is run has no name")
	}
	return problems
}

// pinned says whether an image has a tag with a full version, and the digest of what that was.
func pinned(image string) bool {
	return regexp.MustCompile(`:\d+\.\d+\.\d+(-[a-z0-9.]+)?@sha256:[0-9a-f]{64}$`).MatchString(image)
}

func read(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, name))
	require.NoError(t, err)
	return string(text)
}
