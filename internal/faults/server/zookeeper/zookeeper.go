// Package zookeeper is ZooKeeper as a server under test: one process, an ensemble of three, or one at an address. It also makes and removes nodes on the
// lab's behalf.
//
// It owns their start, and the links between the servers of an ensemble. On a server that the lab did not start it must touch only the nodes below one
// of its own. It must not know scripts or locks.
package zookeeper

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/locklab/locklab/internal/faults/process"
	"github.com/locklab/locklab/internal/faults/server"
	"github.com/locklab/locklab/internal/faults/server/daemon"
)

// jarDir is where Debian's packages put their jars.
const jarDir = "/usr/share/java"

// jars are those that a ZooKeeper server needs, by Debian's names without a version.
var jars = [...]string{
	"zookeeper", "zookeeper-jute", "slf4j-api", "slf4j-simple", "netty-buffer", "netty-codec", "netty-common", "netty-handler", "netty-resolver",
	"netty-transport", "netty-transport-native-epoll", "netty-transport-native-unix-common", "snappy-java", "metrics-core", "commons-cli",
}

// installation is a ZooKeeper that this machine has.
type installation struct {
	java      string
	classPath string
	version   string
}

// Find looks for ZooKeeper and for a Java to run it, on this machine. The error says what is missing, and how to get it.
func Find() (path, version string, err error) {
	found, err := find(jarDir)
	return found.java, found.version, err
}

func find(dir string) (found installation, err error) {
	var missing []string
	for _, jar := range jars {
		path := filepath.Join(dir, jar+".jar")
		if _, err := os.Stat(path); err != nil {
			missing = append(missing, path)
		}
		found.classPath += path + string(os.PathListSeparator)
	}
	found.java, err = exec.LookPath("java")
	switch {
	case len(missing) == len(jars) || len(missing) > 0 && strings.HasSuffix(missing[0], "/zookeeper.jar"):
		return found, errors.Join(fmt.Errorf("find ZooKeeper: no %s; install Debian's package zookeeper", missing[0]), needsJava(err))
	case len(missing) > 0:
		return found, fmt.Errorf("find ZooKeeper: its jars are incomplete: no %s", strings.Join(missing, ", "))
	case err != nil:
		return found, needsJava(err)
	}
	found.version = "of unknown version"
	if target, err := filepath.EvalSymlinks(filepath.Join(dir, "zookeeper.jar")); err == nil {
		found.version = versionIn(dir, filepath.Base(target))
	}
	return found, nil
}

func needsJava(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("find a Java to run ZooKeeper: %w; install Debian's package default-jre-headless", err)
}

// versionIn is the version in the name of a jar: Debian links zookeeper-3.8.0.jar to zookeeper.jar, or the other way round.
func versionIn(dir, jar string) string {
	named := regexp.MustCompile(`^zookeeper-(\d[\d.]*)\.jar$`)
	if found := named.FindStringSubmatch(jar); found != nil {
		return found[1]
	}
	entries, _ := os.ReadDir(dir) // without it the version stays unknown
	for _, e := range entries {
		if found := named.FindStringSubmatch(e.Name()); found != nil {
			return found[1]
		}
	}
	return "of unknown version"
}

// Server is a ZooKeeper server that the lab has started. Its methods may be called by several goroutines at once.
type Server struct {
	process *daemon.Daemon
	found   installation
}

// tick is ZooKeeper's unit of time: a session ends at most so much after its time-out.
const tick = 100 * time.Millisecond

// Start starts a ZooKeeper on a free loopback port, in a temporary directory of its own, and returns once it answers. It appends
// its log to the file at the path; empty: one that ends with the server. The context bounds the start only.
func Start(ctx context.Context, guard *process.Guard, log string) (*Server, error) {
	found, err := find(jarDir)
	if err != nil {
		return nil, err
	}
	dir, err := guard.TempDir("locklab-zookeeper-")
	if err != nil {
		return nil, fmt.Errorf("start ZooKeeper: %w", err)
	}
	z := newServer(found, guard, dir, log)
	if err := z.process.Open(ctx); err != nil {
		return nil, err
	}
	return z, nil
}

func newServer(found installation, guard *process.Guard, dir, log string) *Server {
	z := &Server{found: found}
	z.process = &daemon.Daemon{What: "ZooKeeper", Guard: guard, Dir: dir, Log: log, Command: z.command, Ready: z.answers}
	return z
}

// command runs the server.
func (z *Server) command(port string) (*exec.Cmd, error) {
	dir := z.process.Dir
	return z.found.command(dir, settings(filepath.Join(dir, "data"), port), "-Xmx128m")
}

// answers is an error until this very process answers: another may listen at its address.
func (z *Server) answers(ctx context.Context, _ *process.Process) error {
	about, err := fourLetters(ctx, z.process.Addr(), "conf")
	if err == nil && !strings.Contains(about, z.process.Dir) {
		err = errors.New("another ZooKeeper answers")
	}
	return err
}

// settings are those of each of the lab's ZooKeeper servers.
func settings(data, port string) []string {
	return []string{
		"tickTime=" + strconv.FormatInt(tick.Milliseconds(), 10),
		"minSessionTimeout=100",
		"maxSessionTimeout=3600000",
		"maxClientCnxns=0",
		"dataDir=" + data,
		"clientPort=" + port,
		"clientPortAddress=127.0.0.1",
		"admin.enableServer=false",
		"4lw.commands.whitelist=conf,srvr",
	}
}

// command runs a server in a directory with settings and options of Java. The lab's own is for no one else, and may lose its data with its machine: it
// need not force them to the disk.
func (i installation) command(dir string, settings []string, options ...string) (*exec.Cmd, error) {
	config := filepath.Join(dir, "zoo.cfg")
	if err := os.WriteFile(config, []byte(strings.Join(settings, "\n")+"\n"), 0o600); err != nil {
		return nil, err
	}
	args := append(options, "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-XX:-UsePerfData", "-Djava.io.tmpdir="+dir,
		"-Dzookeeper.forceSync=no", "-Dzookeeper.preAllocSize=64", "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn",
		"-Dorg.slf4j.simpleLogger.showDateTime=true", "-Dorg.slf4j.simpleLogger.dateTimeFormat=HH:mm:ss.SSS",
		"-cp", i.classPath, "org.apache.zookeeper.server.quorum.QuorumPeerMain", config)
	return exec.Command(i.java, args...), nil
}

// fourLettersTime bounds one try: a server that is still starting may answer with an exception in its log only, and leave the connection open.
const fourLettersTime = 500 * time.Millisecond

// fourLetters sends one of ZooKeeper's commands of four letters, each on a connection of its own.
func fourLetters(ctx context.Context, addr, word string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, fourLettersTime)
	defer cancel()
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", addr)
	if err != nil {
		return "", err
	}
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { conn.Close() })()
	if _, err := io.WriteString(conn, word); err != nil {
		return "", err
	}
	answer, err := io.ReadAll(io.LimitReader(conn, 64<<10))
	return string(answer), err
}

// question asks a ZooKeeper at an address.
func question(addr string) server.Question {
	return func(ctx context.Context) error {
		_, err := fourLetters(ctx, addr, "srvr")
		return err
	}
}

// Questions are one.
func (z *Server) Questions() []server.Question { return []server.Question{question(z.Addr())} }

// Addr is where it listens.
func (z *Server) Addr() string { return z.process.Addr() }

// Describe says what it is, with its version.
func (z *Server) Describe() string {
	return "ZooKeeper " + z.found.version + " (started by the lab)"
}

// Died is closed when its process has ended against the lab's will.
func (z *Server) Died() <-chan struct{} { return z.process.Died() }

// End says how it ended, once Died is closed.
func (z *Server) End() string { return z.process.End() }

// Close kills the process and removes its directory. Later calls do nothing.
func (z *Server) Close() error { return z.process.Close() }
