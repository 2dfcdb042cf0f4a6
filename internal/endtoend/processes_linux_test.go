package endtoend

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// processes lists those that have the mark in their environment. A zombie has no environment any more.
func processes(t *testing.T, mark string) []string {
	t.Helper()
	var found []string
	for _, dir := range running(t) {
		// One that cannot be read has ended meanwhile, or is not ours.
		environment, err := os.ReadFile(dir + "/environ")
		if err != nil || !bytes.Contains(environment, []byte(mark)) {
			continue
		}
		command, _ := os.ReadFile(dir + "/cmdline")
		found = append(found, fmt.Sprintf("%s %s", filepath.Base(dir), bytes.ReplaceAll(command, []byte{0}, []byte{' '})))
	}
	return found
}

// running are the directories of all processes. A pattern that goes on behind them would have each of them listed, which takes ten times as long.
func running(t *testing.T) (dirs []string) {
	t.Helper()
	dirs, err := filepath.Glob("/proc/[0-9]*")
	require.NoError(t, err)
	require.NotEmpty(t, dirs)
	return dirs
}

// process is the lab's process with a word in its command line.
func (l *lab) process(t *testing.T, word string) (pid int) {
	t.Helper()
	for _, process := range processes(t, l.mark) {
		if strings.Contains(process, word) {
			_, err := fmt.Sscan(process, &pid)
			require.NoError(t, err)
		}
	}
	require.NotZero(t, pid, "no process %s", word)
	return pid
}

// listeners are the listening sockets that the processes with the mark have, by the system's number for each.
func listeners(t *testing.T, mark string) map[string]bool {
	t.Helper()
	listening := listening(t)
	found := map[string]bool{}
	for _, process := range processes(t, mark) {
		pid, _, _ := strings.Cut(process, " ")
		files, err := filepath.Glob("/proc/" + pid + "/fd/*")
		require.NoError(t, err)
		for _, file := range files {
			target, _ := os.Readlink(file)
			if inode := strings.TrimSuffix(strings.TrimPrefix(target, "socket:["), "]"); listening[inode] {
				found[inode] = true
			}
		}
	}
	return found
}

// listening lists all listening sockets of this machine.
func listening(t *testing.T) map[string]bool {
	t.Helper()
	const listens = "0A"
	found := map[string]bool{}
	for _, table := range []string{"/proc/net/tcp", "/proc/net/tcp6"} {
		file, err := os.Open(table)
		if os.IsNotExist(err) {
			continue
		}
		require.NoError(t, err)
		defer file.Close()
		lines := bufio.NewScanner(file)
		require.True(t, lines.Scan(), "the heading")
		for lines.Scan() {
			fields := strings.Fields(lines.Text())
			if fields[3] != listens {
				break // those that listen come first, and there may be ten thousand others
			}
			found[fields[9]] = true
		}
		require.NoError(t, lines.Err())
	}
	return found
}
