package adapters

import (
	"errors"
	"os"
	"os/exec"
	"strings"

	"github.com/locklab/locklab/internal/faults/server/etcd"
	"github.com/locklab/locklab/internal/faults/server/postgres"
	"github.com/locklab/locklab/internal/faults/server/zookeeper"
)

// Need is what a client needs of the machine, beside what Prepare makes. It begins with the name of a program, unless Missing knows better.
type Need string

// The needs.
const (
	NeedsGo       Need = "go"
	NeedsNode     Need = "node"
	NeedsPython   Need = "python3"
	NeedsRedisPy  Need = "python3 with redis-py"
	NeedsKazoo    Need = "python3 with kazoo"
	NeedsRedisRb  Need = "ruby with redis-rb"
	NeedsRedisCLI Need = "redis-cli"
	NeedsEtcd     Need = "etcd"
	NeedsCurator  Need = "Curator"
	NeedsJDK      Need = "javac"
	NeedsPostgres Need = "PostgreSQL"
	NeedsKeeper   Need = "ZooKeeper"
)

// Missing looks for it on this machine.
func (n Need) Missing() (err error) {
	switch n {
	case NeedsRedisPy, NeedsKazoo:
		_, err = FindPython(n.library())
	case NeedsRedisRb:
		return exec.Command("ruby", "-e", `require "redis"`).Run()
	case NeedsEtcd:
		_, _, err = etcd.Find()
	case NeedsPostgres:
		_, _, err = postgres.Find()
	case NeedsKeeper:
		_, _, err = zookeeper.Find()
	case NeedsCurator:
		_, err = os.Stat("/usr/share/java/curator-recipes.jar")
	default:
		_, err = exec.LookPath(n.program())
	}
	return err
}

// python are the interpreters that are looked at: the first one in PATH may be a shim that hides the system's libraries.
func python() []string { return []string{"python3", "/usr/bin/python3"} }

// FindPython is the path of the first interpreter of Python that has a library.
func FindPython(library string) (path string, err error) {
	for _, path := range python() {
		out, failed := exec.Command(path, "-c", "import "+library).CombinedOutput()
		if failed == nil {
			return path, nil
		}
		if lines := strings.Split(strings.TrimSpace(string(out)), "\n"); lines[len(lines)-1] != "" {
			failed = errors.New(lines[len(lines)-1])
		}
		err = failed
	}
	return "", err
}

// library is the module of Python that is needed; empty: none.
func (n Need) library() string {
	switch n {
	case NeedsRedisPy:
		return "redis"
	case NeedsKazoo:
		return "kazoo"
	}
	return ""
}

// Part is the name of it in LOCKLAB_REQUIRE.
func (n Need) Part() string {
	switch n {
	case NeedsPython, NeedsRedisPy:
		return "python"
	case NeedsKazoo:
		return "kazoo"
	case NeedsPostgres:
		return "postgres"
	}
	return strings.ToLower(n.program())
}

func (n Need) program() string { return strings.Fields(string(n))[0] }

// Here is Command as it is run on this machine: by the interpreter of Python that has the library.
func (a Adapter) Here() string {
	for _, need := range a.Needs {
		if need.library() == "" {
			continue
		}
		if path, err := FindPython(need.library()); err == nil {
			return strings.Replace(a.Command, string(NeedsPython), path, 1)
		}
	}
	return a.Command
}

// Lacks is the first need of the client that is missing on this machine; empty if there is none.
func (a Adapter) Lacks() Need {
	for _, need := range a.Needs {
		if need.Missing() != nil {
			return need
		}
	}
	return ""
}
