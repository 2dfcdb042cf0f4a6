package adapters

import (
	"os"
	"os/exec"
	"strings"

	"github.com/locklab/locklab/faults/server"
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
	case NeedsRedisPy:
		return exec.Command("python3", "-c", "import redis").Run()
	case NeedsRedisRb:
		return exec.Command("ruby", "-e", `require "redis"`).Run()
	case NeedsKazoo:
		return exec.Command("python3", "-c", "import kazoo").Run()
	case NeedsEtcd:
		_, _, err = server.FindEtcd()
	case NeedsPostgres:
		_, _, err = server.FindPostgres()
	case NeedsKeeper:
		_, _, err = server.FindZooKeeper()
	case NeedsCurator:
		_, err = os.Stat("/usr/share/java/curator-recipes.jar")
	default:
		_, err = exec.LookPath(n.program())
	}
	return err
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

// Lacks is the first need of the client that is missing on this machine; empty if there is none.
func (a Adapter) Lacks() Need {
	for _, need := range a.Needs {
		if need.Missing() != nil {
			return need
		}
	}
	return ""
}
