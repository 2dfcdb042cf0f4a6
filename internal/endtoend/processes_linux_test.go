package endtoend

import (
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
	environments, err := filepath.Glob("/proc/[0-9]*/environ")
	require.NoError(t, err)
	require.NotEmpty(t, environments)
	var found []string
	for _, path := range environments {
		// One that cannot be read has ended meanwhile, or is not ours.
		environment, err := os.ReadFile(path)
		if err != nil || !bytes.Contains(environment, []byte(mark)) {
			continue
		}
		command, _ := os.ReadFile(filepath.Join(filepath.Dir(path), "cmdline"))
		found = append(found, fmt.Sprintf("%s %s", filepath.Base(filepath.Dir(path)), bytes.ReplaceAll(command, []byte{0}, []byte{' '})))
	}
	return found
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
		text, err := os.ReadFile(table)
		if os.IsNotExist(err) {
			continue
		}
		require.NoError(t, err)
		for line := range strings.Lines(string(text)) {
			fields := strings.Fields(line)
			if len(fields) > 9 && fields[3] == listens {
				found[fields[9]] = true
			}
		}
	}
	return found
}
