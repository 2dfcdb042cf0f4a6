package process

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

func ownSession(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} }

func ownGroup(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

// awaitExit waits until the process has ended, and leaves it to be reaped.
func awaitExit(pid int) error {
	for {
		err := unix.Waitid(unix.P_PID, pid, nil, unix.WEXITED|unix.WNOWAIT, nil)
		if !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}

// eachLiving calls f for the processes of the groups that are no zombies. It reads the state of these only: reading that of every process of
// the machine, whenever a client is stopped or ends, took one thirtieth of a suite's time.
func eachLiving(pgids []int, f func(pid int, s stat)) error {
	all, err := numbers("/proc")
	if err != nil {
		return err
	}
	for _, pid := range all {
		if pgid, err := syscall.Getpgid(pid); err != nil || !slices.Contains(pgids, pgid) {
			continue
		}
		// A process that cannot be read has ended meanwhile.
		if s, err := readStat(fmt.Sprintf("/proc/%d/stat", pid)); err == nil && slices.Contains(pgids, s.pgid) && !s.dead() {
			f(pid, s)
		}
	}
	return nil
}

// members lists the processes of a group that are no zombies.
func members(pgid int) ([]member, error) {
	group := map[int]stat{}
	err := eachLiving([]int{pgid}, func(pid int, s stat) { group[pid] = s })
	if err != nil {
		return nil, err
	}
	stoppedChild := map[int]bool{} // by parent, whose memory it has
	for pid, s := range group {
		if parent, ok := group[s.parent]; ok && s.stopped() && s.stack == parent.stack && haveSameMemory(pid, s.parent) {
			stoppedChild[s.parent] = true
		}
	}
	found := make([]member, 0, len(group))
	for pid := range group {
		found = append(found, member{pid: pid, stopped: allStopped(pid, stoppedChild[pid])})
	}
	return found, nil
}

// haveSameMemory tells a child of vfork from one of fork, which has a copy: one that has not called exec either has its parent's stack at the same
// address. Where the kernel does not say (a container without the permission, see kcmp(2)), that address has to do.
func haveSameMemory(a, b int) bool {
	const kcmpVM = 1
	order, _, errno := unix.Syscall6(unix.SYS_KCMP, uintptr(a), uintptr(b), kcmpVM, 0, 0, 0)
	return errno != 0 || order == 0
}

// livingByGroup counts the processes of each of the groups that are no zombies.
func livingByGroup(pgids []int) (map[int]int, error) {
	count := map[int]int{} // by group
	err := eachLiving(pgids, func(_ int, s stat) { count[s.pgid]++ })
	return count, err
}

// newTag is a file that marks the processes that inherit it.
func newTag(value string) (*os.File, error) {
	fd, err := unix.MemfdCreate(tagName+value, unix.MFD_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("create a file in memory: %w", err)
	}
	return os.NewFile(uintptr(fd), tagName+value), nil
}

const tagName = "locklab-"

// marked lists the processes, other than this one, that have the guard's mark in their environment, or its tag among their files. A zombie
// has neither any more.
func marked(value string) ([]int, error) {
	all, err := numbers("/proc")
	if err != nil {
		return nil, err
	}
	var found []int
	for _, pid := range all {
		if pid != os.Getpid() && (hasVariable(pid, markVar+"="+value) || hasFile(pid, "/memfd:"+tagName+value+" (deleted)")) {
			found = append(found, pid)
		}
	}
	return found, nil
}

func hasVariable(pid int, entry string) bool {
	environ, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid))
	return err == nil && slices.Contains(strings.Split(string(environ), "\x00"), entry)
}

func hasFile(pid int, name string) bool {
	dir := fmt.Sprintf("/proc/%d/fd", pid)
	files, err := numbers(dir)
	return err == nil && slices.ContainsFunc(files, func(fd int) bool {
		target, err := os.Readlink(fmt.Sprintf("%s/%d", dir, fd))
		return err == nil && target == name
	})
}

// allStopped reads the state of each thread, because a process counts as stopped as soon as its first thread is. A thread that has called
// vfork sleeps uninterruptibly until its child calls exec; it counts as stopped while that child is. A thread that reads from a disk sleeps so,
// too, but no child has its memory.
func allStopped(pid int, stoppedChild bool) bool {
	dir := fmt.Sprintf("/proc/%d/task", pid)
	threads, err := numbers(dir)
	if err != nil {
		return false
	}
	for _, tid := range threads {
		s, err := readStat(fmt.Sprintf("%s/%d/stat", dir, tid))
		if err == nil && !s.stopped() && !s.dead() && !(stoppedChild && s.uninterruptible()) {
			return false
		}
	}
	return true
}

// numbers lists the entries of a directory of /proc that are numbers.
func numbers(dir string) ([]int, error) {
	f, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	names, err := f.Readdirnames(-1)
	if err != nil {
		return nil, err
	}
	var found []int
	for _, name := range names {
		if n, err := strconv.Atoi(name); err == nil {
			found = append(found, n)
		}
	}
	return found, nil
}

// stat holds the fields used of /proc/PID/stat.
type stat struct {
	state  byte
	parent int
	pgid   int
	stack  string // the address of its bottom; exec gives a process another one
}

func (s stat) stopped() bool         { return s.state == 'T' || s.state == 't' }
func (s stat) uninterruptible() bool { return s.state == 'D' }
func (s stat) dead() bool            { return s.state == 'Z' || s.state == 'X' || s.state == 'x' }

// stackField is the place of startstack behind the name: see proc_pid_stat(5).
const stackField = 25

func readStat(path string) (stat, error) {
	line, err := os.ReadFile(path)
	if err != nil {
		return stat{}, err
	}
	return parseStat(line)
}

// parseStat reads "PID (NAME) STATE PPID PGID …"; the name may hold blanks and brackets.
func parseStat(line []byte) (stat, error) {
	end := bytes.LastIndexByte(line, ')')
	fields := bytes.Fields(line[end+1:])
	if end < 0 || len(fields) < 3 || len(fields[0]) != 1 {
		return stat{}, fmt.Errorf("%.80q is no process status", line)
	}
	parent, parentErr := strconv.Atoi(string(fields[1]))
	pgid, groupErr := strconv.Atoi(string(fields[2]))
	if err := errors.Join(parentErr, groupErr); err != nil {
		return stat{}, fmt.Errorf("%.80q is no process status: %w", line, err)
	}
	out := stat{state: fields[0][0], parent: parent, pgid: pgid}
	if len(fields) > stackField {
		out.stack = string(fields[stackField])
	}
	return out, nil
}
