package main

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/locklab/locklab/cmd/lab/internal/cli"
	"github.com/locklab/locklab/internal/supervise"
)

// crashing is the lab with a fault of its own.
func crashing() {
	os.Exit(contained(os.Args[1:], func(<-chan os.Signal) int {
		switch os.Args[1] {
		case "panic":
			go panic(errors.New("red \x1b[31m"))
			select {}
		case "fatal":
			shared := map[int]int{}
			for range 2 {
				go func() {
					for i := 0; ; i++ {
						shared[i%8] = i
					}
				}()
			}
			select {}
		}
		return cli.CodeUnknown
	}))
}

// TestACrashIsAFailureOfTheLab: the Go runtime ends a process with 2, which is the lab's code for unknown.
func TestACrashIsAFailureOfTheLab(t *testing.T) {
	for what, test := range map[string]struct {
		code   int
		reason string // empty: no crash
	}{
		"panic":   {cli.CodeFailed, `panic: red \\x1b\[31m`},
		"fatal":   {cli.CodeFailed, "a fatal error of the Go runtime"},
		"unknown": {cli.CodeUnknown, ""},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			tmp := t.TempDir()
			cmd := exec.Command("crashing", what)
			cmd.Env = append(cmd.Environ(), "TMPDIR="+tmp, "GORACE=atexit_sleep_ms=0")
			var stderr bytes.Buffer
			cmd.Stderr = &stderr
			_ = cmd.Run() // its exit code says it
			require.Equal(t, test.code, cmd.ProcessState.ExitCode(), stderr.String())
			traces, err := filepath.Glob(filepath.Join(tmp, "lab-crash-*.txt"))
			require.NoError(t, err)
			if test.reason == "" {
				assert.Empty(t, stderr.String())
				assert.Empty(t, traces)
				return
			}
			require.Len(t, traces, 1)
			kept, err := os.ReadFile(traces[0])
			require.NoError(t, err)
			assert.Contains(t, string(kept), "lab.crashing")
			assert.Contains(t, stderr.String(), "lab.crashing")
			assert.Regexp(t, "\nlab: the lab has crashed, which says nothing about a lock: "+test.reason+
				"\nlab: the trace is above and in "+traces[0]+"; please send it with your report\n$", stderr.String())
		})
	}
}

func TestCodeOf(t *testing.T) {
	t.Setenv("TMPDIR", filepath.Join(t.TempDir(), "missing"))
	for want, test := range map[string]struct {
		end  supervise.End
		code int
	}{
		"":                                {supervise.End{Code: cli.CodeSurprise}, cli.CodeSurprise},
		"if nobody did that, the machine": {supervise.End{Code: -1, Signal: syscall.SIGKILL}, cli.CodeFailed},
		"the trace is above; please":      {supervise.End{Code: 2, Trace: []byte("panic: x\n")}, cli.CodeFailed},
	} {
		var said bytes.Buffer
		assert.Equal(t, test.code, codeOf(test.end, &said))
		assert.Contains(t, said.String(), want)
	}
	for code, end := range map[int]supervise.End{
		141: {Code: -1, Signal: syscall.SIGPIPE},
		130: {Code: -1, Signal: syscall.SIGINT},
		131: {Code: 2, Trace: []byte("SIGQUIT: quit\nPC=0x1\n")},
	} {
		var said bytes.Buffer
		assert.Equal(t, code, codeOf(end, &said))
		assert.Empty(t, said.String())
	}
}
