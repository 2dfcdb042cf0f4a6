package process

import (
	"bufio"
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

func ownGroup(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

// awaitExit waits until the process has ended, and leaves it to be reaped.
func awaitExit(pid int) error {
	queue, err := unix.Kqueue()
	if err != nil {
		return fmt.Errorf("wait for process %d: %w", pid, err)
	}
	defer unix.Close(queue)
	exit := unix.Kevent_t{Ident: uint64(pid), Filter: unix.EVFILT_PROC, Flags: unix.EV_ADD | unix.EV_ONESHOT, Fflags: unix.NOTE_EXIT}
	_, err = unix.Kevent(queue, []unix.Kevent_t{exit}, nil, nil)
	if errors.Is(err, unix.ESRCH) {
		return nil // it has ended already
	}
	for err == nil || errors.Is(err, unix.EINTR) {
		var n int
		if n, err = unix.Kevent(queue, nil, make([]unix.Kevent_t, 1), nil); n > 0 {
			return nil
		}
	}
	return fmt.Errorf("wait for process %d: %w", pid, err)
}

// members lists the processes of a group that are no zombies.
func members(pgid int) (found []member, err error) {
	err = eachLiving(func(pid, group int, stopped bool) {
		if group == pgid {
			found = append(found, member{pid: pid, stopped: stopped})
		}
	})
	return found, err
}

// livingByGroup counts the processes of each group that are no zombies.
func livingByGroup([]int) (map[int]int, error) {
	count := map[int]int{} // by group
	err := eachLiving(func(_, group int, _ bool) { count[group]++ })
	return count, err
}

// eachLiving calls say for every process that is no zombie.
func eachLiving(say func(pid, group int, stopped bool)) error {
	out, err := exec.Command("/bin/ps", "-A", "-o", "pid=,pgid=,state=").Output()
	if err != nil {
		return fmt.Errorf("ps: %w", err)
	}
	lines := bufio.NewScanner(bytes.NewReader(out))
	for lines.Scan() {
		var pid, group int
		var state string
		if n, _ := fmt.Sscan(lines.Text(), &pid, &group, &state); n == 3 && !strings.HasPrefix(state, "Z") {
			say(pid, group, strings.HasPrefix(state, "T"))
		}
	}
	return lines.Err()
}

// marked lists the processes, other than this one, that have an entry in their environment, as far as the system shows it.
func marked(value string) ([]int, error) {
	entry := markVar + "=" + value
	out, err := exec.Command("/bin/ps", "-A", "-E", "-ww", "-o", "pid=,command=").Output()
	if err != nil {
		return nil, fmt.Errorf("ps: %w", err)
	}
	var found []int
	for line := range strings.Lines(string(out)) {
		fields := strings.Fields(line)
		if len(fields) == 0 || !slices.Contains(fields, entry) {
			continue
		}
		if pid, err := strconv.Atoi(fields[0]); err == nil && pid != os.Getpid() {
			found = append(found, pid)
		}
	}
	return found, nil
}

// newTag: the system does not show the names of such files.
func newTag(string) (*os.File, error) { return nil, nil }
