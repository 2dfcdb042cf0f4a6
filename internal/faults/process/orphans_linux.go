package process

import (
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// AdoptOrphans makes this process the parent of its descendants whose own parents end, so that Close ends all descendants of the guard's
// processes, whatever they did to hide. When the guard is closed, this program must have no other processes: they would be taken for orphans.
func (g *Guard) AdoptOrphans() error {
	if err := adopt(); err != nil {
		return err
	}
	o := &orphanage{guard: g, ended: make(chan os.Signal, 1), quit: make(chan struct{}), done: make(chan struct{})}
	signal.Notify(o.ended, syscall.SIGCHLD)
	go o.reap()
	g.mu.Lock()
	defer g.mu.Unlock()
	g.orphans = o
	return nil
}

// adopt makes this process the parent of its descendants whose own parents end.
func adopt() error {
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("adopt orphans: %w", err)
	}
	return nil
}

// ownChildren are the living children of this process.
func ownChildren() (pids []int, err error) {
	all, err := children()
	for pid, s := range all {
		if !s.dead() {
			pids = append(pids, pid)
		}
	}
	return pids, err
}

// orphanage has the orphans that this process has adopted.
type orphanage struct {
	guard *Guard
	ended chan os.Signal // a child has ended
	quit  chan struct{}
	done  chan struct{}
}

// reapPause lies before a look for orphans that have ended: a client may start thousands, and those who wait for their own processes come first.
const reapPause = 50 * time.Millisecond

// reap has the system forget orphans that have ended. Zombies would use up the process IDs.
func (o *orphanage) reap() {
	defer close(o.done)
	for {
		select {
		case <-o.ended:
		case <-o.quit:
			return
		}
		select {
		case <-time.After(reapPause):
		case <-o.quit:
			return
		}
		_ = o.forgetEnded()
	}
}

// close kills the orphans until there are none. Orphans of orphans are adopted in their turn.
func (o *orphanage) close() error {
	signal.Stop(o.ended)
	close(o.quit)
	<-o.done
	deadline := time.Now().Add(patience)
	for wait := pollFirst; ; wait = nextPoll(wait) {
		left, err := o.living(children, anyOf)
		if err != nil || len(left) == 0 {
			return err
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("%d descendants of clients cannot be killed, among them process %d", len(left), left[0])
		}
		for _, pid := range left {
			_ = kill(pid)
		}
		time.Sleep(wait)
	}
}

// forgetEnded reaps the orphans that have ended. It leaves those of this process's own group, in which are the programs that this process has
// started past the guard, for example a compiler: the orphans of clients are in other groups, unless they hide, and then close reaps them.
func (o *orphanage) forgetEnded() error {
	if !anyEnded() {
		return nil
	}
	own := syscall.Getpgrp()
	_, err := o.living(childrenByThread, func(s stat) bool { return s.pgid != own })
	return err
}

// living lists the orphans that live, and reaps some of those that do not. list lists the children of this process.
func (o *orphanage) living(list func() (map[int]stat, error), reaps func(stat) bool) ([]int, error) {
	o.guard.mu.Lock()
	defer o.guard.mu.Unlock()
	all, err := list()
	if err != nil {
		return nil, err
	}
	delete(all, o.guard.cmd.Process.Pid)
	for p := range o.guard.running {
		delete(all, p.pid)
	}
	var alive []int
	for pid, s := range all {
		switch {
		case !s.dead() && o.guard.outside[pid]:
		case !s.dead():
			alive = append(alive, pid)
		case reaps(s):
			_, _ = unix.Wait4(pid, nil, unix.WNOHANG, nil)
		}
	}
	return alive, nil
}

func anyOf(stat) bool { return true }

// anyEnded says whether a child of this process has ended that nobody has waited for yet. It asks once instead of reading /proc.
func anyEnded() bool {
	var child unix.Siginfo
	err := unix.Waitid(unix.P_ALL, 0, &child, unix.WEXITED|unix.WNOHANG|unix.WNOWAIT, nil)
	return err == nil && child.Signo != 0
}

// descendants counts those of a process. g.mu is held.
func (g *Guard) descendants(of int) (group, left int, err error) {
	pids, err := numbers("/proc")
	if err != nil {
		return 0, 0, err
	}
	all := map[int]stat{}
	for _, pid := range pids {
		if s, err := readStat(fmt.Sprintf("/proc/%d/stat", pid)); err == nil && !s.dead() {
			all[pid] = s
		}
	}
	lab := map[int]bool{g.cmd.Process.Pid: true}
	for p := range g.running {
		lab[p.pid] = true
	}
	for pid, s := range all {
		switch {
		case pid == of:
		case s.pgid == of:
			group++
		case lab[pid], g.outside[pid]:
		case descends(all, pid, of), g.orphans != nil && s.parent == os.Getpid():
			left++
		}
	}
	return group, left, nil
}

// descends says whether a process has another among its ancestors.
func descends(all map[int]stat, pid, of int) bool {
	for range all { // a PID that is used again could make a circle
		if pid = all[pid].parent; pid == of || pid == 0 {
			break
		}
	}
	return pid == of
}

// children lists the children of this process.
func children() (map[int]stat, error) {
	all, err := numbers("/proc")
	if err != nil {
		return nil, err
	}
	return ofThisProcess(all), nil
}

// childrenByThread lists the children of this process at little cost. It may miss some, and lists none where the kernel keeps no such lists.
func childrenByThread() (map[int]stat, error) {
	threads, err := numbers("/proc/self/task")
	if err != nil {
		return nil, err
	}
	var all []int
	for _, tid := range threads {
		text, _ := os.ReadFile(fmt.Sprintf("/proc/self/task/%d/children", tid))
		for _, field := range strings.Fields(string(text)) {
			var pid int
			if _, err := fmt.Sscan(field, &pid); err == nil {
				all = append(all, pid)
			}
		}
	}
	return ofThisProcess(all), nil
}

func ofThisProcess(pids []int) map[int]stat {
	found := map[int]stat{}
	for _, pid := range pids {
		if s, err := readStat(fmt.Sprintf("/proc/%d/stat", pid)); err == nil && s.parent == os.Getpid() {
			found[pid] = s
		}
	}
	return found
}
